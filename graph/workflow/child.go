package workflow

import (
	"context"
	"errors"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/record"
)

// Host is a Runner whose work is a graph, such as an agent: its steps have checkpoints of their
// own, and its questions are those of the run. Run is never called for it.
type Host interface {
	Runner
	// Graph returns the graph. It is called when the workflow is compiled, with those parameters
	// set that are constant; the others are zero.
	Graph(env Env, cfg graph.Config) (Child, error)
}

// Child is the graph of a [Host]. [ChildOf] makes one.
type Child struct {
	node func(begin func(*record.Record) (Runner, error), end func(*record.Record, any) error) graph.Node[record.Record]
	call func(ctx context.Context, r Runner) (any, error)
	draw func(graph.Node[record.Record]) graph.Node[record.Record]
}

// ChildOf returns a Child that runs a graph. The function in makes the input of the graph from the
// Host with all its parameters set. The function out makes the result of the node from the final
// state of the graph; an error of out fails the node.
func ChildOf[H Host, C any](g *graph.Graph[C], in func(H) (C, error), out func(host H, end *C) (any, error)) Child {
	call := func(ctx context.Context, r Runner) (any, error) {
		start, err := in(r.(H))
		if err != nil {
			return nil, err
		}
		end, err := g.Call(ctx, start)
		if err != nil {
			return nil, err
		}
		return out(r.(H), &end)
	}
	draw := func(n graph.Node[record.Record]) graph.Node[record.Record] { return graph.Calls(n, g) }
	return Child{call: call, draw: draw, node: func(begin func(*record.Record) (Runner, error), end func(*record.Record, any) error) graph.Node[record.Record] {
		return graph.Subgraph(g, func(rec *record.Record) (start C, err error) {
			r, err := begin(rec)
			if err != nil {
				return start, err
			}
			return in(r.(H))
		}, func(rec *record.Record, last *C) error {
			r, err := begin(rec)
			if err != nil {
				return err
			}
			result, err := out(r.(H), last)
			if err != nil {
				return err
			}
			return end(rec, result)
		})
	}}
}

// inner is work that is a graph of its own.
type inner interface {
	work
	// node returns the graph as a node of the one that b builds.
	node(b *builder, n *node) (graph.Node[record.Record], error)
	// each returns the work of one item, which calls the graph.
	each(b *builder) (calling, error)
	// timeout returns what bounds a node that has this timeout; 0 is none.
	timeout(own time.Duration) time.Duration
}

// calling is the work of an item that is a graph. Its steps have checkpoints of their own, and
// its questions are those of the item's task.
type calling struct {
	call func(ctx context.Context, vars map[string]any) (any, error)
	draw func(graph.Node[record.Record]) graph.Node[record.Record] // adds the graph to drawings
}

func (c calling) do(ctx context.Context, vars map[string]any, _ *record.Record) (any, error) {
	return c.call(ctx, vars)
}

// hostWork is a node of a kind whose Runner is a Host.
type hostWork struct {
	*kindWork
	host Host // with its constant parameters
}

func (w *hostWork) do(context.Context, map[string]any, *record.Record) (any, error) {
	return nil, errors.New("workflow: a graph was run as a plain node")
}

func (w *hostWork) child(b *builder) (Child, error) {
	cfg := b.cfg
	cfg.InterruptBefore, cfg.InterruptAfter = nil, nil
	child, err := w.host.Graph(w.env, cfg)
	if err != nil {
		return child, &RunError{w.pos, err.Error()}
	}
	return child, nil
}

func (w *hostWork) timeout(own time.Duration) time.Duration { return own }

func (w *hostWork) each(b *builder) (calling, error) {
	child, err := w.child(b)
	return calling{draw: child.draw, call: func(ctx context.Context, vars map[string]any) (any, error) {
		r, err := w.runner(vars)
		if err != nil {
			return nil, err
		}
		result, err := child.call(ctx, r)
		if err != nil {
			return nil, err
		}
		return record.Type{}.Convert(result)
	}}, err
}

func (w *hostWork) node(b *builder, n *node) (graph.Node[record.Record], error) {
	child, err := w.child(b)
	if err != nil {
		return graph.Node[record.Record]{}, err
	}
	begin := func(rec *record.Record) (Runner, error) {
		vars, err := b.vars(context.Background(), n, rec)
		if err != nil {
			return nil, err
		}
		return w.runner(vars)
	}
	return child.node(begin, func(rec *record.Record, result any) error {
		vars, err := b.vars(context.Background(), n, rec)
		if err != nil {
			return err
		}
		if vars["result"], err = (record.Type{}).Convert(result); err != nil {
			return err
		}
		return assignAll(n.outputs, vars, rec)
	}), nil
}

// registered returns the work of a registered kind in w, or nil.
func registered(w work) *kindWork {
	switch w := w.(type) {
	case *kindWork:
		return w
	case *hostWork:
		return w.kindWork
	}
	return nil
}

var _ inner = (*hostWork)(nil)

// isGraph reports whether the node is a graph of its own.
func (n *node) isGraph() bool {
	_, ok := n.work.(inner)
	return ok
}

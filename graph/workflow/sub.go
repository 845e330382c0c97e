package workflow

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/exprs"
	"github.com/weftrun/weft/state/record"
)

// subWork is the kind workflow: another file as a node, with checkpoints of its own.
type subWork struct {
	child *Workflow // nil when it has mistakes
	input *template // nil when nothing is given
	pos   string
}

// do is never called: the node becomes a graph.Subgraph.
func (w *subWork) do(context.Context, map[string]any, *record.Record) (any, error) {
	return nil, errors.New("workflow: a sub-workflow was run as a plain node")
}

// sub checks a node of the kind workflow, and returns the type of its result.
func (c *checker) sub(n *node, env exprs.Env) exprs.Type {
	w := &subWork{pos: c.at(n.kind.at)}
	n.work = w
	c.reads.Add(exprs.Reads{"config": nil}) // the child has it from this file
	if n.input != nil {
		w.input = c.template(n.input, env, "input")
	}
	name, ok := c.string(n.args, "workflow")
	if !ok {
		return exprs.Any
	}
	if w.child = c.load.sub(c.source, c.rel, deref(n.args), name); w.child == nil {
		return exprs.Any
	}
	if w.child.timed {
		c.reads.Add(exprs.Reads{"run": {"unix"}})
	}
	c.checkSubInput(n, w)
	c.checkSettings(n, w.child)
	fields := map[string]exprs.Type{}
	for _, f := range w.child.outputs() {
		fields[f.Name] = exprType(f.Type)
	}
	return exprs.Object(fields)
}

// checkSubInput holds what is given against what the other file takes.
func (c *checker) checkSubInput(n *node, w *subWork) {
	given := map[string]bool{}
	if w.input != nil && w.input.keys == nil {
		c.fail(n.input, "WF101", "input must be a mapping, not %s", describe(n.input))
		return
	}
	if w.input != nil {
		for i, k := range w.input.keys {
			given[k.Value] = true
			if f := w.child.inputField(k.Value); f != nil {
				f.takesFrom(w.input.items[i])
				given[k.Value] = !f.misses(w.input.items[i].isNull())
				continue
			}
			c.failAt(k.Line, k.Column, "WF514", w.child.inputHint(), "%s takes no input %q%s",
				w.child.Path, k.Value, didYouMean(k.Value, w.child.inputNames()))
		}
	}
	for _, f := range w.child.plan.fields {
		if f.required && !given[f.Name] {
			c.fail(n.args, "WF515", "%s needs the input %s", w.child.Path, f.Name)
		}
	}
}

// node returns the Subgraph. The Config applies to the child too, except for the nodes that it
// names.
func (w *subWork) node(b *builder, n *node) (graph.Node[record.Record], error) {
	g, err := w.graph(b)
	if err != nil {
		return graph.Node[record.Record]{}, err
	}
	in := func(rec *record.Record) (record.Record, error) {
		vars, err := b.vars(context.Background(), n, rec)
		if err != nil {
			return record.Record{}, err
		}
		return w.inputOf(vars)
	}
	out := func(rec, end *record.Record) error {
		vars, err := b.vars(context.Background(), n, rec)
		if err != nil {
			return err
		}
		vars["result"] = w.child.Output(end).Map()
		return assignAll(n.outputs, vars, rec)
	}
	return graph.Subgraph(g, in, out), nil
}

func (w *subWork) graph(b *builder) (*graph.Graph[record.Record], error) {
	cfg := b.cfg
	cfg.InterruptBefore, cfg.InterruptAfter = nil, nil
	return w.child.compile(cfg, making{graphs: b.graphs, test: b.test, taping: b.taping})
}

func (w *subWork) timeout(own time.Duration) time.Duration {
	if w.child != nil {
		fill(&own, w.child.plan.limits.timeout)
	}
	return own
}

func (w *subWork) each(b *builder) (calling, error) {
	g, err := w.graph(b)
	draw := func(n graph.Node[record.Record]) graph.Node[record.Record] { return graph.Calls(n, g) }
	return calling{draw: draw, call: func(ctx context.Context, vars map[string]any) (any, error) {
		input, err := w.inputOf(vars)
		if err != nil {
			return nil, err
		}
		end, err := g.Call(ctx, input)
		if err != nil {
			return nil, err
		}
		return w.child.Output(&end).Map(), nil
	}}, err
}

// inputOf returns the input of the other workflow.
func (w *subWork) inputOf(vars map[string]any) (record.Record, error) {
	values, err := map[string]any{}, error(nil)
	if w.input != nil {
		if values, err = w.input.evalMap(vars); err != nil {
			return record.Record{}, err
		}
	}
	run, _ := vars["run"].(map[string]any)
	unix, _ := run["unix"].(int64)
	config, _ := vars["config"].(map[string]any)
	r, err := w.child.fill(values, w.child.inherited(config), unix)
	if err != nil {
		return r, &RunError{w.pos, strings.ReplaceAll(err.Error(), "\n", "; ")}
	}
	return r, nil
}

var _ inner = (*subWork)(nil)

// inputHint lists the inputs of a workflow.
func (w *Workflow) inputHint() string {
	if names := w.inputNames(); len(names) > 0 {
		return fmt.Sprintf("its inputs are %s", strings.Join(names, ", "))
	}
	return "it takes none"
}

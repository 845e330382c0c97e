package workflow

import (
	"context"
	"slices"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// builder turns a plan into calls of graph's builder. Each node of the file becomes
// one node of the graph, or up to three when it has items or a sub-workflow that may
// be skipped:
//
//	N        looks at the condition, makes the list, and starts
//	N.each   one task an item (or N.run, the sub-workflow), then
//	N.next   which decides where to go on, if there is something to decide
type builder struct {
	*Workflow
	*graph.Builder[state.Record]
	cfg      graph.Config
	children children
}

// children are the graphs of sub-workflows that were compiled so far, each once. It
// is nil when only the ways are looked at and nothing will run.
type children map[*Workflow]*graph.Graph[state.Record]

func (w *Workflow) compile(cfg graph.Config, cs children) (*graph.Graph[state.Record], error) {
	if g, ok := cs[w]; ok {
		return g, nil
	}
	b, err := w.build(cfg, cs)
	if err != nil {
		return nil, err
	}
	g, err := b.Compile(w.limited(cfg))
	cs[w] = g
	return g, err
}

func (w *Workflow) build(cfg graph.Config, cs children) (*graph.Builder[state.Record], error) {
	b := builder{w, graph.NewRecord(w.plan.name, w.shape), cfg, cs}
	for _, r := range w.plan.start {
		b.at(r).Edge(graph.Start, r.name)
	}
	for _, n := range w.plan.nodes {
		if err := b.addNode(n); err != nil {
			return nil, err
		}
	}
	for _, n := range w.plan.nodes {
		b.join(n)
	}
	return b.Builder, nil
}

func (b *builder) at(r ref) *graph.Builder[state.Record] { return b.At(b.src.at(r.at)) }

func (b *builder) addNode(n *node) error {
	_, sub := n.work.(*subWork)
	switch {
	case sub:
		return b.addSub(n)
	case n.each != nil:
		b.addEach(n)
	case n.next.conditional():
		b.at(n.ref).Node(n.name, graph.Router(n.decide, names(n.next.targets())...), n.policy)
	default:
		b.at(n.ref).Node(n.name, graph.Func(func(ctx context.Context, rec *state.Record) error {
			_, err := n.once(ctx, rec)
			return err
		}), n.policy)
		b.lead(n, n.name)
	}
	return nil
}

// once does the work of a node without items, unless it is skipped.
func (n *node) once(ctx context.Context, rec *state.Record) (any, error) {
	skip, err := n.skips(rec)
	if err != nil || skip {
		return nil, err
	}
	return n.perform(ctx, map[string]any{"state": rec.Map()}, rec)
}

// decide does the work and then chooses the way.
func (n *node) decide(ctx context.Context, rec *state.Record) (graph.Command, error) {
	result, err := n.once(ctx, rec)
	if err != nil {
		return graph.Command{}, err
	}
	return n.next.choose(rec, result)
}

// choose takes the first way whose condition holds.
func (x *next) choose(rec *state.Record, result any) (graph.Command, error) {
	vars := map[string]any{"state": rec.Map(), "result": result}
	for _, w := range x.ways {
		if w.cond != nil {
			ok, err := w.cond.holds(vars)
			if err != nil {
				return graph.Command{}, err
			}
			if !ok {
				continue
			}
		}
		return graph.Goto(names(w.to)...), nil
	}
	return graph.Command{}, &RunError{x.src.at(x.at), "no condition of next holds, and there is no else"}
}

// names returns the names that package graph knows the targets by.
func names(refs []ref) []string {
	all := make([]string, len(refs))
	for i, r := range refs {
		if all[i] = r.name; r.name == endName {
			all[i] = graph.End
		}
	}
	return all
}

// lead adds the edges of a next without conditions. A way into a join is no edge: the
// join itself counts the arm.
func (b *builder) lead(n *node, from string) {
	if n.next == nil {
		b.at(n.ref).Edge(from, graph.End) // it always fails
		return
	}
	for _, r := range n.next.targets() {
		if !b.joins(r.name, n.name) {
			b.at(r).Edge(from, names([]ref{r})[0])
		}
	}
}

// joins reports whether arm is one of the nodes that target waits for.
func (b *builder) joins(target, arm string) bool {
	t := b.plan.node(target)
	return t != nil && slices.ContainsFunc(t.join, func(r ref) bool { return r.name == arm })
}

// isArm reports whether some node waits for n.
func (b *builder) isArm(n *node) bool {
	return slices.ContainsFunc(b.plan.nodes, func(t *node) bool { return b.joins(t.name, n.name) })
}

// join adds the join of n. An arm has arrived when all that it started has.
func (b *builder) join(n *node) {
	if len(n.join) == 0 {
		return
	}
	var arms []string
	for _, r := range n.join {
		arm := r.name
		if from := b.plan.node(r.name); from != nil && from.splits() {
			arm += exit
		}
		arms = append(arms, arm)
	}
	b.at(n.join[0]).Join(n.name, arms...)
}

package workflow

import (
	"context"
	"slices"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/record"
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
	*graph.Builder[record.Record]
	cfg graph.Config
	making
	commands map[*next][]graph.Command // of the ways of each next
}

// making is what one call of Compile or RunTests makes.
type making struct {
	graphs children
	test   bool             // a test of the file runs
	mocks  map[string]*mock // by node of the outermost file; nil but in tests
	seen   *trace           // of the outermost file; nil but in tests
	taping
}

// taping is how a test makes calls outside of the process.
type taping struct {
	recorded bool // they are recorded or replayed
	records  bool // they are recorded
}

// children are the graphs of sub-workflows that were compiled so far, each once. It
// is nil when only the ways are looked at and nothing will run.
type children map[*Workflow]*graph.Graph[record.Record]

func (w *Workflow) compile(cfg graph.Config, m making) (*graph.Graph[record.Record], error) {
	if g, ok := m.graphs[w]; ok {
		return g, nil
	}
	b, err := w.build(cfg, m)
	if err != nil {
		return nil, err
	}
	if cfg, err = w.described(b.pausing(w.limited(cfg))); err != nil {
		return nil, err
	}
	g, err := b.Builder.Compile(cfg)
	m.graphs[w] = g
	return g, err
}

func (w *Workflow) build(cfg graph.Config, m making) (*builder, error) {
	b := &builder{w, graph.NewRecord(w.plan.name, w.shape), cfg, m, map[*next][]graph.Command{}}
	for _, n := range w.plan.nodes {
		if n.next != nil {
			b.commands[n.next] = n.next.commands()
		}
	}
	for _, r := range w.plan.start {
		b.at(r).Edge(graph.Start, r.name)
	}
	for _, n := range w.plan.nodes {
		if n.deferred {
			b.at(n.ref).Defer(n.name)
		}
		if err := b.addNode(b.mocked(n)); err != nil {
			return nil, err
		}
	}
	for _, n := range w.plan.nodes {
		b.join(n)
	}
	return b, nil
}

// pausing returns cfg with the nodes of the graph before and after which the file pauses a run.
func (b *builder) pausing(cfg graph.Config) graph.Config {
	before, after := slices.Clip(cfg.InterruptBefore), slices.Clip(cfg.InterruptAfter)
	for _, n := range b.plan.nodes {
		if pauses(b.plan.before, n) {
			before = append(before, n.name)
		}
		switch {
		case !pauses(b.plan.after, n):
		case b.mocked(n).splits():
			after = append(after, n.name+exit)
		default:
			after = append(after, n.name)
		}
	}
	cfg.InterruptBefore, cfg.InterruptAfter = before, after
	return cfg
}

// pauses reports whether n is one of the nodes at which a run pauses.
func pauses(at []ref, n *node) bool {
	return slices.ContainsFunc(at, func(r ref) bool { return r.name == "*" || r.name == n.name })
}

func (b *builder) at(r ref) *graph.Builder[record.Record] { return b.At(b.src.at(r.at)) }

func (b *builder) addNode(n *node) error {
	_, isGraph := n.work.(inner)
	switch {
	case n.each != nil:
		return b.addEach(n)
	case isGraph:
		return b.addInner(n)
	case n.next.conditional() && n.cache == nil:
		b.at(n.ref).Node(n.name, graph.Router(func(ctx context.Context, rec *record.Record) (graph.Command, error) {
			return b.decide(ctx, n, rec)
		}, names(n.next.targets())...).With(n.Policy))
		b.label(n, n.name)
		b.onFailure(n, n.name, true)
	default:
		b.at(n.ref).Node(n.name, b.cached(n, graph.Func(func(ctx context.Context, rec *record.Record) error {
			_, err := b.once(ctx, n, rec)
			return err
		})).With(n.Policy))
		b.onFailure(n, n.name, false)
		b.leaveCached(n)
	}
	return nil
}

// leaveCached adds the next of n. The cache keeps where a node went with what it wrote,
// so one that chooses by the state chooses in a node of its own.
func (b *builder) leaveCached(n *node) {
	if n.cache == nil || !n.next.conditional() {
		b.leave(n, n.name)
		return
	}
	b.at(n.ref).Node(n.name+exit, graph.Func(func(context.Context, *record.Record) error { return nil }))
	b.at(n.ref).Edge(n.name, n.name+exit)
	b.leave(n, n.name+exit)
}

// cached returns g, and adds a cache policy if n declares a cache.
func (b *builder) cached(n *node, g graph.Node[record.Record]) graph.Node[record.Record] {
	if n.cache == nil {
		return g
	}
	c := graph.Caching[record.Record]{TTL: n.cache.ttl, Version: n.version()}
	if n.cache.by != nil {
		c.Key = func(rec *record.Record) (string, error) {
			vars, err := b.vars(context.Background(), n, rec)
			if err != nil {
				return "", err
			}
			key, err := n.cache.by.eval(vars)
			if err != nil {
				return "", err
			}
			data, err := record.Type{}.Encode(key)
			return string(data), err
		}
	}
	return graph.Cache(g, c)
}

// once does the work of a node without items, unless it is skipped.
func (b *builder) once(ctx context.Context, n *node, rec *record.Record) (any, error) {
	vars, err := b.vars(ctx, n, rec)
	if err != nil {
		return nil, err
	}
	defer release(vars)
	return b.work(ctx, n, vars, rec)
}

// work does the work of a node with these variables, unless it is skipped.
func (b *builder) work(ctx context.Context, n *node, vars map[string]any, rec *record.Record) (any, error) {
	skip, err := n.skips(vars)
	if err != nil || skip {
		return nil, err
	}
	return b.perform(ctx, n, vars, rec)
}

// decide does the work and then chooses the way. The way sees the state after the work.
func (b *builder) decide(ctx context.Context, n *node, rec *record.Record) (graph.Command, error) {
	vars, err := b.vars(ctx, n, rec)
	if err != nil {
		return graph.Command{}, err
	}
	defer release(vars)
	result, err := b.work(ctx, n, vars, rec)
	if err != nil {
		return graph.Command{}, err
	}
	if fields, reads := n.reads["state"]; reads {
		vars["state"] = b.fields(rec, fields)
	}
	return b.chooseWith(n, vars, result)
}

// choose takes the first way whose condition holds.
func (b *builder) choose(ctx context.Context, n *node, rec *record.Record, result any) (graph.Command, error) {
	vars, err := b.vars(ctx, n, rec)
	if err != nil {
		return graph.Command{}, err
	}
	defer release(vars)
	return b.chooseWith(n, vars, result)
}

// chooseWith is choose with these variables.
func (b *builder) chooseWith(n *node, vars map[string]any, result any) (graph.Command, error) {
	vars["result"] = result
	x := n.next
	for i, w := range x.ways {
		if w.cond != nil {
			ok, err := w.cond.holds(vars)
			if err != nil {
				return graph.Command{}, err
			}
			if !ok {
				continue
			}
		}
		b.seen.took(n, i)
		return b.commands[x][i], nil
	}
	return graph.Command{}, &RunError{x.src.at(x.at), "no condition of next is true, and it has no else"}
}

// commands returns the Command of each way of x.
func (x *next) commands() []graph.Command {
	all := make([]graph.Command, len(x.ways))
	for i, w := range x.ways {
		all[i] = graph.Goto(names(w.to)...).WithReason("%s", w.reason())
	}
	return all
}

// label gives the choices of n's next their conditions as labels. from is the node of the graph
// that chooses.
func (b *builder) label(n *node, from string) {
	for _, w := range n.next.ways {
		for i, to := range names(w.to) {
			b.at(w.to[i]).Label(from, to, w.reason())
		}
	}
}

// names returns the names that package graph knows the targets by.
func names(refs []ref) []string {
	all := make([]string, len(refs))
	for i, r := range refs {
		all[i] = r.name
		if r.name == endName {
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
		if from := b.plan.node(r.name); from != nil && b.mocked(from).splits() {
			arm += exit
		}
		arms = append(arms, arm)
	}
	b.at(n.join[0]).Join(n.name, arms...)
}

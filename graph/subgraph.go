package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/schedule"
	"github.com/weftrun/weft/state"
)

// Subgraph makes a node of a whole graph with a state of its own. in makes the child's input from
// the parent's state; out brings what the child ended with into the parent's state. in is called
// each time the node runs, also where the child goes on or has finished and its input does not
// matter any more. The child may end with a Command for its parent ([Command.InParent]); then out
// is not called, and the Command may go to the targets.
//
// The child's checkpoints are stored on the parent's thread in a namespace of their
// own, and the parent's store is used whatever the child was compiled with. A
// question inside the child pauses the parent; after the answer the child goes on
// where it stopped. A parent node that fails or crashes after its child has finished
// does not run the child again. The child's own limits hold: its Config.MaxSteps,
// MaxTasks and Timeout. It takes its places from the parent's Config.Concurrency.
func Subgraph[S, C any](child *Graph[C], in func(s *S) (C, error), out func(s *S, end *C) error, targets ...string) Node[S] {
	if child == nil || child.p == nil || in == nil || out == nil {
		return Node[S]{targets: targets, faults: []string{"a Subgraph needs a graph, and functions in and out"}}
	}
	return Node[S]{targets: targets, child: child.p, call: func(ctx context.Context, s, _ any) (Command, error) {
		parent := s.(*S)
		input, err := in(parent)
		if err != nil {
			return Command{}, err
		}
		end, err := child.Call(ctx, input)
		if err != nil {
			return Command{}, err
		}
		return Command{}, out(parent, &end)
	}}
}

// SubgraphWorker makes a [Worker] of a whole graph: each [Send] to it runs the child once, in a
// namespace of its own. in makes the child's input from the parent's state and the payload; out
// brings what the child ended with into the parent's state. Everything else is as with [Subgraph].
// A child that lives as long as the thread ([PerThread]) can serve one task of a step only.
func SubgraphWorker[S, P, C any](child *Graph[C], in func(s *S, payload P) (C, error), out func(s *S, payload P, end *C) error, targets ...string) Node[S] {
	n := Node[S]{targets: targets, payload: payloadOf[P]()}
	if child == nil || child.p == nil || in == nil || out == nil {
		n.faults = []string{"a SubgraphWorker needs a graph, and functions in and out"}
		return n
	}
	n.child = child.p
	n.call = func(ctx context.Context, s, payload any) (Command, error) {
		parent := s.(*S)
		p, _ := payload.(P) // a nil interface is of no type
		input, err := in(parent, p)
		if err != nil {
			return Command{}, err
		}
		end, err := child.Call(ctx, input)
		if err != nil {
			return Command{}, err
		}
		return Command{}, out(parent, p, &end)
	}
	return n
}

// Calls returns n as a node that names the graph its function calls, so that drawings show
// what is in it: [Graph.Draw] opens the child as that of a [Subgraph]. Nothing else changes.
func Calls[S, C any](n Node[S], child *Graph[C]) Node[S] {
	if child == nil || child.p == nil {
		n.faults = append(n.faults, "Calls needs a compiled graph")
		return n
	}
	n.child = child.p
	return n
}

// Call runs the graph inside a node, with an input, and returns the state it ends with. A
// node may call any graphs, any number of times. Like [Call] it must do so in the same order
// each time it runs: a call that has finished returns the same state again, and an interrupted
// one goes on. An error of the child comes with the state so far.
//
// When the child asks, Call returns [ErrInterrupted], and when it ends with a Command for its
// parent [ErrToParent]; the node returns either in turn. See [Subgraph] for what holds of
// the child, and [Config] for how long its state lives. Called in a node, [Graph.Invoke]
// is a separate run on a thread of its own; none of the above applies to it.
func (g *Graph[S]) Call(ctx context.Context, input S) (S, error) {
	v, err := newVisit(ctx, g.p)
	if err != nil {
		return *new(S), err
	}
	end, err := v.wait(ctx, state.Hold(g.p.schema, input))
	return stateIn[S](end), err
}

// Go is Call in a goroutine of its own; see the function [Go].
func (g *Graph[S]) Go(ctx context.Context, input S) *Future[S] {
	v, err := newVisit(ctx, g.p)
	var held any
	if err == nil {
		held = state.Hold(g.p.schema, input)
	}
	return start(ctx, scopeOf(ctx), err, func(ctx context.Context) (S, error) {
		end, err := v.serve(ctx, held)
		return stateIn[S](end), err
	})
}

func stateIn[S any](o outcome) (s S) {
	if p, ok := o.state.(*S); ok {
		s = *p
	}
	return s
}

// visit is one call of a graph from a task of another, with the run that serves it.
type visit struct {
	p       *program
	up      *scope
	n       int    // which subgraph of its scope it is, from 1
	place   int    // of its questions among those of its scope
	from    origin // where it goes on from, if its task goes back
	request request
	permit  schedule.Permit
	run     run
}

// newVisit begins a call of p in the scope of ctx. It has its identity from now on.
func newVisit(ctx context.Context, p *program) (*visit, error) {
	if err := p.compiled(); err != nil {
		return nil, err
	}
	s := scopeOf(ctx)
	if s == nil {
		return nil, fmt.Errorf("%w: the graph %q is called as a subgraph", ErrNoTask, p.name)
	}
	n, place, err := s.reserve("\x00subgraph")
	v := &visit{p: p, up: s, n: n, place: place}
	if err == nil {
		v.from, err = s.task.rewound().comesTo(v)
	}
	return v, err
}

// wait is serve while the caller waits.
func (v *visit) wait(ctx context.Context, input any) (outcome, error) {
	v.up.permit().Release()
	defer v.up.permit().Acquire(ctx)
	defer v.up.task.running.waitForChild(v.up.task)()
	return v.serve(ctx, input)
}

// maxDepth bounds how many graphs are inside one another: one that calls itself without an
// end fails before it has used up the stack. With a store its own limit may be lower.
const maxDepth = 1000

// serve runs the child with an input, a pointer to its state.
func (v *visit) serve(ctx context.Context, input any) (outcome, error) {
	t, r := v.up.task, &v.run
	if t.run.depth >= maxDepth {
		return outcome{}, fmt.Errorf("%w: %d graphs are inside one another, and would hold %q", ErrDepth, maxDepth, v.p.name)
	}
	inner := t.run.childProgram(v.p)
	if inner.cfg.Nested == PerThread && inner.cfg.Store == nil {
		return outcome{}, fmt.Errorf("%w: the state of graph %q lives as long as the thread", ErrNoStore, v.p.name)
	}
	if limit := inner.cfg.Timeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, runOutOfTime(limit))
		defer cancel()
	}
	v.request = request{op: opCall, input: input}
	r.set(inner, ctx, t.run.session, &v.request)
	defer r.life.end()
	r.permit = v.up.permit().Permits().Acquire(ctx, &v.permit)
	defer r.permit.Close()
	if ctx.Err() != nil {
		return outcome{}, fmt.Errorf("graph %q: %w", r.name, r.cancelled())
	}
	v.prepare()
	if inner.cfg.Nested == PerThread {
		if other := r.session.claims.claim(r.ns(), r.place()); other != nil {
			return outcome{}, sharedError(r.name, other, r.place())
		}
		defer r.session.claims.release(r.ns())
	}
	out, err := runChild(r)
	if len(r.questions.answered) > 0 {
		t.consult()
	}
	switch {
	case err != nil:
		if len(out.interrupts) > 0 {
			t.ownSubgraphs().noteOpen(out.interrupts)
		}
		return out, err
	case r.up != nil:
		return out, &parentCommandError{r.up}
	case out.status != Done:
		return out, errors.Join(v.up.asks(v.place, pausesOf(t, out)...), ErrInterrupted)
	}
	return out, nil
}

// claims are the namespaces that calls of subgraphs use, of those whose state lives as long as the
// thread.
type claims struct {
	mu sync.Mutex
	by map[string]*checkpoint.Within // the places of the calls
}

// claim claims a namespace for the call at a place. If another call uses it, its place is returned.
func (c *claims) claim(namespace string, place *checkpoint.Within) (other *checkpoint.Within) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other = c.by[namespace]; other == nil {
		if c.by == nil {
			c.by = map[string]*checkpoint.Within{}
		}
		c.by[namespace] = place
	}
	return other
}

// release ends a claim.
func (c *claims) release(namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.by, namespace)
}

// childProgram is a program with the settings that a subgraph takes from the run around it.
type childProgram struct {
	program
	of *program // without them
}

// childProgram returns p with the settings that it takes from r as a subgraph. A fan-out calls one
// graph many times, so r keeps the last result.
func (r *run) childProgram(p *program) *program {
	if c := r.lastChild.Load(); c != nil && c.of == p {
		return &c.program
	}
	c := &childProgram{program: p.asChild(&r.cfg), of: p}
	r.lastChild.Store(c)
	return &c.program
}

// asChild returns p with the settings that it takes as a subgraph from a graph with this Config.
func (p *program) asChild(of *Config) program {
	own := *p
	cfg := &own.cfg
	cfg.Store, cfg.Now = of.Store, of.Now
	cfg.Cache = cmp.Or(cfg.Cache, of.Cache)
	if cfg.Nested == Stateless {
		cfg.Store = nil
	}
	return own
}

// call names the call within the thread.
func (v *visit) call() string { return v.up.id() + "#" + strconv.Itoa(v.n) }

// scopes returns the ids of the steps inside the task around the call, outermost first.
func (v *visit) scopes() (ids []string) {
	for s := v.up; s.ident != ""; s = s.up {
		ids = append(ids, s.ident)
	}
	slices.Reverse(ids)
	return ids
}

// prepare gives the run what it has from its parent.
func (v *visit) prepare() {
	t, r := v.up.task, &v.run
	r.next.rewind = v.from.next
	r.origin, r.inside, r.call, r.questions.given = t.run.origin, t, v, t.run.questions.given
	r.depth = t.run.depth + 1
	if r.running = t.running; r.running == nil && r.bounded() {
		r.running = new(running)
	}
	if r.session.root.cfg.Store != nil {
		r.location() // the root may begin another turn while a call that was given up still runs
	}
}

// location returns where the run is in the thread.
func (v *visit) location() *location {
	t := v.up.task
	place := checkpoint.Within{Task: t.id(), Call: v.call(), Scopes: v.scopes(),
		Node: t.node.name, Namespace: t.run.ns(), Turn: t.run.turn, Step: t.step, Root: t.position()}
	return &location{cmp.Or(v.from.namespace, v.namespace(t.run.branch)), &place}
}

// namespace returns where the checkpoints of a child are stored that was called on a branch of the
// parent.
func (v *visit) namespace(branch uint64) string {
	t := v.up.task
	ns, own := t.run.ns(), t.node.name+":"+v.up.id()
	if v.n > 1 {
		own += "#" + strconv.Itoa(v.n)
	}
	if branch != 0 {
		own += fmt.Sprintf("@%d", branch) // what the task called before the branch began is not its own
	}
	if v.p.cfg.Nested == PerThread {
		ns, own = withoutTasks(ns), t.node.name+"/"+plainName(v.p.name)
	}
	if ns == "" {
		return own
	}
	return ns + "|" + own
}

// withoutTasks returns a namespace without the ids in it.
func withoutTasks(ns string) string {
	parts := strings.Split(ns, "|")
	for i, p := range parts {
		parts[i], _, _ = strings.Cut(p, ":")
	}
	return strings.Join(parts, "|")
}

// plainName returns a graph's name as a part of a namespace.
func plainName(name string) string {
	if badName(name) != "" || strings.ContainsAny(name, "#") {
		return hash("graph", name)
	}
	return name
}

// sharedError is the ErrShared of a graph that is called at two places in one step.
func sharedError(graph string, first, second *checkpoint.Within) error {
	return fmt.Errorf("%w: graph %q is called by task %s of node %q and by task %s of node %q in one step",
		ErrShared, graph, first.Task, first.Node, second.Task, second.Node)
}

// runChild runs r, the run of a subgraph, to its end. One that is bounded is given up when a node
// does not return although the time of the child is over, or another node of its step has failed.
func runChild(r *run) (outcome, error) {
	if !r.bounded() {
		return r.runToEnd()
	}
	var out outcome
	var err error
	bound := schedule.Bound{Grace: r.lateGrace(), Extend: r.extension}
	res := bound.Run(r.ctx, func(context.Context) { out, err = r.runToEnd() })
	if res.Ending == schedule.GivenUp {
		given := r.running.abandoned(r)
		r.givenUp.Store(true)
		r.session.gaveUp.Store(true)
		out := outcome{status: Failed, id: r.session.id}
		r.endObserved(out, given)
		return out, given
	}
	if end := endOf(res, nil); end != nil {
		return outcome{status: Failed, id: r.session.id}, r.fail(end)
	}
	return out, err
}

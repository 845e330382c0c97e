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
// the parent's state; out writes the child's final state into the parent's state. in is called each
// time the node runs; its result is ignored if the child only goes on or has finished. The child
// may end with a Command for its parent ([Command.InParent]). Then out is not called, and the
// Command may go to the targets.
//
// The child's checkpoints are stored on the parent's thread, in a namespace of their own and in the
// parent's store, whatever store the child was compiled with. A question inside the child pauses
// the parent; after the answer the child goes on where it stopped. If the parent node fails or
// crashes after its child has finished, the child does not run again. A [Stateless] child, or any
// child of a run without a store, has no checkpoints: it runs again from its beginning.
//
// The child's own Config.MaxSteps, MaxTasks, MaxState, Timeout, Grace and Concurrency hold. Its
// tasks also count for the Config.Concurrency of the graph at the root.
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
// namespace of its own unless the child is [PerThread]. in makes the child's input from the
// parent's state and the payload; out writes the child's final state into the parent's state.
// Everything else is as with [Subgraph]. A child that lives as long as the thread ([PerThread]) can
// serve one task of a step only.
func SubgraphWorker[S, P, C any](child *Graph[C], in func(s *S, payload P) (C, error), out func(s *S, payload P, end *C) error, targets ...string) Node[S] {
	n := Node[S]{targets: targets, payload: payloadOf[P]()}
	if child == nil || child.p == nil || in == nil || out == nil {
		n.faults = []string{"a SubgraphWorker needs a graph, and functions in and out"}
		return n
	}
	n.child = child.p
	n.call = func(ctx context.Context, s, payload any) (Command, error) {
		parent := s.(*S)
		p, _ := payload.(P) // payload is nil if P is an interface and its value is nil
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

// Calls returns n as a node that names the graph its function calls. [Graph.Draw], [Graph.Check],
// [Untyped].Children and Policy.Child then treat that graph like the child of a [Subgraph]. What
// the node does when it runs does not change.
func Calls[S, C any](n Node[S], child *Graph[C]) Node[S] {
	if child == nil || child.p == nil {
		n.faults = append(n.faults, "Calls needs a compiled graph")
		return n
	}
	n.child = child.p
	return n
}

// Call runs the graph inside a node, with an input, and returns the state it ends with. A node may
// call any graphs, any number of times, but in the same order each time it runs, as with the
// function [Call]. Then a finished call returns the same state again, and an interrupted one goes
// on. A call of a [Stateless] graph, or in a run without a store, begins anew. An error comes with
// the state so far, or with the zero state if the child did not begin, was given up, or was ended
// by runtime.Goexit.
//
// If the child asks, Call returns [ErrInterrupted]. If it ends with a Command for its parent, Call
// returns [ErrToParent]. The node returns either error unchanged. See [Subgraph] for what holds of
// the child, and [Lifetime] for how long its state lives. Called in a node, [Graph.Invoke] begins a
// separate run; none of the above applies to it.
func (g *Graph[S]) Call(ctx context.Context, input S) (S, error) {
	v, err := newChildCall(ctx, g.p)
	if err != nil {
		return *new(S), err
	}
	end, err := v.wait(ctx, state.Hold(g.p.schema, input))
	return stateIn[S](end), err
}

// Go is Call in a goroutine of its own; see the function [Go].
func (g *Graph[S]) Go(ctx context.Context, input S) *Future[S] {
	v, err := newChildCall(ctx, g.p)
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

// childCall is one call of a graph as a subgraph, by a task, with the run of the subgraph.
type childCall struct {
	p       *program
	up      *scope      // the scope that makes the call
	n       int         // the number of the call in its scope, from 1
	asksAt  int         // the index of its questions in up.places
	from    resumePoint // where to continue, if its task resumes a subgraph at an older commit
	request request
	permit  schedule.Permit
	run     run
}

// newChildCall makes a call of p in the scope of ctx and reserves its number. Calls get their
// identity in the order of newChildCall, whatever order they run in.
func newChildCall(ctx context.Context, p *program) (*childCall, error) {
	if err := p.compiled(); err != nil {
		return nil, err
	}
	s := scopeOf(ctx)
	if s == nil {
		return nil, fmt.Errorf("%w: the graph %q is called as a subgraph", ErrNoTask, p.name)
	}
	n, place, err := s.reserve("\x00subgraph")
	v := &childCall{p: p, up: s, n: n, asksAt: place}
	if err == nil {
		v.from, err = s.task.rewound().comesTo(v)
	}
	return v, err
}

// wait serves the call on the caller's goroutine. The caller's permit is released meanwhile.
func (v *childCall) wait(ctx context.Context, input any) (outcome, error) {
	v.up.permit().Release()
	defer v.up.permit().Acquire(ctx)
	defer v.up.task.running.waitForChild(v.up.task)()
	return v.serve(ctx, input)
}

// maxDepth is how many levels of subgraphs there may be. A graph that calls itself endlessly fails
// at this depth, before the stack overflows. With a store, checkpoint.Limits.Depth also holds.
const maxDepth = 1000

// serve runs the child. input is a pointer to a state of the child, or what [state.Hold] returned.
func (v *childCall) serve(ctx context.Context, input any) (outcome, error) {
	t, r := v.up.task, &v.run
	if t.run.depth >= maxDepth {
		return outcome{}, fmt.Errorf("%w: graph %q would be nested more than %d deep", ErrDepth, v.p.name, maxDepth)
	}
	inner := t.run.childProgram(v.p)
	if inner.cfg.Nested == PerThread && inner.cfg.Store == nil {
		return outcome{}, fmt.Errorf("%w: graph %q is PerThread, so the run must have a Store and no graph around it may be Stateless", ErrNoStore, v.p.name)
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
		if other := r.session.inUse.acquire(r.ns(), r.place()); other != nil {
			return outcome{}, sharedError(r.name, other, r.place())
		}
		defer r.session.inUse.release(r.ns())
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
		return out, errors.Join(v.up.asks(v.asksAt, pausesOf(t, out)...), ErrInterrupted)
	}
	return out, nil
}

// inUse has the namespaces of the PerThread subgraphs that a call uses at this moment.
type inUse struct {
	mu sync.Mutex
	by map[string]*checkpoint.Within // the call that uses it, by namespace
}

// acquire lets a call use a namespace. If another call uses it already, acquire returns that call.
func (c *inUse) acquire(namespace string, call *checkpoint.Within) (other *checkpoint.Within) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other = c.by[namespace]; other == nil {
		if c.by == nil {
			c.by = map[string]*checkpoint.Within{}
		}
		c.by[namespace] = call
	}
	return other
}

// release ends the use of a namespace.
func (c *inUse) release(namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.by, namespace)
}

// childProgram is a program with the settings that a subgraph takes from the run around it.
type childProgram struct {
	program
	of *program // the program that these settings were added to
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
func (v *childCall) call() string { return v.up.id() + "#" + strconv.Itoa(v.n) }

// scopes returns the ids of the calls (Once, Call or Go) around this call in its task, the
// outermost first.
func (v *childCall) scopes() (ids []string) {
	for s := v.up; s.ident != ""; s = s.up {
		ids = append(ids, s.ident)
	}
	slices.Reverse(ids)
	return ids
}

// prepare sets the fields of the child's run that come from its parent.
func (v *childCall) prepare() {
	t, r := v.up.task, &v.run
	r.next.rewind = v.from.next
	r.origin, r.inside, r.call, r.questions.given = t.run.origin, t, v, t.run.questions.given
	r.depth = t.run.depth + 1
	if r.running = t.running; r.running == nil && r.bounded() {
		r.running = new(running)
	}
	if r.session.root.cfg.Store != nil {
		r.location() // computed now: once this call is given up, the root may begin another turn
	}
}

// location returns where the run is in the thread.
func (v *childCall) location() *location {
	t := v.up.task
	place := checkpoint.Within{Task: t.id(), Call: v.call(), Scopes: v.scopes(),
		Node: t.node.name, Namespace: t.run.ns(), Turn: t.run.turn, Step: t.step, Root: t.position()}
	return &location{cmp.Or(v.from.namespace, v.namespace(t.run.branch)), &place}
}

// namespace returns the namespace of the child's checkpoints, for a call on this branch of the
// parent.
func (v *childCall) namespace(branch uint64) string {
	t := v.up.task
	ns, own := t.run.ns(), t.node.name+":"+v.up.id()
	if v.n > 1 {
		own += "#" + strconv.Itoa(v.n)
	}
	if branch != 0 {
		own += fmt.Sprintf("@%d", branch) // calls before the branch began have other namespaces
	}
	if v.p.cfg.Nested == PerThread {
		ns, own = withoutTasks(ns), t.node.name+"/"+plainName(v.p.name)
	}
	if ns == "" {
		return own
	}
	return ns + "|" + own
}

// withoutTasks returns a namespace without the ids, call numbers and branches in it.
func withoutTasks(ns string) string {
	parts := strings.Split(ns, "|")
	for i, p := range parts {
		parts[i], _, _ = strings.Cut(p, ":")
	}
	return strings.Join(parts, "|")
}

// plainName returns a graph's name as a part of a namespace. A name that cannot be one is hashed.
func plainName(name string) string {
	if badName(name) != "" || strings.ContainsAny(name, "#") {
		return hash("graph", name)
	}
	return name
}

// sharedError returns an ErrShared: two calls use a PerThread graph in one step.
func sharedError(graph string, first, second *checkpoint.Within) error {
	return fmt.Errorf("%w: graph %q is called by task %s of node %q and by task %s of node %q in one step",
		ErrShared, graph, first.Task, first.Node, second.Task, second.Node)
}

// runChild runs r, the run of a subgraph, to its end. The context of r ends with its parent's, at
// the child's timeout, or when a node fails. A bounded run whose nodes have not returned by the end
// of the grace period after that is given up.
func runChild(r *run) (outcome, error) {
	if !r.bounded() {
		return r.runToEnd()
	}
	var out outcome
	var err error
	bound := schedule.Bound{Grace: r.lateGrace(), Extend: r.extension}
	res := bound.Run(r.ctx, func(context.Context) { out, err = r.runToEnd() })
	// Not out: an abandoned goroutine may still assign to it.
	failed := outcome{status: Failed, id: r.session.id}
	if res.Ending == schedule.GivenUp {
		given := r.running.abandoned(r)
		r.givenUp.Store(true)
		r.session.gaveUp.Store(true)
		r.endObserved(failed, given)
		return failed, given
	}
	switch end := endOf(res, nil); end {
	case nil:
		return out, err
	case errGoexit:
		return failed, r.exited()
	default:
		return failed, r.fail(end)
	}
}

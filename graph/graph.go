package graph

import (
	"context"
	"fmt"
	"iter"

	"github.com/weftrun/weft/state"
)

// Graph is a compiled graph over the state S. It does not change and is safe for
// concurrent use: any number of runs may share it.
type Graph[S any] struct{ p *program }

// Result is how a run ended.
type Result[S any] struct {
	Status Status
	// State is the state at the end, a copy of the caller's own. After an error it
	// is the state after the last step whose results were folded; if its commit
	// failed, the store is one step behind.
	State S
	// Interrupts says why an Interrupted run pauses, in canonical order.
	Interrupts []Interrupt
	// Starved names the nodes whose join some sources reached, but never all.
	Starved []string
	// Steps counts the supersteps of this call.
	Steps int
	// Checkpoint is the number of the thread's newest commit; 0 without a store.
	Checkpoint uint64
	// Run is the id of this call.
	Run string
}

// Name returns the graph's name.
func (g *Graph[S]) Name() string { return g.p.name }

// Invoke runs the graph with an input and returns how it ended. What the input
// wrote is folded into the thread's state, after the fields of the last turn were
// reset; work that the last turn left unfinished is dropped, also at a static
// interrupt. While questions are open it returns ErrWaiting, unless Run.IfWaiting says
// otherwise.
//
// A pause is a Status and not an error. An error comes with the state so far.
func (g *Graph[S]) Invoke(ctx context.Context, input S, o Run) (Result[S], error) {
	out, err := g.p.drive(ctx, o, nil, g.begin(input), nil)
	return resultOf[S](out), err
}

// Resume goes on with a thread where it stopped: after a pause with answers, after
// a failure or a crash without. Tasks that had finished do not run again, nor do
// those whose questions stay open. A thread that has nothing left to do gives its
// state.
func (g *Graph[S]) Resume(ctx context.Context, a Answers, o Run) (Result[S], error) {
	out, err := g.p.drive(ctx, o, nil, func(r *run) error { return r.resume(a) }, nil)
	return resultOf[S](out), err
}

// Stream is Invoke with somebody watching: it yields the events of o.Modes, then
// the Ended event, or an error. The reader may stop early; the run is then
// cancelled and has ended when the loop has. A slow reader slows the run.
func (g *Graph[S]) Stream(ctx context.Context, input S, o Run) iter.Seq2[Event, error] {
	return g.p.stream(ctx, o, g.begin(input))
}

// StreamResume is Resume with somebody watching.
func (g *Graph[S]) StreamResume(ctx context.Context, a Answers, o Run) iter.Seq2[Event, error] {
	return g.p.stream(ctx, o, func(r *run) error { return r.resume(a) })
}

func (g *Graph[S]) begin(input S) func(*run) error {
	return func(r *run) error { return r.begin(g.p.viewOf(&input)) }
}

// viewOf returns a view that is a copy of the state that s points to.
func (p *program) viewOf(s any) state.View {
	v := p.schema.Blank()
	p.schema.Assign(v, state.View{State: s})
	return v
}

func (p *program) stream(ctx context.Context, o Run, begin func(*run) error) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		left := false
		_, err := p.drive(ctx, o, newWatch(o.Modes), begin, func(ev Event) bool {
			left = !yield(ev, nil)
			return !left
		})
		if err != nil && !left {
			yield(Event{}, err)
		}
	}
}

func resultOf[S any](o outcome) Result[S] {
	res := Result[S]{Status: o.status, Interrupts: o.interrupts, Starved: o.starved,
		Steps: o.steps, Checkpoint: o.checkpoint, Run: o.id}
	if s, ok := o.state.(*S); ok {
		res.State = *s
	}
	return res
}

// Subgraph makes a node of a whole graph with a state of its own. in makes the
// child's input from the parent's state; out brings what the child ended with into
// the parent's state.
//
// The child's checkpoints are kept on the parent's thread in a namespace of their
// own, and the parent's store is used whatever the child was compiled with. A
// question inside the child pauses the parent; after the answer the child goes on
// where it stopped. A parent node that fails or crashes after its child has finished
// does not run the child again.
func Subgraph[S, C any](child *Graph[C], in func(s *S) (C, error), out func(s *S, end *C) error) Node[S] {
	return Node[S]{child: child.p, call: func(ctx context.Context, s, _ any) (Command, error) {
		parent := s.(*S)
		o, err := child.p.nested(ctx, func() (state.View, error) {
			input, err := in(parent)
			return child.p.viewOf(&input), err
		})
		if err != nil {
			return Command{}, err
		}
		return Command{}, out(parent, o.state.(*C))
	}}
}

// nested runs p inside the task that ctx belongs to.
func (p *program) nested(ctx context.Context, input func() (state.View, error)) (outcome, error) {
	t := taskOf(ctx)
	if t == nil {
		return outcome{}, fmt.Errorf("%w: a subgraph", ErrNoTask)
	}
	inner := *p
	inner.cfg.Store, inner.cfg.Now = t.run.cfg.Store, t.run.cfg.Now
	if inner.cfg.Cache == nil {
		inner.cfg.Cache = t.run.cfg.Cache
	}
	r := newRun(&inner, ctx, t.run.opts, t.run.id)
	defer r.cancel(nil)
	t.mu.Lock()
	over := t.over
	r.ns = t.childNamespace()
	t.mu.Unlock()
	if over {
		return outcome{}, errOver
	}
	r.origin, r.watch, r.inside, r.given = t.run.origin, t.run.watch, t, t.run.given
	out, err := r.main(func(r *run) error { return r.enter(input) })
	if len(r.answered) > 0 {
		t.consult()
	}
	if err != nil {
		return out, err
	}
	if out.status == Interrupted {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.open = append(t.open, out.interrupts...)
		return out, ErrInterrupted
	}
	return out, nil
}

// childNamespace returns the namespace of the task's next subgraph.
func (t *task) childNamespace() string {
	if t.asked == nil {
		t.asked = map[string]int{}
	}
	ns := t.node.name + ":" + t.id()
	if part := t.partName(); part != "" {
		ns += "!" + part
	}
	key := "\x00subgraph" + ns
	t.asked[key]++
	if n := t.asked[key]; n > 1 {
		ns += fmt.Sprintf("#%d", n)
	}
	if t.run.ns != "" {
		ns = t.run.ns + "|" + ns
	}
	return ns
}

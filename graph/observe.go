package graph

import (
	"context"
	"errors"
)

// Observe begins an activity in a node, for the observer of the run. It fills in where the
// activity happens. Outside of a run, and without an observer, it returns ctx and a function that
// does nothing.
func Observe(ctx context.Context, a Activity) (context.Context, func(Outcome)) {
	t := taskOf(ctx)
	if t == nil {
		return ctx, noOutcome
	}
	o := t.run.session.observer()
	if o == nil {
		return ctx, noOutcome
	}
	own := t.describe(a.Kind)
	own.Name, own.Call = a.Name, a.Call
	return begin(o, ctx, own)
}

// observer returns the observer of the session, or nil.
func (s *session) observer() Observer { return s.root.cfg.Observer }

// activity returns an activity of the run.
func (r *run) activity(kind ActivityKind, name string) Activity {
	return Activity{Kind: kind, Name: name, Graph: r.name, Thread: r.opts.Thread, Namespace: r.ns(), Run: r.session.id, Turn: r.turn, Step: r.step}
}

// describe returns an activity of a task.
func (t *task) describe(kind ActivityKind) Activity {
	return Activity{Kind: kind, Graph: t.run.name, Thread: t.run.opts.Thread, Namespace: t.run.ns(), Run: t.run.session.id, Turn: t.turn, Step: t.step,
		Node: t.node.name, Task: t.id(), Label: t.label()}
}

// observeAttempt begins an attempt of t, if the run has an observer, and returns its context.
func (t *task) observeAttempt() (context.Context, func(error)) {
	o := t.run.session.observer()
	if o == nil {
		return t, nil
	}
	a := t.describe(AttemptActivity)
	a.Attempt, a.Handling = t.number, t.failure != nil
	ctx, end := begin(o, t, a)
	return ctx, func(err error) {
		out := Outcome{Interrupts: withoutDrained(t.open)}
		if len(out.Interrupts) == 0 && !errors.Is(err, ErrInterrupted) {
			out.Err = err
		}
		end(out)
	}
}

// observeStore begins a call of the store, if the run has an observer.
func (r *run) observeStore(ctx context.Context, name string) (context.Context, func(error)) {
	o := r.session.observer()
	if o == nil {
		return ctx, func(error) {}
	}
	ctx, end := begin(o, ctx, r.activity(StoreActivity, name))
	return ctx, func(err error) { end(Outcome{Err: err}) }
}

// storeObserver returns observeStore for a journal, or nil.
func (r *run) storeObserver() func(ctx context.Context, name string) (context.Context, func(error)) {
	o := r.session.observer()
	if o == nil {
		return nil
	}
	a := r.activity(StoreActivity, "") // a write may go on beside the steps
	return func(ctx context.Context, name string) (context.Context, func(error)) {
		a := a
		a.Name = name
		ctx, end := begin(o, ctx, a)
		return ctx, func(err error) { end(Outcome{Err: err}) }
	}
}

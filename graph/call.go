package graph

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/weftrun/weft/internal/schedule"
)

// Call runs fn as a step inside a node and keeps its result: after a pause, a failure or
// a crash the node runs again from its top, and calls that had finished return what they
// returned, without running. A call is known by its name and by how many calls of that
// name its node made before: so a node must make its calls in the same order each time.
//
// fn may ask ([Ask]), call and keep ([Once]) in turn; each has an id of its own. It does not
// write to the node's state: it returns what it has found. T must survive JSON, and what Call
// returns has been through it. Errors are not stored.
//
// Calls count as tasks for Config.Concurrency: a node that waits for them gives its place
// to them. Outside a run Call calls fn.
func Call[T any](ctx context.Context, name string, fn func(ctx context.Context) (T, error)) (T, error) {
	return CallWith(ctx, name, Policy{}, fn)
}

// CallWith is [Call] under a Policy, whose Timeout and Retry hold for this call, also outside a
// run. A Policy with an Idle, a Limit or a Parallel is an [ErrPolicy].
func CallWith[T any](ctx context.Context, name string, policy Policy, fn func(ctx context.Context) (T, error)) (T, error) {
	d, err := newCall(ctx, name, policy)
	if err != nil {
		return *new(T), err
	}
	if d.up != nil {
		d.up.permit().Release()
		defer d.up.permit().Acquire(ctx)
	}
	return obtain(ctx, d, fn)
}

// Go is Call in a goroutine of its own. It has its place among the calls when Go is
// called, not when fn runs. A node does not end before its calls have: those that it did not
// wait for are waited for, and one that failed fails the node. If the node fails, its
// calls are cancelled.
func Go[T any](ctx context.Context, name string, fn func(ctx context.Context) (T, error)) *Future[T] {
	return GoWith(ctx, name, Policy{}, fn)
}

// GoWith is [Go] under a Policy, as for [CallWith].
func GoWith[T any](ctx context.Context, name string, policy Policy, fn func(ctx context.Context) (T, error)) *Future[T] {
	d, err := newCall(ctx, name, policy)
	return start(ctx, d.up, err, func(ctx context.Context) (T, error) { return obtain(ctx, d, fn) })
}

// Future is a call that runs, or has run.
type Future[T any] struct {
	work
	v T
}

// work is a Future with the type erased.
type work struct {
	done   chan struct{} // closed when err and the value are set
	cancel context.CancelCauseFunc
	waited atomic.Bool // its end was asked for: Wait or Cancel was called
	err    error
}

// start runs fn in a goroutine, unless err is not nil.
func start[T any](ctx context.Context, s *scope, err error, fn func(context.Context) (T, error)) *Future[T] {
	f := &Future[T]{work: work{done: make(chan struct{}), err: err}}
	ctx, f.cancel = context.WithCancelCause(ctx)
	if f.err != nil {
		close(f.done)
	}
	if s != nil {
		if err := s.add(&f.work); err != nil && f.err == nil {
			f.err = err
			close(f.done)
		}
	}
	if f.err != nil {
		return f
	}
	f.err = errGoexit
	go func() {
		defer close(f.done)
		defer f.cancel(nil)
		defer recovered(&f.err) // a panic not of fn, but of a value that is made into JSON
		f.v, f.err = fn(ctx)
	}()
	return f
}

// add makes w something that s waits for before it ends.
func (s *scope) add(w *work) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return errOver
	}
	s.works = append(s.works, w)
	return nil
}

// Wait returns the result of the call, as [Call] would. It returns early, with an error, when
// ctx ends. ctx is that of the code that waits.
func (f *Future[T]) Wait(ctx context.Context) (T, error) {
	if f.done == nil {
		return *new(T), fmt.Errorf("%w: the zero Future is that of no call", ErrNoTask)
	}
	f.waited.Store(true)
	select {
	case <-f.done:
		return f.v, f.err
	default:
	}
	if s := scopeOf(ctx); s != nil {
		s.permit().Release()
		defer s.permit().Acquire(ctx)
	}
	select {
	case <-f.done:
		return f.v, f.err
	case <-ctx.Done():
		return *new(T), context.Cause(ctx)
	}
}

// Cancel stops the call, if it still runs; Wait then returns a context.Canceled. Its failure
// does not fail the node. When the node runs again, so does the call.
func (f *Future[T]) Cancel() {
	if f.cancel == nil {
		return
	}
	f.waited.Store(true)
	f.cancel(fmt.Errorf("graph: the call was given up: %w", context.Canceled))
}

// durable is one call whose result is stored.
type durable struct {
	up     *scope // where it was made; nil outside a run
	what   string // "call" or "once"
	name   string
	ident  string
	place  int // of its questions, among those of up
	policy Policy
}

func newCall(ctx context.Context, name string, policy Policy) (*durable, error) {
	d := &durable{up: scopeOf(ctx), what: "call", name: name, policy: policy}
	err := policy.check()
	if err == nil && (policy.Idle > 0 || policy.Limit != "" || policy.Parallel > 0) {
		err = errors.New("a call has no Idle, no Limit and no Parallel of its own")
	}
	if err != nil {
		return d, d.fail(fmt.Errorf("%w: %w", ErrPolicy, err))
	}
	if d.up == nil {
		return d, nil
	}
	n, place, err := d.up.reserve("\x00call " + name)
	d.place, d.ident = place, longHash("call", d.up.id(), name, strconv.Itoa(n))
	return d, err
}

// fail adds which call failed to err. What is no failure stays as it is.
func (d *durable) fail(err error) error {
	if errors.Is(err, ErrInterrupted) || parentCommandIn(err) != nil {
		return err
	}
	return fmt.Errorf("%s %q: %w", d.what, d.name, err)
}

// obtain returns the stored result of d, or calls fn for it.
func obtain[T any](ctx context.Context, d *durable, fn func(context.Context) (T, error)) (v T, err error) {
	erased := func(ctx context.Context) (any, error) { return fn(ctx) }
	if d.up != nil {
		return keep[T](ctx, d.up, d.ident, d.name, func() (any, error) { return d.perform(ctx, erased) })
	}
	made, err := d.perform(ctx, erased)
	v, _ = made.(T)
	return v, err
}

// perform runs fn to its end: a result, a question, or an error after the last attempt.
func (d *durable) perform(ctx context.Context, fn func(context.Context) (any, error)) (any, error) {
	permit := d.permit(ctx)
	if permit != nil && d.what == "call" {
		defer permit.Close()
	}
	began := time.Now()
	for n := 1; ; n++ {
		if ctx.Err() != nil {
			return nil, d.fail(context.Cause(ctx))
		}
		d.emit(ctx, Started, n, nil, nil)
		v, open, err := d.attempt(ctx, permit, fn)
		switch {
		case err == nil && len(open) == 0:
			d.emit(ctx, Finished, n, nil, nil)
			return v, nil
		case len(open) > 0 && (err == nil || errors.Is(err, ErrInterrupted)):
			d.emit(ctx, Asking, n, nil, open)
			if err := d.up.asks(d.place, open...); err != nil {
				return nil, err
			}
			return nil, ErrInterrupted
		}
		if !errors.Is(err, ErrInterrupted) && parentCommandIn(err) == nil { // these are no failures
			err = withCause(ctx, err)
		}
		err = d.fail(err)
		wait, again := d.again(n, err, time.Since(began))
		if ctx.Err() != nil || !again {
			d.emit(ctx, Failing, n, err, nil)
			return nil, err
		}
		d.emit(ctx, Retrying, n, err, nil)
		if !d.waitToRetry(ctx, wait) {
			return nil, err
		}
	}
}

// permit returns what the call runs under. Once runs under the permit of the code around it.
func (d *durable) permit(ctx context.Context) *schedule.Permit {
	switch {
	case d.up == nil:
		return nil
	case d.what == "once":
		return d.up.permit()
	}
	d.up.task.addWaits(1)
	defer d.up.task.addWaits(-1)
	return d.up.permit().Permits().Acquire(ctx, new(schedule.Permit))
}

// again is Retry.again for calls: a question and a way out are no failures.
func (d *durable) again(n int, err error, elapsed time.Duration) (time.Duration, bool) {
	if errors.Is(err, ErrInterrupted) || parentCommandIn(err) != nil {
		return 0, false
	}
	random := rand.Float64
	if d.up != nil {
		random = d.up.task.run.cfg.Rand
	}
	return d.policy.Retry.again(n, err, elapsed, random)
}

// waitToRetry waits before the next attempt; false means that ctx has ended.
func (d *durable) waitToRetry(ctx context.Context, wait time.Duration) bool {
	if d.up != nil {
		d.up.task.addWaits(1)
		defer d.up.task.addWaits(-1)
	}
	return schedule.Sleep(ctx, wait)
}

// attempt runs fn once, within the call's timeout.
func (d *durable) attempt(ctx context.Context, permit *schedule.Permit, fn func(context.Context) (any, error)) (any, []Interrupt, error) {
	limit := d.policy.Timeout
	if d.up == nil {
		if limit == 0 {
			v, err := fn(ctx)
			return v, nil, err
		}
		v, err := within(ctx, limit, time.Second, fn, func() {})
		return v, nil, err
	}
	s := &scope{task: d.up.task, up: d.up, ident: d.ident, own: permit}
	if limit == 0 {
		v, err := s.body(ctx, fn)
		return v, s.unanswered(), err
	}
	s.own = permit.Transfer()
	defer permit.Reclaim(ctx, s.own)
	body := func(ctx context.Context) (any, error) { return s.body(ctx, fn) }
	v, err := within(ctx, limit, s.task.run.lateGrace(), body, func() {
		s.task.run.session.gaveUp.Store(true)
		s.shut()
	})
	if errors.Is(err, ErrTimeout) {
		return v, nil, err
	}
	return v, s.unanswered(), err
}

// within runs fn within a limit. giveUp is called when it is given up. What a function returns
// that was late does not count.
func within(ctx context.Context, limit, grace time.Duration, fn func(context.Context) (any, error), giveUp func()) (any, error) {
	bound := schedule.Bound{Limit: limit, Grace: grace, Cause: func(e schedule.Expiry) error {
		return &TimeoutError{Kind: CallTimeout, Limit: e.Limit, Elapsed: e.Elapsed}
	}}
	var v any
	var err error
	res := bound.Run(ctx, func(ctx context.Context) { v, err = fn(ctx) })
	if res.Ending == schedule.GivenUp {
		giveUp()
		return nil, endOf(res, ErrAbandoned)
	}
	if err = endOf(res, err); err != nil && res.Expired {
		v = nil
	}
	return v, err
}

// emit sends a Tasks event of the call.
func (d *durable) emit(ctx context.Context, phase Phase, n int, err error, open []Interrupt) {
	if d.up == nil {
		return
	}
	_ = d.up.task.emit(ctx, Event{Mode: Tasks, Task: d.ident, Label: d.name,
		Phase: phase, Attempt: n, Err: err, Interrupts: open})
}

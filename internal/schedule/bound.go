package schedule

import (
	"context"
	"runtime/debug"
	"time"
)

// Bound limits how long a function may take. The zero Bound is no bound.
type Bound struct {
	Limit    time.Duration // the longest time; 0 means no limit
	Idle     time.Duration // the longest time without a sign of life; 0 means no limit
	Activity *Activity     // where the signs of life are noted; only Idle needs it

	// Grace is how long the function may go on after its context has ended. After that it is
	// given up.
	Grace time.Duration

	// Extend, if it is set, is called once when Grace has passed. It returns how much longer to
	// wait.
	Extend func() time.Duration

	// Cause returns the error with which the function's context ends when its time is over. It is
	// called once for Limit, before the function begins, and once for Idle if that has passed.
	Cause func(Expiry) error

	// Ended, if it is set, is called when the function's context has ended before the function
	// returned. expired reports whether it was its own time that ended.
	Ended func(expired bool)
}

// Expiry is the end of one of the times of a Bound.
type Expiry struct {
	Idle    bool // Bound.Idle; else it was Bound.Limit
	Limit   time.Duration
	Elapsed time.Duration // since the function began; of Bound.Limit it is the limit
}

// Ending is how a bounded function ended.
type Ending int

const (
	Returned Ending = iota // it returned before its context ended
	Late                   // it returned after its context had ended, within the grace period
	GivenUp                // it has not returned: it still runs
)

// Result describes how a function ended that a [Bound] bounded.
type Result struct {
	Ending  Ending
	Expired bool          // its own time was over, and the context around it had not ended
	Cause   error         // why its context ended before it returned; nil if it did not
	Elapsed time.Duration // how long it was waited for
	Panic   *Panic        // the panic that ended it, or nil
	Exited  bool          // it called runtime.Goexit
}

// Panic is the panic of a function.
type Panic struct {
	Value any
	Stack []byte
}

// Run runs fn and waits for it as long as b allows. The zero Bound runs fn on the caller's
// goroutine, with ctx, and does not stop its panic or runtime.Goexit. Any other Bound runs it on
// a goroutine of its own, with a context that ends when the time of fn is over. What fn writes
// may be read unless it was given up.
func (b *Bound) Run(ctx context.Context, fn func(context.Context)) (res Result) {
	if b.Limit == 0 && b.Idle == 0 && b.Grace == 0 {
		fn(ctx)
		return Result{}
	}
	began := time.Now()
	inner, cancel := b.context(ctx)
	defer cancel(nil)
	f := &function{done: make(chan struct{})}
	go f.run(inner, fn)
	gaveUp, expired := b.wait(ctx, inner, cancel, f.done, began)
	res.Elapsed = time.Since(began)
	switch {
	case gaveUp:
		res.Ending = GivenUp
	case f.late:
		res.Ending = Late
	}
	if res.Ending != Returned {
		res.Expired, res.Cause = expired, context.Cause(inner)
	}
	if !gaveUp {
		res.Panic, res.Exited = f.panic, f.exited
	}
	return res
}

// function is a function on a goroutine of its own.
type function struct {
	done   chan struct{} // closed when the rest is set
	panic  *Panic
	exited bool
	late   bool // its context had ended when it returned
}

func (f *function) run(ctx context.Context, fn func(context.Context)) {
	defer close(f.done)
	returned := false
	defer func() {
		if v := recover(); v != nil {
			f.panic = &Panic{v, debug.Stack()}
		} else {
			f.exited = !returned
		}
		f.late = ctx.Err() != nil
	}()
	fn(ctx)
	returned = true
}

// context returns the context of a function that begins now.
func (b *Bound) context(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	cancel := func(error) {}
	if b.Idle > 0 {
		ctx, cancel = context.WithCancelCause(ctx)
	}
	if b.Limit == 0 {
		return ctx, cancel
	}
	ctx, stop := context.WithTimeoutCause(ctx, b.Limit, b.Cause(Expiry{Limit: b.Limit, Elapsed: b.Limit}))
	return ctx, func(cause error) { cancel(cause); stop() }
}

// wait waits for a function that began at this time, whose context is inner. It reports whether the
// function is given up, and whether its own time was over.
func (b *Bound) wait(ctx, inner context.Context, cancel context.CancelCauseFunc, done <-chan struct{}, began time.Time) (gaveUp, expired bool) {
	var idle *time.Timer
	var passed <-chan time.Time
	if b.Idle > 0 {
		idle = time.NewTimer(b.Idle)
		defer idle.Stop()
		passed = idle.C
	}
	for inner.Err() == nil {
		select {
		case <-done:
			return false, inner.Err() != nil && ctx.Err() == nil
		case <-inner.Done():
		case <-passed:
			if left := b.Activity.left(b.Idle); left > 0 {
				idle.Reset(left)
				continue
			}
			cancel(b.Cause(Expiry{Idle: true, Limit: b.Idle, Elapsed: time.Since(began)}))
		}
	}
	expired = ctx.Err() == nil
	if b.Ended != nil {
		b.Ended(expired)
	}
	return b.late(done) == GivenUp, expired
}

// Await waits for work that another goroutine does, with ctx, and that closes done when it ends.
// It returns when done is closed, and at the latest when ctx has ended and the grace period is
// over. The other times of b do not matter to it.
func (b *Bound) Await(ctx context.Context, done <-chan struct{}) Ending {
	select {
	case <-done:
		return Returned
	case <-ctx.Done():
		return b.late(done)
	}
}

// late waits for a function whose context has ended.
func (b *Bound) late(done <-chan struct{}) Ending {
	if closesWithin(done, b.Grace) {
		return Late
	}
	if b.Extend != nil {
		if more := b.Extend(); more > 0 && closesWithin(done, more) {
			return Late
		}
	}
	return GivenUp
}

// Sleep waits for a time. It returns false if ctx ends before.
func Sleep(ctx context.Context, d time.Duration) bool { return !closesWithin(ctx.Done(), d) }

// closesWithin waits so long for done to be closed and reports whether it was.
func closesWithin(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

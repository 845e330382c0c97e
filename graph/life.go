package graph

import (
	"context"
	"sync/atomic"
	"time"
)

// life is the context of a run. The zero life has no parent and must not be used. It ends with its
// parent, when it is cancelled, or when the run ends. Most nodes do not wait for the end of their
// context, so the context that can be cancelled is made when something first needs it.
type life struct {
	parent context.Context
	made   atomic.Pointer[cancellable] // nil until it is needed
}

// cancellable is a context with the function that cancels it.
type cancellable struct {
	context.Context
	cancel context.CancelCauseFunc
}

// endedLife is what a life has that ended before its context was needed.
var endedLife = func() *cancellable {
	c := newCancellable(context.Background())
	c.cancel(nil)
	return c
}()

func newCancellable(parent context.Context) *cancellable {
	ctx, cancel := context.WithCancelCause(parent)
	return &cancellable{ctx, cancel}
}

// context returns the context that can be cancelled.
func (l *life) context() *cancellable {
	if c := l.made.Load(); c != nil {
		return c
	}
	c := newCancellable(l.parent)
	if !l.made.CompareAndSwap(nil, c) {
		c.cancel(nil)
	}
	return l.made.Load()
}

// cancel ends the life because of cause, unless it has ended. A nil cause is context.Canceled.
func (l *life) cancel(cause error) { l.context().cancel(cause) }

// end is cancel(nil) at the end of the run. It makes no context.
func (l *life) end() {
	if l.parent.Err() == nil {
		l.made.CompareAndSwap(nil, endedLife)
	}
	if c := l.made.Load(); c != nil {
		c.cancel(nil)
	}
}

// Deadline implements [context.Context].
func (l *life) Deadline() (time.Time, bool) { return l.parent.Deadline() }

// Done implements [context.Context].
func (l *life) Done() <-chan struct{} { return l.context().Done() }

// Err implements [context.Context].
func (l *life) Err() error {
	if c := l.made.Load(); c != nil {
		return c.Err()
	}
	return l.parent.Err()
}

// Value implements [context.Context]. The context that can be cancelled has a value by which
// package context finds it.
func (l *life) Value(key any) any {
	if v := l.context().Value(key); v != nil {
		return v
	}
	return l.parent.Value(key)
}

package journal

import (
	"context"
	"sync"
	"time"
)

// Late is a context with the values of another one, which it outlives. It ends when Close is
// called, or when its time has passed. The time runs only from the first call of Done or Value, or
// of Deadline if it has a bound. Err does not start it. So Late costs nothing for a write to
// memory, which calls none of them.
type Late struct {
	from  context.Context
	bound time.Duration // 0 for WriteTime after from has ended

	mu     sync.Mutex
	inner  context.Context // nil until Done, Value or Deadline needs it
	cancel func()
	closed bool
}

// Open makes l a context with the values of from. It ends when bound has passed or, if bound is 0,
// WriteTime after the end of from. Open must be called before all other methods.
func (l *Late) Open(from context.Context, bound time.Duration) { l.from, l.bound = from, bound }

// Close ends the context.
func (l *Late) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.cancel != nil {
		l.cancel()
	}
}

// real returns a context of package context, and makes it if there is none.
func (l *Late) real() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inner != nil {
		return l.inner
	}
	if l.bound > 0 {
		l.inner, l.cancel = context.WithTimeout(context.WithoutCancel(l.from), l.bound)
	} else {
		l.inner, l.cancel = outlive(l.from)
	}
	if l.closed {
		l.cancel()
	}
	return l.inner
}

// Deadline implements context.Context.
func (l *Late) Deadline() (time.Time, bool) {
	if l.bound == 0 {
		return time.Time{}, false
	}
	return l.real().Deadline()
}

// Done implements context.Context.
func (l *Late) Done() <-chan struct{} { return l.real().Done() }

// Err implements context.Context.
func (l *Late) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.inner != nil:
		return l.inner.Err()
	case l.closed:
		return context.Canceled
	}
	return nil
}

// Value implements context.Context. It hides the cancellation of from: else context.Cause would
// return its cause for the end of l.
func (l *Late) Value(key any) any { return l.real().Value(key) }

// outlive returns a context with the values of run, and a function that cancels it. The context
// ends at most WriteTime after run.
func outlive(run context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(run))
	stop := context.AfterFunc(run, func() {
		select {
		case <-time.After(WriteTime):
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		stop()
		cancel()
	}
}

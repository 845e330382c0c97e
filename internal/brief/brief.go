package brief

import (
	"context"
	"sync"
	"time"
)

// Err is the error of a Context whose time is over. It is a context.DeadlineExceeded for
// errors.Is, and not that of the context which the Context was made of.
var Err error = lateError{}

type lateError struct{}

func (lateError) Error() string        { return "the time for one try is over" }
func (lateError) Timeout() bool        { return true }
func (lateError) Temporary() bool      { return true }
func (lateError) Is(target error) bool { return target == context.DeadlineExceeded }

// Context ends at a time of its own. It does not see the end of the context that it was made of,
// only its deadline.
type Context struct {
	context.Context // for its values
	pool            *Pool
	until           time.Time
	done            chan struct{}
	timer           *time.Timer
}

// Pool keeps contexts and timers that may be used again. The zero Pool is ready for use.
type Pool struct{ contexts, timers sync.Pool }

// New returns a context that ends after d. End must be called when nothing uses it any more.
func (p *Pool) New(ctx context.Context, d time.Duration) *Context {
	c, _ := p.contexts.Get().(*Context)
	if c == nil {
		c = &Context{pool: p, done: make(chan struct{})}
		c.timer = time.AfterFunc(d, func() { close(c.done) })
	} else {
		c.timer.Reset(d)
	}
	c.Context, c.until = ctx, time.Now().Add(d)
	if end, ok := ctx.Deadline(); ok && end.Before(c.until) {
		c.until = end
	}
	return c
}

// End frees the context. One whose time is over may still be used by others, and is not used
// again.
func (c *Context) End() {
	if c.timer.Stop() {
		c.Context = context.Background() // and not the caller's
		c.pool.contexts.Put(c)
	}
}

// Deadline implements context.Context, as Done and Err.
func (c *Context) Deadline() (time.Time, bool) { return c.until, true }

func (c *Context) Done() <-chan struct{} { return c.done }

func (c *Context) Err() error {
	select {
	case <-c.done:
		return Err
	default:
		return nil
	}
}

// NewTimer returns a timer that StopTimer takes back.
func (p *Pool) NewTimer(d time.Duration) *time.Timer {
	if t, ok := p.timers.Get().(*time.Timer); ok {
		t.Reset(d)
		return t
	}
	return time.NewTimer(d)
}

// StopTimer stops a timer of NewTimer.
func (p *Pool) StopTimer(t *time.Timer) {
	t.Stop()
	p.timers.Put(t)
}

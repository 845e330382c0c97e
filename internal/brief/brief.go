package brief

import (
	"context"
	"sync"
	"time"
)

// ErrTimeout is returned when the timeout of a Context has passed. errors.Is reports it as
// context.DeadlineExceeded. It is a value of its own, so it differs from the error of the parent.
var ErrTimeout error = lateError{}

type lateError struct{}

func (lateError) Error() string        { return "the time limit has passed" }
func (lateError) Timeout() bool        { return true }
func (lateError) Temporary() bool      { return true }
func (lateError) Is(target error) bool { return target == context.DeadlineExceeded }

// Ended returns why a context has ended, or nil. On a busy machine the deadline of a context may
// have passed although its timer has not run, so that ctx.Err still returns nil.
func Ended(ctx context.Context) error {
	if end, ok := ctx.Deadline(); ok && ctx.Err() == nil && !time.Now().Before(end) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// Context is done when its timeout has passed. It has the values of its parent. Deadline returns
// the parent's deadline if that is earlier, but Done and Err observe neither the parent's deadline
// nor its cancellation.
type Context struct {
	context.Context // for its values
	pool            *Pool
	until           time.Time
	done            chan struct{}
	timer           *time.Timer
}

// Pool holds contexts and timers for reuse. The zero Pool is ready for use.
type Pool struct{ contexts, timers sync.Pool }

// New returns a context that is done after d. Call End when nothing uses the context any more.
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

// End releases the context for reuse. A context whose timeout has passed is not reused, because its
// Done channel is closed.
func (c *Context) End() {
	if c.timer.Stop() {
		c.Context = context.Background() // release the parent
		c.pool.contexts.Put(c)
	}
}

// Deadline implements context.Context, as do Done and Err. It returns the parent's deadline if that
// is earlier than the timeout.
func (c *Context) Deadline() (time.Time, bool) { return c.until, true }

func (c *Context) Done() <-chan struct{} { return c.done }

func (c *Context) Err() error {
	select {
	case <-c.done:
		return ErrTimeout
	default:
		return nil
	}
}

// NewTimer returns a timer. StopTimer releases it for reuse.
func (p *Pool) NewTimer(d time.Duration) *time.Timer {
	if t, ok := p.timers.Get().(*time.Timer); ok {
		t.Reset(d)
		return t
	}
	return time.NewTimer(d)
}

// StopTimer stops a timer of NewTimer and releases it.
func (p *Pool) StopTimer(t *time.Timer) {
	t.Stop()
	p.timers.Put(t)
}

package journal

import (
	"context"
	"sync"
	"time"
)

// writeContext is the context of the writes that begin before the context of the run has ended.
// They share it, since making one costs more than a commit to memory. A later write has its own.
type writeContext struct {
	mu     sync.Mutex
	ctx    context.Context // nil before the first write
	cancel func()
	closed bool
}

// context returns the shared context. It returns false if the context of the run has ended.
func (w *writeContext) context(run context.Context) (context.Context, bool) {
	if run.Err() != nil {
		return nil, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx == nil && !w.closed {
		w.ctx, w.cancel = outlive(run)
	}
	return w.ctx, !w.closed
}

// close cancels the shared context.
func (w *writeContext) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed = true; w.cancel != nil {
		w.cancel()
	}
}

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

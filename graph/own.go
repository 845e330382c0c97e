package graph

import (
	"context"
	"fmt"
	"sync"

	"github.com/weftrun/weft/checkpoint"
)

// owner is a run's hold on its thread.
type owner struct {
	mu     sync.Mutex
	held   *checkpoint.Held
	unbind func() bool // lets the run outlive the lease
}

// hold takes the run's thread, until disown. A subgraph works under the lease of its
// root. When the lease is lost the run is cancelled.
func (r *run) hold() error {
	if r.inside != nil {
		return nil
	}
	hold := r.opts.Lease
	if hold.Policy == checkpoint.Reject && r.opts.IfWaiting == Queue {
		hold.Policy = checkpoint.Wait
	}
	held, err := checkpoint.Hold(r.ctx, r.cfg.Store, r.opts.Thread, hold)
	if err != nil {
		return fmt.Errorf("graph %q: %w", r.name, err)
	}
	unbind := context.AfterFunc(held.Context(), func() { r.cancel(context.Cause(held.Context())) })
	r.owner.mu.Lock()
	r.owner.held, r.owner.unbind = held, unbind
	r.owner.mu.Unlock()
	return nil
}

// fence returns what the run's writes must carry.
func (r *run) fence() string {
	o := &r.root().owner
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held == nil {
		return ""
	}
	return o.held.Fence()
}

// disown gives the thread back. It may come twice: when a run is given up because a
// node does not stop, and when that node has.
func (r *run) disown() error {
	r.owner.mu.Lock()
	held := r.owner.held
	r.owner.held = nil
	r.owner.mu.Unlock()
	if held == nil {
		return nil
	}
	r.owner.unbind() // that the lease ends now is no reason to cancel anything
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), flush)
	defer cancel()
	if err := held.Release(ctx); err != nil {
		return r.fail(fmt.Errorf("giving the thread back: %w", err))
	}
	return nil
}

package graph

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

// owner is a run's hold on its thread.
type owner struct {
	mu   sync.Mutex
	held *checkpoint.Held
	stop func() bool // lets the end of held's context be nothing to the run
}

// hold takes the run's thread, until disown. A subgraph works under the lease of its
// root. When the lease is lost the run is cancelled.
func (r *run) hold() error {
	if r.inside != nil {
		return nil
	}
	hold := r.opts.Lease
	if hold.Policy == checkpoint.Reject && r.opts.OnOpenQuestions == Queue {
		hold.Policy = checkpoint.Wait
	}
	if t := r.waitsForItself(); t != nil && hold.Policy == checkpoint.Wait {
		return fmt.Errorf("graph %q: %w: thread %q waits for node %q of graph %q, which waits here", r.name, checkpoint.ErrOwned,
			r.opts.Thread, t.node.name, t.run.name)
	}
	held, err := checkpoint.Hold(r.ctx, r.cfg.Store, r.opts.Thread, hold)
	if err != nil {
		return fmt.Errorf("graph %q: %w", r.name, err)
	}
	stop := context.AfterFunc(held.Context(), func() { r.cancel(context.Cause(held.Context())) })
	r.owner.mu.Lock()
	r.owner.held, r.owner.stop = held, stop
	r.owner.mu.Unlock()
	return nil
}

// waitsForItself returns the task, if there is one, from whose node this run was begun
// and whose own run holds the thread.
func (r *run) waitsForItself() *task {
	for s := scopeOf(r.ctx); s != nil; {
		root := s.task.run.root()
		if root.opts.Thread == r.opts.Thread && root.fence() != "" && sameStore(root.cfg.Store, r.cfg.Store) {
			return s.task
		}
		s = scopeOf(root.ctx)
	}
	return nil
}

func sameStore(a, b checkpoint.Store) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.ValueOf(a).Comparable() && a == b
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

// giveBack bounds the call that gives a thread back. What the run did is stored by then, so that a
// busy machine or store, with thousands of runs that end at once, shall not make it a failure. A
// run that was cancelled has flush.
const giveBack = 30 * time.Second

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
	r.owner.stop() // it is not lost but given back
	bound := giveBack
	if r.ctx.Err() != nil {
		bound = flush
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), bound)
	defer cancel()
	if err := held.Release(ctx); err != nil {
		return r.fail(fmt.Errorf("giving the thread back: %w", err))
	}
	return nil
}

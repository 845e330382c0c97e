package graph

import (
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/journal"
)

// lease is the lease of a thread that a session holds.
type lease struct {
	mu   sync.Mutex
	held *checkpoint.Held

	releasing journal.Late // the context of the call that releases it
}

// acquireLease acquires the lease of the session's thread, which a [checkpoint.Held] renews. When
// it is lost, the context of the root run ends with [checkpoint.ErrLeaseLost]. What the run stores
// later carries the old fence, and is refused once another owns the thread.
func (s *session) acquireLease() error {
	r := &s.root
	hold := r.opts.Lease
	if hold.Policy == checkpoint.Reject && r.opts.OnOpenQuestions == Queue {
		hold.Policy = checkpoint.Wait
	}
	if t := s.waitsForItself(); t != nil && hold.Policy == checkpoint.Wait {
		return fmt.Errorf("graph %q: %w: thread %q waits for node %q of graph %q, which waits here", r.name, checkpoint.ErrOwned,
			r.opts.Thread, t.node.name, t.run.name)
	}
	ctx := r.context()
	_, end := r.observeStore(ctx, "acquire")
	held, err := checkpoint.HoldWith(ctx, r.cfg.Store, r.opts.Thread, hold, r.life.cancel)
	end(err)
	if err != nil {
		return fmt.Errorf("graph %q: %w", r.name, err)
	}
	s.lease.mu.Lock()
	s.lease.held = held
	s.lease.mu.Unlock()
	if r.driven != nil {
		r.driven.id.Fence = held.Fence()
	}
	return nil
}

// waitsForItself returns the task, if there is one, from whose node this run was begun
// and whose own run holds the thread.
func (s *session) waitsForItself() *task {
	r := &s.root
	for in := scopeOf(r.ctx); in != nil; {
		around := in.task.run.session
		root := &around.root
		if root.opts.Thread == r.opts.Thread && around.fence() != "" && sameStore(root.cfg.Store, r.cfg.Store) {
			return in.task
		}
		in = scopeOf(root.ctx)
	}
	return nil
}

func sameStore(a, b checkpoint.Store) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.ValueOf(a).Comparable() && a == b
}

// fence returns the fence that the session's writes must carry; "" where it holds no lease.
func (s *session) fence() string {
	s.lease.mu.Lock()
	defer s.lease.mu.Unlock()
	if s.lease.held == nil {
		return ""
	}
	return s.lease.held.Fence()
}

// releaseTime bounds the call that releases a lease. What the run did is stored by then, so a busy
// machine or store, with thousands of runs that end at once, must not make it a failure. A run that
// was cancelled has journal.WriteTime.
const releaseTime = 30 * time.Second

// releaseLease releases the lease of the thread. It may be called twice: when the run is given up
// because a node does not stop, and when that node has returned.
func (s *session) releaseLease() error {
	s.lease.mu.Lock()
	held := s.lease.held
	s.lease.held = nil
	s.lease.mu.Unlock()
	if held == nil {
		return nil
	}
	r, bound := &s.root, releaseTime
	if r.driven != nil || r.opts.Lease.Fence != "" {
		held.Leave() // it is the caller's
		return nil
	}
	if r.ctx.Err() != nil {
		bound = journal.WriteTime
	}
	s.lease.releasing.Open(r.ctx, bound)
	defer s.lease.releasing.Close()
	if err := held.Release(&s.lease.releasing); err != nil {
		return r.fail(fmt.Errorf("giving the thread back: %w", err))
	}
	return nil
}

package sqlite

import (
	"slices"
	"sync"
)

// request is one call that waits to be written. Its apply runs in the writer's
// transaction, perhaps twice: when a group fails, each of it is tried alone.
type request struct {
	apply func(*writer) error
	done  chan error // gets one result; has room for it, so nobody need wait
}

func newRequest(apply func(*writer) error) *request {
	return &request{apply, make(chan error, 1)}
}

// queue holds the requests that the writer has not picked up. It is as long as
// there are callers waiting.
type queue struct {
	mu      sync.Mutex
	changed sync.Cond // on mu
	waiting []*request
	closed  bool
}

func (q *queue) init() { q.changed.L = &q.mu }

// add reports false, and adds nothing, when the queue is closed.
func (q *queue) add(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.waiting = append(q.waiting, r)
	q.changed.Signal()
	return true
}

// withdraw takes r back. It reports false when the writer was faster.
func (q *queue) withdraw(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, r)
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// wait returns true when there is a request, and false when there will never be one.
func (q *queue) wait() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 && !q.closed {
		q.changed.Wait()
	}
	return len(q.waiting) > 0
}

// take picks up at most n requests, oldest first.
func (q *queue) take(n int) []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	n = min(n, len(q.waiting))
	group := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return group
}

// close lets the writer finish what waits, and refuses the rest.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Signal()
}

package sqlite

import (
	"slices"
	"sync"
)

// request is one call that waits to be written. Its apply runs in the writer's
// transaction, perhaps twice: when a group fails, each of its requests is tried alone.
type request struct {
	apply func(*writer) error
	done  chan error // gets one result; buffered, so the writer never waits
}

func newRequest(apply func(*writer) error) *request {
	return &request{apply, make(chan error, 1)}
}

// queue has the requests that the writer has not taken yet. Its length is the number of waiting
// callers.
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

// withdraw removes r. It reports false when the writer has already taken r.
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

// wait waits for a request. It returns false when the queue is closed and empty.
func (q *queue) wait() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 && !q.closed {
		q.changed.Wait()
	}
	return len(q.waiting) > 0
}

// take removes and returns at most n requests, oldest first.
func (q *queue) take(n int) []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	n = min(n, len(q.waiting))
	group := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return group
}

// close makes add refuse requests. The writer still takes those in the queue.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Signal()
}

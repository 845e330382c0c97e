package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// running lists the tasks of a run, and of the subgraphs in it. It is read when the run is given
// up, to say which node did not stop. A task stays listed until the run drops it; its phase
// records, without the mutex, whether its node runs.
type running struct {
	mu    sync.Mutex
	first *task
}

// listing is the place of a task in its list. mu guards what is not atomic.
type listing struct {
	prev, next *task
	listed     bool
	children   int          // how many subgraphs the node waits for
	phase      atomic.Int32 // whether the node runs
	dropped    atomic.Bool  // the run does not use the task again
}

// The phases of a task that is listed.
const (
	phaseIdle    int32 = iota // its node does not run
	phaseRunning              // its node runs
	phaseRead                 // its node runs, and who holds mu reads the task: it is not used again meanwhile
)

// starts records that the node runs.
func (l *listing) starts() { l.phase.Store(phaseRunning) }

// ends records that the node of t has returned. While a reader holds the task, it waits for the
// mutex.
func (l *running) ends(t *task) {
	if !t.phase.CompareAndSwap(phaseRunning, phaseIdle) {
		l.mu.Lock()
		t.phase.Store(phaseIdle)
		l.mu.Unlock()
	}
	if t.dropped.Load() {
		l.remove(t)
	}
}

// drop removes a task that is not used again: at once, or when its node returns.
func (l *running) drop(t *task) {
	if l == nil {
		return
	}
	t.dropped.Store(true)
	if t.phase.Load() == phaseIdle {
		l.remove(t)
	}
}

// list makes l, which may be nil, the list that t is in.
func (l *running) list(t *task) {
	if t.running != nil {
		t.running.remove(t)
	}
	t.running = l
	if l != nil {
		if t.listing == nil {
			t.listing = new(listing)
		}
		l.add(t)
	}
}

func (l *running) add(t *task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.prev, t.next, t.listed = nil, l.first, true
	if l.first != nil {
		l.first.prev = t
	}
	l.first = t
}

func (l *running) remove(t *task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !t.listed {
		return
	}
	t.listed = false
	if t.prev != nil {
		t.prev.next = t.next
	} else {
		l.first = t.next
	}
	if t.next != nil {
		t.next.prev = t.prev
	}
	t.prev, t.next = nil, nil
}

// waitForChild notes that the node of t waits for a subgraph, until done is called.
func (l *running) waitForChild(t *task) (done func()) {
	if l == nil {
		return func() {}
	}
	add := func(n int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		t.children += n
	}
	add(1)
	return func() { add(-1) }
}

// any reports whether a node of r, or of a subgraph in it, runs that is not waiting for a subgraph.
func (l *running) any(r *run) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for t := l.first; t != nil; t = t.next {
		if t.phase.Load() != phaseIdle && t.children == 0 && isIn(t, r) && !t.isGivenUp() {
			return true
		}
	}
	return false
}

// in returns the tasks of r, and of the subgraphs in it, whose nodes run, in canonical order: not
// those that wait for another of them, nor those that were given up already. The caller holds mu,
// and calls release before it unlocks it.
func (l *running) in(r *run) (all []*task) {
	waits := map[*task]bool{}
	for t := l.first; t != nil; t = t.next {
		if isIn(t, r) && !t.isGivenUp() && t.phase.CompareAndSwap(phaseRunning, phaseRead) {
			all = append(all, t)
			for up := t.run.inside; up != nil; up = up.run.inside {
				waits[up] = true
			}
		}
	}
	all = slices.DeleteFunc(all, func(t *task) bool { return waits[t] })
	if busy := slices.DeleteFunc(slices.Clone(all), func(t *task) bool { return t.children > 0 }); len(busy) > 0 {
		all = busy
	}
	slices.SortFunc(all, func(a, b *task) int {
		return cmp.Or(cmp.Compare(a.run.ns(), b.run.ns()), cmp.Compare(a.index, b.index), cmp.Compare(a.node.name, b.node.name))
	})
	return all
}

// release ends the reading of tasks.
func (l *running) release() {
	for t := l.first; t != nil; t = t.next {
		t.phase.CompareAndSwap(phaseRead, phaseRunning)
	}
}

// isIn reports whether t is a task of r or of a subgraph in it.
func isIn(t *task, r *run) bool {
	for ; t != nil; t = t.run.inside {
		if t.run == r {
			return true
		}
	}
	return false
}

// abandoned returns the error of r, which is given up: why its context ended, and which nodes did
// not stop. If a task of r failed, its error comes first.
func (l *running) abandoned(r *run) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.release()
	cause, stuck := r.cancelled(), l.in(r)
	if len(stuck) == 0 {
		return fmt.Errorf("graph %q: %w: %w (all nodes have returned; the store or a function of a Policy has not)", r.name, cause, ErrAbandoned)
	}
	err := fmt.Errorf("%w: %w", cause, ErrAbandoned)
	var all []error
	if failed, ok := context.Cause(r.ctx).(*stopped); ok && failed.by == r {
		err, all = ErrAbandoned, append(all, failed.err)
	}
	for _, t := range stuck {
		all = append(all, unstopped(r, t, err))
	}
	if len(all) == 1 {
		return all[0]
	}
	return errors.Join(all...)
}

// unstopped returns err with the place of t, and of the tasks around it up to r.
func unstopped(r *run, t *task, err error) error {
	for ; ; t = t.run.inside {
		e := t.placed(err)
		e.Cancelled = r.wasCancelled()
		err = e
		if t.run == r {
			return err
		}
	}
}

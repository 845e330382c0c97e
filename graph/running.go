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

// running lists the tasks of a run, and of the subgraphs in it. It is read to find out whether a
// cancelled run may take more time, and to name the nodes that did not stop. A task stays listed
// until the run drops it; its phase records, without the mutex, whether its node runs.
type running struct {
	mu    sync.Mutex
	first *task
}

// listing is the position of a task in its list. mu guards what is not atomic.
type listing struct {
	prev, next *task
	listed     bool
	children   int          // number of subgraphs that the node waits for
	phase      atomic.Int32 // whether the node runs
	dropped    atomic.Bool  // the run does not use the task again
}

// The phases of a task that is listed.
const (
	phaseIdle    int32 = iota // its node does not run
	phaseRunning              // its node runs
	phaseRead                 // its node runs, and the holder of mu reads the task, so the run must not reuse it
)

// markRunning records that the node runs.
func (l *listing) markRunning() { l.phase.Store(phaseRunning) }

// markReturned records that the node of t has returned. It waits for mu while the task is read.
func (l *running) markReturned(t *task) {
	if !t.phase.CompareAndSwap(phaseRunning, phaseIdle) {
		l.mu.Lock()
		t.phase.Store(phaseIdle)
		l.mu.Unlock()
	}
	if t.dropped.Load() {
		l.remove(t)
	}
}

// drop removes a task that the run does not use again: at once, or when its node returns.
func (l *running) drop(t *task) {
	if l == nil {
		return
	}
	t.dropped.Store(true)
	if t.phase.Load() == phaseIdle {
		l.remove(t)
	}
}

// list moves t from the list that it is in to l, or only removes it if l is nil.
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

// waitForChild records that the node of t waits for a subgraph, until done is called.
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

// hasRunning reports whether r, or a subgraph in it, has a running node that neither waits for a
// subgraph nor was given up.
func (l *running) hasRunning(r *run) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for t := l.first; t != nil; t = t.next {
		if t.phase.Load() != phaseIdle && t.children == 0 && isIn(t, r) && !t.isGivenUp() {
			return true
		}
	}
	return false
}

// stuck returns the tasks of r, and of the subgraphs in it, whose nodes run, in canonical order. It
// leaves out tasks that were given up before, those that wait for another of these tasks, and, if
// others run, all that wait for a subgraph. The caller holds mu, and calls release before it
// unlocks mu.
func (l *running) stuck(r *run) (all []*task) {
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

// release marks the tasks that stuck has read as no longer read.
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

// abandoned returns the error of r, a run that is given up: why its context ended, and which nodes
// did not stop. If a task of r failed, its error comes first.
func (l *running) abandoned(r *run) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.release()
	cause, stuck := r.cancelled(), l.stuck(r)
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

// unstopped returns err with the place of t, and of each task that contains it, up to r.
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

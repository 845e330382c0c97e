package graph

import (
	"context"
	"sync"
)

// slots bounds what is at work at once in a run, its subgraphs and calls included. The
// coordinator of the root has one from the start.
type slots struct {
	once  sync.Once
	limit int
	taken chan struct{} // one element for each that is taken
}

func (s *slots) ready() chan struct{} {
	s.once.Do(func() {
		s.taken = make(chan struct{}, s.limit)
		s.taken <- struct{}{} // the coordinator's
	})
	return s.taken
}

// take waits for a free slot; false means that ctx ended first.
func (s *slots) take(ctx context.Context) bool {
	taken := s.ready()
	select {
	case taken <- struct{}{}:
		return true
	default:
	}
	select {
	case taken <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *slots) give() { <-s.ready() }

// seat is the right of a goroutine, and of the code it runs, to be at work. It has a
// slot, but for the time in which it waits for others: so a run that is full of nodes
// that wait for their subgraphs and calls does not stand still. The zero seat with
// slots has one.
type seat struct {
	slots *slots

	mu    sync.Mutex
	waits int  // how many wait at this moment
	bare  bool // it has no slot
	left  bool // nobody needs it any more
	used  bool // somebody waited: others may still know it
}

// rise says that the holder waits from now on, for sit.
func (s *seat) rise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = true
	if s.waits++; s.waits == 1 && !s.bare && !s.left {
		s.bare = true
		s.slots.give()
	}
}

// sit ends a wait that began with rise. Where ctx ends before there is a slot it goes on
// without one: it only has to come to its end.
func (s *seat) sit(ctx context.Context) {
	s.mu.Lock()
	s.waits--
	wants := s.waits == 0 && s.bare && !s.left
	s.mu.Unlock()
	if wants {
		s.fill(ctx)
	}
}

// fill gets a slot for a seat that has none.
func (s *seat) fill(ctx context.Context) {
	if !s.slots.take(ctx) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waits > 0 || s.left || !s.bare {
		s.slots.give()
		return
	}
	s.bare = false
}

// leave gives the slot back for good.
func (s *seat) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = true
	if !s.bare {
		s.bare = true
		s.slots.give()
	}
}

// lend returns a seat with the slot of s, for code that may not come back in time.
func (s *seat) lend() *seat {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &seat{slots: s.slots, bare: s.bare}
	s.bare = true
	return l
}

// takeBack ends a loan, whether the borrower has come back or not.
func (s *seat) takeBack(ctx context.Context, l *seat) {
	l.mu.Lock()
	bare := l.bare
	l.bare, l.left = true, true
	l.mu.Unlock()
	if bare {
		s.fill(ctx)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bare = false
}

// newSeat waits for a slot. Without one, when ctx has ended, the seat is bare.
func (s *slots) newSeat(ctx context.Context) *seat {
	return &seat{slots: s, bare: !s.take(ctx)}
}

// spareSeat returns a seat for a worker, without a slot yet. Only who hires calls it.
func (r *run) spareSeat(worker int) *seat {
	if worker == len(r.spare) {
		r.spare = append(r.spare, nil)
	}
	if s := r.spare[worker]; s == nil || s.isLeft() {
		r.spare[worker] = &seat{slots: r.seat.slots, bare: true}
	}
	return r.spare[worker]
}

// isLeft reports whether nobody needs the seat any more.
func (s *seat) isLeft() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
}

// pause is leave for a seat that may be used again, where nobody else can know it.
func (s *seat) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.bare {
		s.bare = true
		s.slots.give()
	}
	s.left = s.used
}

// lendSeat lends the seat of task i to its node, until what it returns is called.
func (r *run) lendSeat(i int) func() {
	t := r.tasks[i]
	own := t.seat
	lent := own.lend()
	t.seat = lent
	return func() {
		own.takeBack(r.ctx, lent)
		r.tasks[i].seat = own
	}
}

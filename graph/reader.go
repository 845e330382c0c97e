package graph

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync/atomic"
)

// Reader says what a reader of a run takes, and what happens when it is slow. The
// zero Reader takes Updates at every depth and slows the run.
type Reader struct {
	// Modes says which events it takes; 0 means Updates.
	Modes Mode
	// Depth bounds how deep it looks: 1 is the graph itself, 2 also its subgraphs, and
	// so on; 0 means all.
	Depth int
	// Buffer is how many events may wait for it; 0 means 64.
	Buffer int
	// Lossy lets a slow reader lose the oldest events that wait for it. It gets a Missed
	// event in their place; the last event, Ended, it always gets. Without Lossy the run
	// waits when the buffer is full, until the reader reads on or leaves, or the run is
	// cancelled.
	Lossy bool
}

// ErrReader is returned when a Reader has a depth or a buffer of less than nothing.
var ErrReader = errors.New("graph: no such reader")

func (r Reader) check() error {
	if r.Depth < 0 || r.Buffer < 0 {
		return fmt.Errorf("%w: a depth of %d, a buffer of %d", ErrReader, r.Depth, r.Buffer)
	}
	return r.Modes.check()
}

// buffer is how many events may wait for a reader that does not say.
const buffer = 64

// spot is the place of one reader.
type spot struct {
	feed  *feed
	modes Mode
	depth int
	limit int
	lossy bool
	ready chan struct{} // holds one while there is something to look for
	heard heard         // of its loop

	// What follows is guarded by feed.mu.

	queue  ring
	missed Event // the Missed event that comes before the queue, or none
}

// join gives a reader a place. It sees what happens from now on.
func (f *feed) join(r Reader) (*spot, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if r.Modes == 0 {
		r.Modes = Updates
	}
	if r.Depth == 0 {
		r.Depth = math.MaxInt
	}
	if r.Buffer == 0 {
		r.Buffer = buffer
	}
	s := &spot{feed: f, modes: r.Modes | Ended, depth: r.Depth, limit: r.Buffer, lossy: r.Lossy,
		ready: make(chan struct{}, 1), heard: heard{}}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		if f.last.Mode == Ended {
			s.put(f.last)
		}
		return s, nil
	}
	f.seats = append(f.seats, s)
	f.survey()
	return s, nil
}

// readers returns the loop over the events of a reader that joins now. begin is called
// when the loop begins. A loop after the first one joins when it begins.
func (f *feed) readers(r Reader, begin func()) iter.Seq2[Event, error] {
	first, err := f.join(r)
	var free atomic.Pointer[spot]
	free.Store(first)
	return func(yield func(Event, error) bool) {
		if err != nil {
			yield(Event{}, err)
			return
		}
		s := free.Swap(nil)
		if s == nil {
			s, _ = f.join(r)
		}
		begin()
		s.each(yield)
	}
}

// each hands the events to the reader until the run has ended or the reader leaves,
// be it by a panic.
func (s *spot) each(yield func(Event, error) bool) {
	defer s.leave()
	for {
		ev, ok := s.next()
		if !ok {
			break
		}
		if !yield(ev, nil) {
			return
		}
	}
	if err := s.feed.err; err != nil {
		yield(Event{}, err)
	}
}

// next waits for the next event; false means that the run has ended.
func (s *spot) next() (Event, bool) {
	for {
		ev, closed := s.take()
		switch {
		case ev.Mode == Messages:
			s.heard.mark(&ev.Token)
			return ev, true
		case ev.Mode != 0:
			return ev, true
		case closed:
			return ev, false
		}
		<-s.ready
	}
}

// take returns the next event that waits, or none.
func (s *spot) take() (ev Event, closed bool) {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	switch {
	case s.missed.Mode != 0:
		ev, s.missed = s.missed, Event{}
	case s.queue.n > 0:
		ev = s.queue.pop()
		s.feed.free()
	}
	return ev, s.feed.closed
}

// takes reports whether the reader takes events of this mode, this many subgraphs down.
func (s *spot) takes(m Mode, depth int) bool { return s.modes&m != 0 && depth < s.depth }

// put adds an event to those that wait.
func (s *spot) put(ev Event) {
	if s.lossy && s.queue.n >= s.limit {
		lost := s.queue.pop()
		s.missed = Event{Mode: Missed, Seq: lost.Seq, Time: lost.Time, Missed: s.missed.Missed + 1}
	}
	s.queue.push(ev)
	s.wake()
}

func (s *spot) wake() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// leave gives the place up.
func (s *spot) leave() {
	f := s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seats = slices.DeleteFunc(f.seats, func(o *spot) bool { return o == s })
	f.survey()
	f.free()
}

// ring is a queue that grows as it must.
type ring struct {
	events  []Event
	head, n int
}

func (r *ring) push(ev Event) {
	if r.n == len(r.events) {
		grown := make([]Event, max(8, 2*r.n))
		n := copy(grown, r.events[r.head:])
		copy(grown[n:], r.events[:r.head])
		r.events, r.head = grown, 0
	}
	r.events[(r.head+r.n)%len(r.events)] = ev
	r.n++
}

func (r *ring) pop() Event {
	ev := r.events[r.head]
	r.events[r.head] = Event{}
	r.head = (r.head + 1) % len(r.events)
	r.n--
	return ev
}

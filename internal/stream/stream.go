package stream

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// Class is a set of classes of events, one bit each.
type Class uint64

// Config is what a Stream does with its events. Both functions are called with a lock held: they
// must not call the Stream.
type Config[E any] struct {
	// Number sets the sequence number of an event, from 1, when it is delivered. An event that no
	// reader takes has none.
	Number func(ev *E, seq uint64)
	// Gap returns the event that a lossy reader gets in place of n events that it lost, of which
	// lost is the newest.
	Gap func(lost E, n uint64) E
}

// Stream is a source of events. [New] makes one. It is safe for concurrent use.
type Stream[E any] struct {
	cfg     Config[E]
	classes atomic.Uint64 // the classes that some reader takes
	depth   atomic.Int64  // the greatest depth of a reader
	waiting chan struct{} // held by the sender that waits for room; the others queue behind it
	freed   chan struct{} // signals that sender that there may be room

	mu      sync.Mutex
	readers []*Subscription[E]
	seq     uint64
	senders int   // how many wait for room
	closed  bool  // no events come any more
	err     error // of Close
	last    *E    // of SendLast; nil if there is none
}

// New returns a Stream without readers.
func New[E any](cfg Config[E]) *Stream[E] {
	return &Stream[E]{cfg: cfg, waiting: make(chan struct{}, 1), freed: make(chan struct{}, 1)}
}

// Wants reports whether some reader takes events of a class at a depth. It takes no lock.
func (s *Stream[E]) Wants(c Class, depth int) bool {
	return Class(s.classes.Load())&c != 0 && int64(depth) < s.depth.Load()
}

// Send delivers an event to the readers that take it. While the buffer of one that is not lossy
// is full it waits, until ctx or life ends: then the event is not delivered, and Send returns
// the cause.
func (s *Stream[E]) Send(ctx, life context.Context, c Class, depth int, ev E) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.awaitRoom(ctx, life, c, depth); err != nil {
		return err
	}
	s.deliver(c, depth, ev)
	return nil
}

// SendAlways is Send for an event that must not be lost. When life has ended it does not wait, and
// buffers grow beyond their bound.
func (s *Stream[E]) SendAlways(life context.Context, c Class, depth int, ev E) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.awaitRoom(life, life, c, depth)
	s.deliver(c, depth, ev)
}

// SendLast is SendAlways for the last event, which all readers take. Those that subscribe later
// get it too.
func (s *Stream[E]) SendLast(life context.Context, ev E) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.awaitRoom(life, life, all, 0)
	if s.closed {
		return
	}
	s.number(&ev)
	s.last = &ev
	for _, r := range s.readers {
		r.put(ev)
	}
}

// Close ends the stream: no more events come, and [Subscription.Err] returns err. What is sent
// afterwards is dropped.
func (s *Stream[E]) Close(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.err = true, err
	for _, r := range s.readers {
		r.wake()
	}
	s.readers = nil
	s.readersChanged()
}

// all is every class.
const all = Class(math.MaxUint64)

// awaitRoom waits until there is room for an event. It releases s.mu while it waits.
func (s *Stream[E]) awaitRoom(ctx, life context.Context, c Class, depth int) error {
	if s.senders == 0 && s.hasRoom(c, depth) {
		return nil
	}
	s.senders++
	defer func() { s.senders-- }()
	if err := s.wait(ctx, life, s.waiting, nil); err != nil {
		return err
	}
	defer func() { <-s.waiting }()
	for !s.hasRoom(c, depth) {
		if err := s.wait(ctx, life, nil, s.freed); err != nil {
			return err
		}
	}
	return nil
}

// wait waits, without s.mu, until it may send to queue or receive from freed.
func (s *Stream[E]) wait(ctx, life context.Context, queue chan<- struct{}, freed <-chan struct{}) error {
	s.mu.Unlock()
	defer s.mu.Lock()
	select {
	case queue <- struct{}{}:
		return nil
	case <-freed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-life.Done():
		return context.Cause(life)
	}
}

// hasRoom reports whether every reader that must not lose this event has room for it.
func (s *Stream[E]) hasRoom(c Class, depth int) bool {
	for _, r := range s.readers {
		if !r.Lossy && r.takes(c, depth) && r.queue.n >= r.Buffer {
			return false
		}
	}
	return true
}

// deliver numbers an event and puts it into the buffers of those that take it. An event whose
// readers have left gets no number.
func (s *Stream[E]) deliver(c Class, depth int, ev E) {
	numbered := false
	for _, r := range s.readers {
		if !r.takes(c, depth) {
			continue
		}
		if !numbered {
			s.number(&ev)
			numbered = true
		}
		r.put(ev)
	}
}

func (s *Stream[E]) number(ev *E) {
	s.seq++
	s.cfg.Number(ev, s.seq)
}

// readersChanged notes what the readers take, and wakes the sender that waits for room.
func (s *Stream[E]) readersChanged() {
	var classes Class
	depth := 0
	for _, r := range s.readers {
		classes |= r.Classes
		depth = max(depth, r.Depth)
	}
	s.classes.Store(uint64(classes))
	s.depth.Store(int64(depth))
	s.roomFreed()
}

// roomFreed wakes the sender that waits for room, if one does.
func (s *Stream[E]) roomFreed() {
	if s.senders > 0 {
		select {
		case s.freed <- struct{}{}:
		default:
		}
	}
}

// remove takes a reader out of the stream.
func (s *Stream[E]) remove(r *Subscription[E]) {
	s.readers = slices.DeleteFunc(s.readers, func(o *Subscription[E]) bool { return o == r })
	s.readersChanged()
}

package stream

import "math"

// Options say what a reader takes. Without Classes it takes the last event alone.
type Options struct {
	Classes Class // the events that it takes
	Depth   int   // those at a smaller depth than this; 0 means all
	Buffer  int   // how many events may wait for it, at least 1; 0 means 1
	Lossy   bool  // it loses its oldest events when the buffer is full
}

// Subscription is one reader of a Stream. One goroutine may use it.
type Subscription[E any] struct {
	Options
	stream *Stream[E]
	ready  chan struct{} // holds an element when there may be an event

	// The stream's mu guards what follows.
	queue ring[E]
	gap   E      // comes before the queue if lost is not 0
	lost  uint64 // how many events gap counts
}

// Subscribe adds a reader, which gets the events from now on.
func (s *Stream[E]) Subscribe(o Options) *Subscription[E] {
	if o.Depth == 0 {
		o.Depth = math.MaxInt
	}
	o.Buffer = max(o.Buffer, 1)
	r := &Subscription[E]{Options: o, stream: s, ready: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.closed:
		s.readers = append(s.readers, r)
		s.readersChanged()
	case s.last != nil:
		r.put(*s.last)
	}
	return r
}

// Next waits for the next event. False means that none comes any more: see Err.
func (r *Subscription[E]) Next() (ev E, ok bool) {
	for {
		ev, ok, closed := r.take()
		if ok || closed {
			return ev, ok
		}
		<-r.ready
	}
}

// Err returns the error that the stream was closed with. It is valid after Next has returned false.
func (r *Subscription[E]) Err() error { return r.stream.err }

// Leave ends the subscription. It may be called twice.
func (r *Subscription[E]) Leave() {
	r.stream.mu.Lock()
	defer r.stream.mu.Unlock()
	r.stream.remove(r)
}

// take returns the next event that waits, if there is one.
func (r *Subscription[E]) take() (ev E, ok, closed bool) {
	r.stream.mu.Lock()
	defer r.stream.mu.Unlock()
	switch {
	case r.lost > 0:
		ev, r.lost = r.gap, 0
		return ev, true, false
	case r.queue.n > 0:
		ev = r.queue.pop()
		r.stream.roomFreed()
		return ev, true, false
	}
	return ev, false, r.stream.closed
}

func (r *Subscription[E]) takes(c Class, depth int) bool {
	return r.Classes&c != 0 && depth < r.Depth
}

// put adds an event to those that wait.
func (r *Subscription[E]) put(ev E) {
	if r.Lossy && r.queue.n >= r.Buffer {
		r.lost++
		r.gap = r.stream.cfg.Gap(r.queue.pop(), r.lost)
	}
	r.queue.push(ev)
	r.wake()
}

func (r *Subscription[E]) wake() {
	select {
	case r.ready <- struct{}{}:
	default:
	}
}

// ring is a queue that grows as needed.
type ring[E any] struct {
	events  []E
	head, n int
}

func (r *ring[E]) push(ev E) {
	if r.n == len(r.events) {
		grown := make([]E, max(8, 2*r.n))
		n := copy(grown, r.events[r.head:])
		copy(grown[n:], r.events[:r.head])
		r.events, r.head = grown, 0
	}
	r.events[(r.head+r.n)%len(r.events)] = ev
	r.n++
}

func (r *ring[E]) pop() E {
	ev := r.events[r.head]
	r.events[r.head] = *new(E)
	r.head = (r.head + 1) % len(r.events)
	r.n--
	return ev
}

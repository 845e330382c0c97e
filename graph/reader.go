package graph

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/weftrun/weft/internal/stream"
)

// Reader describes what a reader of a run receives, and what happens when it is slow. The
// zero Reader takes Updates at every depth and slows the run.
type Reader struct {
	// Modes selects its events; 0 means Updates.
	Modes Mode
	// Depth limits the depth: 1 is the graph itself, 2 also its subgraphs, and
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

// ErrReader is returned when the depth or the buffer of a Reader is negative.
var ErrReader = errors.New("graph: no such reader")

func (r Reader) check() error {
	if r.Depth < 0 || r.Buffer < 0 {
		return fmt.Errorf("%w: a depth of %d, a buffer of %d", ErrReader, r.Depth, r.Buffer)
	}
	return r.Modes.check()
}

// defaultBuffer is the Buffer of a Reader that does not say.
const defaultBuffer = 64

// subscribe adds a reader.
func (e *emitter) subscribe(r Reader) *stream.Subscription[Event] {
	return e.Subscribe(stream.Options{Classes: stream.Class(cmp.Or(r.Modes, Updates)), Depth: r.Depth,
		Buffer: cmp.Or(r.Buffer, defaultBuffer), Lossy: r.Lossy})
}

// readers returns the loop over the events of a reader that subscribes now. begin is called
// when the loop begins. A loop after the first one subscribes when it begins.
func (e *emitter) readers(r Reader, begin func()) iter.Seq2[Event, error] {
	if err := r.check(); err != nil {
		return func(yield func(Event, error) bool) { yield(Event{}, err) }
	}
	var first atomic.Pointer[stream.Subscription[Event]]
	first.Store(e.subscribe(r))
	return func(yield func(Event, error) bool) {
		s := first.Swap(nil)
		if s == nil {
			s = e.subscribe(r)
		}
		begin()
		yieldEvents(s, yield)
	}
}

// yieldEvents passes the events to the reader until the run has ended or the reader leaves, also
// by a panic.
func yieldEvents(s *stream.Subscription[Event], yield func(Event, error) bool) {
	defer s.Leave()
	seen := seenTokens{}
	for ev, ok := s.Next(); ok; ev, ok = s.Next() {
		if ev.Mode == Messages {
			seen.mark(&ev.Token)
		}
		if !yield(ev, nil) {
			return
		}
	}
	if err := s.Err(); err != nil {
		yield(Event{}, err)
	}
}

package eventlog

import (
	"context"
	"sync"
	"time"

	"github.com/weftrun/weft/graph"
)

const (
	// tokenWait is how long tokens wait for others of their batch.
	tokenWait = 50 * time.Millisecond
	// most is how many events wait for the bus.
	most = 4096
	// batchSize is how many events a batch has at most.
	batchSize = 256
)

// Writer publishes the events of a run in batches: while the bus takes one, the next is gathered,
// and tokens wait for others for 50 ms. A Writer never makes the run wait: of more than 4,096
// events that wait it drops the oldest, and counts them in Batch.Lost.
type Writer struct {
	log    Log
	thread string
	head   Batch // without events
	wake   chan struct{}
	done   chan struct{} // closed when the goroutine has returned
	stop   context.CancelFunc

	mu     sync.Mutex
	events []graph.Event
	lost   uint64
	urgent bool // something but tokens waits
	closed bool
	end    bool
	err    error // of the newest failure of the bus
}

// Writer returns a Writer for a run. attempt counts the processes that have worked on the run. The
// caller must Close it.
func (l Log) Writer(thread, run string, attempt int) *Writer {
	ctx, stop := context.WithCancel(context.Background())
	w := &Writer{log: l, thread: thread, head: Batch{Run: run, Attempt: attempt},
		wake: make(chan struct{}, 1), done: make(chan struct{}), stop: stop}
	go w.publish(ctx)
	return w
}

// Write takes an event. It does not wait for the bus.
func (w *Writer) Write(ev graph.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	if len(w.events) == most {
		w.events = w.events[1:]
		w.lost++
	}
	w.events = append(w.events, ev)
	w.urgent = w.urgent || ev.Mode != graph.Messages
	w.signal()
}

// End makes the last batch that Close publishes the last one of the run.
func (w *Writer) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end = true
}

// Close publishes what waits, and returns the newest error of the bus. It waits until ctx ends at
// most. A second call returns the same error.
func (w *Writer) Close(ctx context.Context) error {
	w.mu.Lock()
	w.closed = true
	w.signal()
	w.mu.Unlock()
	defer w.stop()
	select {
	case <-w.done:
	case <-ctx.Done():
		w.stop()
		<-w.done
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// signal wakes the goroutine. The caller holds w.mu.
func (w *Writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// publish publishes batches until the Writer is closed and nothing waits.
func (w *Writer) publish(ctx context.Context) {
	defer close(w.done)
	for {
		b, urgent, closed := w.next(false)
		switch {
		case len(b.Events) == 0 && closed:
			if b, _, _ = w.next(true); b.End || b.Lost > 0 {
				w.note(w.log.Publish(ctx, w.thread, b))
			}
			return
		case len(b.Events) == 0:
			<-w.wake
			continue
		case !urgent && !closed:
			w.gather()
		}
		b, _, _ = w.next(true)
		w.note(w.log.Publish(ctx, w.thread, b))
		if b.End || ctx.Err() != nil {
			return
		}
	}
}

// gather waits for more tokens.
func (w *Writer) gather() {
	timer := time.NewTimer(tokenWait)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return
		case <-w.wake:
		}
		if b, urgent, closed := w.next(false); urgent || closed || len(b.Events) >= batchSize {
			return
		}
	}
}

// next returns the batch that is to be published next, and removes its events if take is true.
func (w *Writer) next(take bool) (b Batch, urgent, closed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(len(w.events), batchSize)
	b = w.head
	b.Events, b.Lost = w.events[:n:n], w.lost
	b.End = w.end && w.closed && n == len(w.events)
	urgent, closed = w.urgent, w.closed
	if take {
		w.events, w.lost = w.events[n:], 0
		w.urgent = false
		for _, ev := range w.events {
			w.urgent = w.urgent || ev.Mode != graph.Messages
		}
		if b.End {
			w.end = false
		}
	}
	return b, urgent, closed
}

// note keeps the newest error of the bus.
func (w *Writer) note(err error) {
	if err == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
}

package eventlog

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

const (
	// pauseTime is how long what is written waits for others of its batch.
	pauseTime = 20 * time.Millisecond
	// publishTime bounds one call of the bus.
	publishTime = 5 * time.Second
	// lateTries is how often a Writer that is closed tries again, for all of its batches.
	lateTries = 3
	// firstWait and mostWait are the times between two tries to publish a batch.
	firstWait, mostWait = 50 * time.Millisecond, time.Second
	// mostItems and mostBytes are how much waits for the bus.
	mostItems = 16384
	mostBytes = 16 << 20
	// batchItems and batchBytes are how much a batch has: it ends with the item that reaches them.
	batchItems = 256
	batchBytes = 1 << 20
	// retryState is how often a state is tried again that was too large for the log.
	retryState = 16
)

// Writer publishes the events of a run in batches. The first is published at once; then they wait
// for others for 20 ms, and while the bus takes a batch. While the bus is away the Writer tries
// again. It never makes the run wait: of what waits it drops the oldest beyond 16,384 events or
// 16 MiB, and counts them in Batch.Lost.
type Writer struct {
	log    Log
	thread string
	head   stored        // of the newest batch, without events
	wake   chan struct{} // something waits
	full   chan struct{} // a whole batch waits, or the Writer is closed
	done   chan struct{} // closed when the goroutine has returned
	stop   context.CancelFunc
	late   int // tries that failed after the Writer was closed; of its goroutine

	mu     sync.Mutex
	items  []item
	bytes  int // of items
	lost   uint64
	closed bool
	end    bool
	err    error          // the newest failure
	large  map[string]int // by namespace: how many states more are left out since one was too large
}

// item is an event or a note.
type item struct {
	encoded
	note json.RawMessage // nil for an event
}

func (i item) size() int { return len(i.data) + len(i.note) }

// Writer returns a Writer for a run. attempt counts the processes that have worked on the run. The
// caller must Close it.
func (l Log) Writer(thread, run string, attempt int) *Writer {
	ctx, stop := context.WithCancel(context.Background())
	w := &Writer{log: l, thread: thread, head: stored{Run: run, Attempt: attempt, Writer: rand.Text()[:10]}, large: map[string]int{},
		wake: make(chan struct{}, 1), full: make(chan struct{}, 1), done: make(chan struct{}), stop: stop}
	go w.publish(ctx)
	return w
}

// Write takes an event. It does not wait for the bus. It ignores Ended, and the Missed events of a
// reader count as lost.
func (w *Writer) Write(ev graph.Event) {
	switch {
	case ev.Mode == graph.Ended:
		return
	case ev.Mode == graph.Missed:
		w.mu.Lock()
		defer w.mu.Unlock()
		w.lost += ev.Missed
		return
	case ev.State != nil && w.leavesOut(ev.Namespace):
		ev.State = nil
	}
	e, err := encode(ev)
	if err != nil {
		w.failed(fmt.Errorf("eventlog: thread %.100q: node %.100q: %w", w.thread, ev.Node, err))
		return
	}
	w.put(item{encoded: e}, ev.Namespace)
}

// leavesOut reports whether a state is left out without looking at it, since one was too large.
func (w *Writer) leavesOut(ns string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.large[ns] == 0 {
		return false
	}
	w.large[ns]--
	return true
}

// Note adds what the process that drives the run notes. It begins a batch.
func (w *Writer) Note(note json.RawMessage) { w.put(item{note: note}, "") }

// put adds an item of a namespace.
func (w *Writer) put(i item, ns string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	if i.large {
		w.large[ns] = retryState
	}
	w.items = append(w.items, i)
	w.bytes += i.size()
	for len(w.items) > mostItems || w.bytes > mostBytes && len(w.items) > 1 {
		w.drop()
	}
	signal(w.wake)
	if len(w.items) >= batchItems || w.bytes >= batchBytes {
		signal(w.full)
	}
}

// drop removes the oldest event that waits. Notes stay. The caller holds w.mu.
func (w *Writer) drop() {
	n := 0
	for n < len(w.items)-1 && w.items[n].note != nil {
		n++
	}
	w.bytes -= w.items[n].size()
	copy(w.items[1:n+1], w.items[:n])
	w.items = w.items[1:]
	w.lost++
}

// signal sends a signal, unless one waits already.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// End makes the last batch that Close publishes the last one of the run.
func (w *Writer) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end = true
}

// Close publishes what waits, and returns the newest error: of the bus, or of an event that cannot
// be JSON. It waits until ctx ends at most. A second call returns the same error.
func (w *Writer) Close(ctx context.Context) error {
	w.mu.Lock()
	w.closed = true
	signal(w.wake)
	signal(w.full)
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

// publish publishes batches until the Writer is closed and nothing waits.
func (w *Writer) publish(ctx context.Context) {
	defer close(w.done)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		<-w.wake
		for {
			b, some, left := w.next()
			if some {
				w.send(ctx, b)
			}
			if ctx.Err() != nil {
				return
			}
			if !left {
				break
			}
		}
		if w.over() {
			return
		}
		pause.Reset(pauseTime)
		select {
		case <-pause.C:
		case <-w.full:
		case <-ctx.Done():
			return
		}
	}
}

// send publishes a batch. While the bus is away it tries again, until ctx ends: the batch has a
// name, so readers get it once, and what waits meanwhile has limits. Once the Writer is closed, the
// end of the run waits for it, so a few tries are left for all batches.
func (w *Writer) send(ctx context.Context, b stored) {
	for wait := firstWait; ; wait = min(2*wait, mostWait) {
		call, cancel := context.WithTimeout(ctx, publishTime)
		err := w.log.publish(call, w.thread, b)
		timedOut := call.Err() != nil
		cancel()
		if err == nil {
			return
		}
		if w.isClosed() {
			w.late++
		}
		if !checkpoint.IsTemporary(err) && !timedOut || ctx.Err() != nil || w.late > lateTries {
			w.failed(err)
			return
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			w.failed(err)
			return
		}
	}
}

func (w *Writer) isClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

// over reports whether the Writer is closed and nothing waits.
func (w *Writer) over() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed && len(w.items) == 0 && !w.end && w.lost == 0
}

// next takes the next batch. some is false if there is nothing to publish; left is true if
// another batch is to follow at once.
func (w *Writer) next() (b stored, some, left bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.head.N++
	b = w.head
	n, size := 0, 0
	for n < len(w.items) && n < batchItems && size < batchBytes {
		i := w.items[n]
		if i.note != nil && n > 0 {
			break
		}
		if i.note != nil {
			b.Note = i.note
		} else {
			b.add(len(b.Events), i.encoded)
		}
		size += i.size()
		n++
	}
	w.items, w.bytes = w.items[n:], w.bytes-size
	b.Lost, w.lost = w.lost, 0
	if w.closed && w.end && len(w.items) == 0 {
		b.End, w.end = true, false
	}
	if len(w.items) > 0 {
		signal(w.wake)
		left = w.closed || len(w.items) >= batchItems || w.bytes >= batchBytes || w.items[0].note != nil
	}
	return b, n > 0 || b.End || b.Lost > 0, left
}

// failed keeps the newest error.
func (w *Writer) failed(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
}

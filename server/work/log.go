package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/server/wire"
)

const (
	batchTime = 20 * time.Millisecond // how long records wait for others
	batchSize = 32                    // records that do not wait
)

// Log has the events of threads, on a bus. The events of a thread are numbered from 1 by their Seq.
// One run of a thread at a time appends to its log.
type Log struct{ Bus topic.Bus }

// batch is what is published at once.
type batch struct {
	Events []wire.Event `json:"events"`
}

func topicOf(thread string) string { return "events/" + thread }

// Follow yields the events of a thread after a Seq, those that are stored and then those that are
// appended, until ctx ends. If events after it are gone it begins with a *topic.MissedError, which
// has the first Seq that is missing and their number. Any other error is the last result.
func (l Log) Follow(ctx context.Context, thread string, after uint64) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		for e, err := range l.Bus.Follow(ctx, topicOf(thread), 0) {
			var missed *topic.MissedError
			if errors.As(err, &missed) {
				continue // the Seq of the next event shows what is missing
			}
			var b batch
			if err == nil {
				err = json.Unmarshal(e.Data, &b)
			}
			if err != nil {
				yield(wire.Event{}, fmt.Errorf("work: the log of thread %.100q: %w", thread, err))
				return
			}
			for _, ev := range b.Events {
				if ev.Seq <= after {
					continue
				}
				if n := ev.Seq - after - 1; n > 0 && !yield(wire.Event{}, &topic.MissedError{Name: topicOf(thread), From: after + 1, Count: n}) {
					return
				}
				if !yield(ev, nil) {
					return
				}
				after = ev.Seq
			}
		}
	}
}

// last returns the newest batch of a thread.
func (l Log) last(ctx context.Context, thread string) (b batch, err error) {
	position, err := l.Bus.Last(ctx, topicOf(thread))
	if err != nil || position == 0 {
		return b, err
	}
	for e, err := range l.Bus.Follow(ctx, topicOf(thread), position-1) {
		var missed *topic.MissedError
		switch {
		case errors.As(err, &missed):
			continue
		case err != nil:
			return b, err
		}
		return b, json.Unmarshal(e.Data, &b)
	}
	return b, ctx.Err()
}

// writer appends the events of one attempt of a run. Records wait at most batchTime, and the first
// after a pause does not.
type writer struct {
	log    Log
	thread string
	seq    uint64
	failed func(error)

	mu      sync.Mutex
	waiting []wire.Event
	wake    chan struct{} // there are records
	full    chan struct{} // there are batchSize of them
	closed  chan struct{}
	done    chan struct{}
}

// open opens the log of a thread for a run, and returns the run's newest event in it. What the log
// cannot do is reported to failed.
func (l Log) open(ctx context.Context, thread, run string, failed func(error)) (w *writer, last wire.Event) {
	w = &writer{log: l, thread: thread, failed: failed, wake: make(chan struct{}, 1), full: make(chan struct{}, 1),
		closed: make(chan struct{}), done: make(chan struct{})}
	b, err := l.last(ctx, thread)
	if err != nil {
		failed(err)
	}
	for _, e := range b.Events {
		if w.seq = e.Seq; e.Run == run {
			last = e
		}
	}
	go w.publish(context.WithoutCancel(ctx))
	return w, last
}

// append adds records. It does not wait.
func (w *writer) append(records ...wire.Event) {
	if len(records) == 0 {
		return
	}
	w.mu.Lock()
	w.waiting = append(w.waiting, records...)
	n := len(w.waiting)
	w.mu.Unlock()
	offer(w.wake)
	if n >= batchSize {
		offer(w.full)
	}
}

// offer sends a signal, unless one waits already.
func offer(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// close appends what waits, and returns when it is in the log.
func (w *writer) close() {
	close(w.closed)
	<-w.done
}

// publish publishes records until close.
func (w *writer) publish(ctx context.Context) {
	defer close(w.done)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-w.wake:
			w.flush(ctx)
		case <-w.closed:
			w.flush(ctx)
			return
		}
		pause.Reset(batchTime)
		select {
		case <-pause.C:
		case <-w.full:
		case <-w.closed:
		}
	}
}

// flush publishes the records that wait.
func (w *writer) flush(ctx context.Context) {
	w.mu.Lock()
	b := batch{w.waiting}
	w.waiting = nil
	w.mu.Unlock()
	if len(b.Events) == 0 {
		return
	}
	for i := range b.Events {
		w.seq++
		b.Events[i].Seq = w.seq
	}
	data, err := json.Marshal(b)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		err = w.log.Bus.Publish(ctx, topicOf(w.thread), data)
	}
	if err != nil {
		w.failed(fmt.Errorf("work: %d events of thread %.100q are lost: %w", len(b.Events), w.thread, err))
	}
}

// Last returns the Seq of the newest event of a thread; 0 if there is none.
func (l Log) Last(ctx context.Context, thread string) (seq uint64, err error) {
	b, err := l.last(ctx, thread)
	for _, e := range b.Events {
		seq = e.Seq
	}
	return seq, err
}

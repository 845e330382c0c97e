package studio

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
	"github.com/weftrun/weft/internal/picture"
)

// activity is what the log of a thread has of a turn.
type activity struct {
	position uint64 // of the newest event of the log
	spans    []picture.Span
}

const (
	// logTime bounds the time for reading a log.
	logTime = 3 * time.Second
	// shortLog is how many batches are read without looking for the first that counts.
	shortLog = 16
)

// activityOf reads what the log of a thread has of the newest steps of a turn. Of the runs in it
// those of the turn count, and with busy the newest. until is the time of an older checkpoint, to
// leave out what began later, or zero. A log that cannot be read in time is shown as far as it was.
func (r *request) activityOf(t Thread, turn []graph.CommitInfo, until time.Time, busy bool) (a activity, err error) {
	last, err := r.source.Position(r.Context(), t.ID)
	if err != nil || last == 0 {
		return a, err
	}
	a.position = last
	ctx, cancel := context.WithTimeout(r.Context(), logTime)
	defer cancel()
	runs := map[string]bool{}
	for _, c := range turn {
		runs[c.Run] = true
	}
	after := uint64(0)
	if len(turn) > 0 && last > shortLog {
		steps := newestOf(turn, maxColumns+1) // a step begins with the commit before it
		after = r.logSince(ctx, t.ID, steps[len(steps)-1].Time, last)
	}
	if after == last {
		return a, nil
	}
	left := leftAt(turn)
	events, newest := map[string][]graph.Event{}, ""
	var order []string
	for b, err := range r.batches(ctx, t.ID, after) {
		if err != nil || b.Position > last {
			break
		}
		if b.Run != "" {
			if newest = b.Run; !slices.Contains(order, b.Run) {
				order = append(order, b.Run)
			}
			events[b.Run] = append(events[b.Run], b.Events...)
		}
		if b.Position >= last || !until.IsZero() && lastTime(b).After(until) {
			break
		}
	}
	var all []graph.Event
	for _, run := range order {
		if runs[run] || busy && run == newest {
			last, ends := left[run]
			all = append(all, slices.DeleteFunc(events[run], func(e graph.Event) bool { return ends && e.Step > last })...)
		}
	}
	a.spans = picture.Spans(all)
	if !until.IsZero() {
		a.spans = slices.DeleteFunc(a.spans, func(s picture.Span) bool { return !s.Start.Before(until) })
	}
	return a, r.Context().Err()
}

// leftAt returns the last step of each run whose later steps are on another branch than a turn, the
// newest commit first.
func leftAt(turn []graph.CommitInfo) map[string]int {
	left := map[string]int{}
	for i, c := range turn[:max(0, len(turn)-1)] {
		if from := turn[i+1]; c.Parent != 0 && c.Parent == from.Checkpoint {
			left[from.Run] = from.Step
		}
	}
	return left
}

// batches yields the batches of a log after a position, empty ones for those that cannot be read.
func (r *request) batches(ctx context.Context, thread string, after uint64) iter.Seq2[eventlog.Batch, error] {
	return func(yield func(eventlog.Batch, error) bool) {
		for b, err := range r.source.Events(ctx, thread, after) {
			var missed *topic.MissedError
			if errors.As(err, &missed) {
				continue
			}
			if errors.Is(err, eventlog.ErrBatch) {
				b, err = eventlog.Batch{Position: b.Position}, nil
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// logSince returns a position in a log: what comes before it has happened before a time.
func (r *request) logSince(ctx context.Context, thread string, since time.Time, last uint64) uint64 {
	low, high := uint64(0), last
	for low < high && ctx.Err() == nil {
		middle := low + (high-low)/2
		earlier := uint64(0) // the position of a batch that was
		for b, err := range r.batches(ctx, thread, middle) {
			if err != nil {
				break
			}
			at := lastTime(b)
			if !at.IsZero() && at.Before(since) {
				earlier = b.Position
			}
			if !at.IsZero() || b.Position >= high { // the next batch may never come
				break
			}
		}
		if earlier > 0 {
			low = earlier
		} else {
			high = middle
		}
	}
	return low
}

// lastTime returns the time of the last event of a batch that has one.
func lastTime(b eventlog.Batch) (at time.Time) {
	for _, e := range slices.Backward(b.Events) {
		if !e.Time.IsZero() {
			return e.Time
		}
	}
	return at
}

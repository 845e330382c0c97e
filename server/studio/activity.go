package studio

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
	"github.com/weftrun/weft/internal/picture"
)

// activity is what the log of a thread has of its newest turn.
type activity struct {
	position uint64 // of the newest event that was read
	spans    []picture.Span
}

// logTime bounds the time for reading a log.
const logTime = 3 * time.Second

// activityOf reads the log of a thread up to its newest event. Of the runs in it those of the turn
// count, and with busy the newest. A log that cannot be read in time is shown as far as it was.
func (r *request) activityOf(t Thread, turn []graph.CommitInfo, busy bool) (a activity, err error) {
	last, err := r.source.Position(r.Context(), t.ID)
	if err != nil || last == 0 {
		return a, err
	}
	a.position = last
	runs := map[string]bool{}
	for _, c := range turn {
		runs[c.Run] = true
	}
	ctx, cancel := context.WithTimeout(r.Context(), logTime)
	defer cancel()
	events, newest := map[string][]graph.Event{}, ""
	var order []string
	for b, err := range r.source.Events(ctx, t.ID, 0) {
		var missed *topic.MissedError
		if errors.As(err, &missed) || errors.Is(err, eventlog.ErrBatch) {
			continue
		}
		if err != nil {
			break
		}
		if newest = b.Run; !slices.Contains(order, b.Run) {
			order = append(order, b.Run)
		}
		events[b.Run] = append(events[b.Run], b.Events...)
		if b.Position >= last {
			break
		}
	}
	var all []graph.Event
	for _, run := range order {
		if runs[run] || busy && run == newest {
			all = append(all, events[run]...)
		}
	}
	a.spans = picture.Spans(all)
	return a, r.Context().Err()
}

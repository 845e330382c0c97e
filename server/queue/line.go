package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/server/wire"
)

// The Orders of the documents of lines: those that wait come first, by the time at which they are
// due, then those with a running run.
const (
	waiting = "p"
	running = "r"
)

// next returns the entry to do next: one with an order, or the first that is due.
func (l *line) next(now time.Time) (e entry, ok bool) {
	for _, e := range l.Entries {
		if e.Order != None || !e.Due.After(now) {
			return e, true
		}
	}
	return entry{}, false
}

// order returns the Order of the document.
func (l *line) order(now time.Time) string {
	if l.Running != "" {
		return running + document.AtTime(now)
	}
	var first time.Time
	for i, e := range l.Entries {
		at := e.Due.Time
		if e.Order != None || at.Before(e.Added.Time) {
			at = e.Added.Time
		}
		if i == 0 || at.Before(first) {
			first = at
		}
	}
	return waiting + document.AtTime(first)
}

func decodeLine(d document.Doc) (l line, err error) {
	if err = json.Unmarshal(d.Value, &l); err != nil {
		err = fmt.Errorf("queue: line of thread %s: %w", d.ID, err)
	}
	return l, err
}

// change changes the line of a thread, which is empty if there is none, and begins again if another
// process was first. An error of change leaves the line as it is.
func (q *Queue) change(ctx context.Context, thread string, change func(l *line) error) (line, error) {
	for {
		var l line
		var version uint64
		d, err := q.docs.Get(ctx, q.lines, thread)
		switch {
		case err == nil:
			version = d.Version
			l, err = decodeLine(d)
		case errors.Is(err, document.ErrNotFound):
			err = nil
		}
		if err == nil {
			err = change(&l)
		}
		if err == nil {
			err = q.store(ctx, thread, l, version)
		}
		if !errors.Is(err, document.ErrConflict) {
			return l, err
		}
	}
}

// store stores a line, or removes it if it is empty.
func (q *Queue) store(ctx context.Context, thread string, l line, version uint64) error {
	if len(l.Entries) == 0 && version == 0 {
		return nil
	}
	c := document.Change{ID: thread, If: &version}
	if len(l.Entries) > 0 {
		value, err := json.Marshal(l)
		if err != nil {
			return err
		}
		c.Value, c.Order = value, l.order(q.now())
	}
	_, err := q.docs.Batch(ctx, q.lines, []document.Change{c})
	return err
}

// remove removes a run from its line.
func (q *Queue) remove(ctx context.Context, thread, id string) error {
	_, err := q.change(ctx, thread, func(l *line) error {
		l.Entries = slices.DeleteFunc(l.Entries, func(e entry) bool { return e.ID == id })
		if l.Running == id {
			l.Running = ""
		}
		return nil
	})
	return err
}

// settle ends the runs of a line that have an order and no claim.
func (q *Queue) settle(ctx context.Context, thread string, l line) error {
	for _, e := range l.Entries {
		if e.Order == None || e.ID == l.Running {
			continue
		}
		if err := q.end(ctx, thread, e); err != nil {
			return err
		}
	}
	return nil
}

// end ends a run that has an order and no claim. It may be repeated.
func (q *Queue) end(ctx context.Context, thread string, e entry) (err error) {
	if e.Order == Rollback {
		err = q.docs.Delete(ctx, q.runs(thread), e.ID)
	} else {
		_, err = q.Update(ctx, thread, e.ID, func(r *Run) error {
			if !r.Status.Final() {
				r.Status, r.Ended = wire.RunInterrupted, wire.At(q.now())
			}
			return nil
		})
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	return q.remove(ctx, thread, e.ID)
}

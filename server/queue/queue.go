package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/server/wire"
)

// Queue is the queue of the processes that share a store. It is safe for concurrent use.
type Queue struct {
	// Lease is how long a thread stays claimed after its process has ended; 0 means 1.5 seconds.
	// Attempts is how often a run is claimed before it fails; 0 means 3. Owner names this process
	// to others. Now is the clock; nil means time.Now. All must be set before the first use.
	Lease    time.Duration
	Attempts int
	Owner    string
	Now      func() time.Time

	commits checkpoint.Store
	docs    document.Store
	lines   document.Place
}

// New returns the queue of a store. Its runs and lines are documents.
func New(store checkpoint.Store, docs document.Store) *Queue {
	return &Queue{commits: store, docs: docs, lines: document.At("weft.lines", "all")}
}

func (q *Queue) now() time.Time {
	if q.Now != nil {
		return q.Now()
	}
	return time.Now()
}

func (q *Queue) lease() time.Duration {
	if q.Lease > 0 {
		return q.Lease
	}
	return 1500 * time.Millisecond
}

func (q *Queue) attempts() int {
	if q.Attempts > 0 {
		return q.Attempts
	}
	return 3
}

// runs is the place of the runs of a thread, in the order of their creation.
func (q *Queue) runs(thread string) document.Place { return document.At("weft.runs", thread) }

// Created is what Create did.
type Created struct {
	Run Run
	// Cancelled are the unfinished runs that the new one cancels. One of them may be running; the
	// new run begins when it has stopped.
	Cancelled []string
}

// Create stores a new run and puts it into the line of its thread. While the thread has unfinished
// runs, rule decides: reject returns ErrBusy, enqueue puts the run behind them, interrupt and
// rollback cancel them.
func (q *Queue) Create(ctx context.Context, r Run, rule wire.MultitaskStrategy) (Created, error) {
	now := q.now()
	r.Status, r.CreatedAt, r.UpdatedAt, r.MultitaskStrategy = wire.RunPending, wire.At(now), wire.At(now), rule
	created := Created{Run: r}
	order, cancels := map[wire.MultitaskStrategy]Order{wire.MultitaskInterrupt: Interrupt, wire.MultitaskRollback: Rollback}[rule]
	l, err := q.change(ctx, r.ThreadID, func(l *line) error {
		created.Cancelled = nil
		if l.find(r.RunID) >= 0 {
			return fmt.Errorf("%w: %s", ErrExists, r.RunID)
		}
		if rule == wire.MultitaskReject && len(l.Entries) > 0 {
			return fmt.Errorf("%w: %s", ErrBusy, r.ThreadID)
		}
		for i := range l.Entries {
			if cancels {
				l.Entries[i].Order = order
				created.Cancelled = append(created.Cancelled, l.Entries[i].ID)
			}
		}
		l.Entries = append(l.Entries, entry{ID: r.RunID, Due: r.Due, Added: wire.At(now)})
		return nil
	})
	if err != nil {
		return created, err
	}
	// A process that ends here leaves an entry without a run. Claim removes it.
	value, err := json.Marshal(r)
	if err != nil {
		return created, errors.Join(err, q.remove(ctx, r.ThreadID, r.RunID))
	}
	_, err = q.docs.Set(ctx, q.runs(r.ThreadID), document.Change{
		ID: r.RunID, Value: value, Order: document.AtTime(now), If: new(uint64(0)),
	})
	switch {
	case errors.Is(err, document.ErrConflict):
		return created, errors.Join(fmt.Errorf("%w: %s", ErrExists, r.RunID), q.remove(ctx, r.ThreadID, r.RunID))
	case err != nil:
		return created, errors.Join(err, q.remove(context.WithoutCancel(ctx), r.ThreadID, r.RunID))
	}
	return created, q.settle(ctx, r.ThreadID, l)
}

func decodeRun(d document.Doc) (r Run, err error) {
	if err = json.Unmarshal(d.Value, &r); err != nil {
		err = fmt.Errorf("queue: run %s: %w", d.ID, err)
	}
	return r, err
}

// Get returns a run, or ErrNotFound.
func (q *Queue) Get(ctx context.Context, thread, id string) (Run, error) {
	d, err := q.docs.Get(ctx, q.runs(thread), id)
	if errors.Is(err, document.ErrNotFound) {
		return Run{}, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	if err != nil {
		return Run{}, err
	}
	return decodeRun(d)
}

// List returns the runs of a thread, newest first.
func (q *Queue) List(ctx context.Context, thread string) ([]Run, error) {
	docs, err := q.docs.Query(ctx, document.Query{Place: q.runs(thread), Reverse: true})
	if err != nil {
		return nil, err
	}
	list := make([]Run, len(docs))
	for i, d := range docs {
		if list[i], err = decodeRun(d); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Update changes the document of a run, and begins again if another process was first. An error of
// change leaves the run as it is.
func (q *Queue) Update(ctx context.Context, thread, id string, change func(r *Run) error) (Run, error) {
	for {
		d, err := q.docs.Get(ctx, q.runs(thread), id)
		if errors.Is(err, document.ErrNotFound) {
			return Run{}, fmt.Errorf("%w: %s", ErrNotFound, id)
		}
		if err != nil {
			return Run{}, err
		}
		r, err := decodeRun(d)
		if err == nil {
			err = change(&r)
		}
		if err != nil {
			return r, err
		}
		r.UpdatedAt = wire.At(q.now())
		value, err := json.Marshal(r)
		if err != nil {
			return r, err
		}
		_, err = q.docs.Set(ctx, q.runs(thread), document.Change{ID: id, Value: value, Order: d.Order, If: &d.Version})
		if !errors.Is(err, document.ErrConflict) {
			return r, err
		}
	}
}

// Unfinished returns the ids of the unfinished runs of a thread, in their order, and which of them
// runs.
func (q *Queue) Unfinished(ctx context.Context, thread string) (ids []string, running string, err error) {
	d, err := q.docs.Get(ctx, q.lines, thread)
	if errors.Is(err, document.ErrNotFound) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	l, err := decodeLine(d)
	for _, e := range l.Entries {
		ids = append(ids, e.ID)
	}
	return ids, l.Running, err
}

// Cancel gives an order to an unfinished run. A pending run ends at once; active is true if the run
// is running, and its worker follows the order. A run that has ended is left as it is.
func (q *Queue) Cancel(ctx context.Context, thread, id string, order Order) (active bool, err error) {
	var e entry
	_, err = q.change(ctx, thread, func(l *line) error {
		active, e = false, entry{}
		if i := l.find(id); i >= 0 {
			if l.Entries[i].Order != Rollback {
				l.Entries[i].Order = order
			}
			e, active = l.Entries[i], l.Running == id
		}
		return nil
	})
	if err != nil || e.ID == "" || active {
		return active, err
	}
	return false, q.end(ctx, thread, e)
}

// OrderOf returns the order that a run was given.
func (q *Queue) OrderOf(ctx context.Context, thread, id string) (Order, error) {
	d, err := q.docs.Get(ctx, q.lines, thread)
	if errors.Is(err, document.ErrNotFound) {
		return None, nil
	}
	if err != nil {
		return None, err
	}
	l, err := decodeLine(d)
	if i := l.find(id); err == nil && i >= 0 {
		return l.Entries[i].Order, nil
	}
	return None, err
}

// Delete removes a run that is not running, or returns ErrActive. A missing run is no error.
func (q *Queue) Delete(ctx context.Context, thread, id string) error {
	_, err := q.change(ctx, thread, func(l *line) error {
		if l.Running == id {
			return fmt.Errorf("%w: %s", ErrActive, id)
		}
		l.Entries = slices.DeleteFunc(l.Entries, func(e entry) bool { return e.ID == id })
		return nil
	})
	if err != nil {
		return err
	}
	return q.docs.Delete(ctx, q.runs(thread), id)
}

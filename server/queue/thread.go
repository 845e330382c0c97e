package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
)

// thread is the line of a thread, with changes that are stored together.
type thread struct {
	queue   *Queue
	id      string
	place   document.Place
	line    line
	version uint64 // of the line's document
	now     time.Time
	seen    bool // a worker looks at the thread already: a run is claimed, or due
	later   bool // a worker has to look at the thread at look, which may be later than before
	look    turn
	looked  *document.Doc // what is stored of when to look; nil if that is not known
	stored  bool          // line and version are what is stored
	changes []document.Change
	ended   []Run // those that no worker ends
	busy    bool  // a run was running when they ended
}

// errUnchanged ends a change that has nothing to store.
var errUnchanged = errors.New("queue: unchanged")

// thread returns a thread whose line was not read.
func (q *Queue) thread(id string) *thread {
	return &thread{queue: q, id: id, place: document.At(runsOf, id), now: q.config.Now().UTC()}
}

// open reads the line of a thread.
func (q *Queue) open(ctx context.Context, id string) (*thread, error) {
	t := q.thread(id)
	d, err := q.config.Documents.Get(ctx, t.place, lineID)
	if errors.Is(err, document.ErrNotFound) {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal(d.Value, &t.line); err != nil {
		return t, fmt.Errorf("queue: the line of thread %.100q: %w", id, err)
	}
	t.version = d.Version
	return t, nil
}

// change changes the line of a thread and its runs, in one batch, and begins again if another
// writer was first. An errUnchanged of do stores nothing and is no error.
func (q *Queue) change(ctx context.Context, id string, do func(t *thread) error) error {
	return q.changeFrom(ctx, nil, id, do)
}

// changeFrom is change for a thread that was read before. nil means that it was not.
func (q *Queue) changeFrom(ctx context.Context, t *thread, id string, do func(t *thread) error) (err error) {
	for {
		if t == nil {
			if t, err = q.open(ctx, id); err != nil {
				return err
			}
		}
		t.seen = t.line.next(t.now) >= 0
		if err := do(t); errors.Is(err, errUnchanged) {
			return nil
		} else if err != nil {
			return err
		}
		var moved *document.ConflictError
		if err = t.store(ctx); errors.As(err, &moved) && moved.ID == lineID {
			t = nil
			continue
		}
		if err == nil {
			t.report(ctx)
		}
		return err
	}
}

// report announces that the thread has changed, and calls Config.Ended for runs that have ended.
func (t *thread) report(ctx context.Context) {
	t.queue.announce(t.id)
	for i := 0; i < len(t.ended) && t.queue.config.Ended != nil; i++ {
		t.queue.config.Ended(ctx, t.ended[i], !t.busy)
	}
}

// store stores the changes. When to look at the thread is stored first where it becomes earlier,
// and else after the batch, if nothing has changed it since before the batch. So a process that
// dies in between, or a writer that was faster, leaves a look too many, and never a run without
// one.
func (t *thread) store(ctx context.Context) error {
	docs := t.queue.config.Documents
	var err error
	switch {
	case t.later || len(t.line.Runs) == 0:
		if t.looked == nil {
			t.looked, err = t.storedLook(ctx)
		}
	case !t.seen:
		_, err = docs.Set(ctx, looks, document.Change{ID: t.id, Value: emptyObject, Order: turn{at: t.line.wake(t.now)}.order()})
	}
	if err != nil {
		return err
	}
	data, err := json.Marshal(t.line)
	if err != nil {
		return err
	}
	batch := append(t.changes, document.Change{ID: lineID, Value: data, If: &t.version})
	stored, err := docs.Batch(ctx, t.place, batch)
	if err != nil {
		return err
	}
	// A batch that is repeated, because its reply was lost, returns the line of a later writer.
	if d := stored[len(stored)-1]; bytes.Equal(d.Value, data) {
		t.version, t.stored = d.Version, true
	}
	if t.later || len(t.line.Runs) == 0 {
		_ = t.lookLater(ctx) // the change is stored: without this a worker looks too early
	}
	return nil
}

var emptyObject = json.RawMessage("{}")

// again returns the thread as it was stored, to change it again; nil if that is not known.
func (t *thread) again() *thread {
	if !t.stored {
		return nil
	}
	next := t.queue.thread(t.id)
	next.line, next.version = t.line, t.version
	next.line.Runs = slices.Clone(t.line.Runs)
	return next
}

// storedLook reads the document that has when to look at the thread; the zero Doc for none.
func (t *thread) storedLook(ctx context.Context) (*document.Doc, error) {
	d, err := t.queue.config.Documents.Get(ctx, looks, t.id)
	if errors.Is(err, document.ErrNotFound) {
		err = nil
	}
	return &d, err
}

// lookLater stores when to look at the thread again, in place of the document that was there before
// the batch. If another writer has changed it, the earlier time stays.
func (t *thread) lookLater(ctx context.Context) error {
	c := document.Change{ID: t.id, If: &t.looked.Version}
	if len(t.line.Runs) > 0 {
		c.Value, c.Order = emptyObject, t.look.order()
	}
	for {
		stored, err := t.queue.config.Documents.Batch(ctx, looks, []document.Change{c})
		if err == nil {
			t.looked = &stored[0]
			return nil
		}
		t.looked = nil
		if !errors.Is(err, document.ErrConflict) {
			return err
		}
		before, err := t.storedLook(ctx)
		if err != nil || c.Value == nil {
			return err
		}
		if due, ok := turnOf(*before); ok && !due.at.After(t.look.at) {
			return nil
		}
		c.If = &before.Version
	}
}

// lookAgain stores when to look at a thread again, unless that has changed meanwhile.
func (q *Queue) lookAgain(ctx context.Context, look document.Doc, next turn) error {
	c := document.Change{ID: look.ID, If: &look.Version, Value: emptyObject, Order: next.order()}
	if _, err := q.config.Documents.Set(ctx, looks, c); !errors.Is(err, document.ErrConflict) {
		return err
	}
	return nil
}

// get returns a run of the thread.
func (t *thread) get(ctx context.Context, id string) (Run, error) { return t.queue.Get(ctx, t.id, id) }

// set stores a run.
func (t *thread) set(r Run) {
	r.Updated = t.now
	data, err := json.Marshal(r)
	if err != nil {
		data, _ = json.Marshal(Run{ID: r.ID, Thread: r.Thread, Status: Failed, Error: &Failure{"Error", err.Error()}})
	}
	t.put(document.Change{ID: r.ID, Value: data, Order: document.AtTime(r.Created)})
}

// put adds a change, in place of an earlier one of the same document.
func (t *thread) put(c document.Change) {
	t.changes = slices.DeleteFunc(t.changes, func(o document.Change) bool { return o.ID == c.ID })
	t.changes = append(t.changes, c)
}

// changed returns a run as the changes leave it.
func (t *thread) changed(id string, r Run) Run {
	for _, c := range t.changes {
		if c.ID == id && c.Value != nil {
			_ = json.Unmarshal(c.Value, &r) // it was just encoded
		} else if c.ID == id {
			r.Status = Interrupted
		}
	}
	return r
}

// leave takes a run out of the line.
func (t *thread) leave(id string) {
	t.line.Runs = slices.DeleteFunc(t.line.Runs, func(e entry) bool { return e.ID == id })
}

// remove takes a run out of the line and removes its document.
func (t *thread) remove(id string) {
	t.leave(id)
	t.put(document.Change{ID: id})
}

// cancel cancels an unfinished run: a pending one ends, a running one is to be ended by its worker.
// To undo is more than to stop.
func (t *thread) cancel(ctx context.Context, id string, a Action) error {
	i := t.line.find(id)
	switch {
	case i < 0:
		return notFound(t.id, id)
	case t.line.Runs[i].Fence != "":
		if t.line.Runs[i].Action != Undo {
			t.line.Runs[i].Action = a
		}
		return nil
	}
	r, err := t.get(ctx, id)
	if err != nil {
		return err
	}
	r.Status, r.Ended = Interrupted, t.now
	t.ended, t.busy = append(t.ended, r), t.line.running()
	if a == Undo {
		t.remove(id)
		return nil
	}
	t.leave(id)
	t.set(r)
	return nil
}

package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/validtext"
)

// Board stores tasks. It is safe for concurrent use by many processes on one store.
type Board struct {
	// Collection is the collection of the tasks; "" means "tasks". Now is the clock; nil means
	// time.Now. All fields must be set before the first use.
	Collection string
	Now        func() time.Time
	// Watch is how often a task is read while a worker of this process runs it. The context of the
	// worker ends when another process ended the task. 0 means 2 seconds, and negative never.
	Watch time.Duration

	docs    document.Store
	mu      sync.Mutex
	running map[string]*context.CancelCauseFunc // workers of this process, by the task's id
}

// NewBoard returns a board for the tasks in a store.
func NewBoard(docs document.Store) *Board {
	return &Board{docs: docs, running: map[string]*context.CancelCauseFunc{}}
}

func (b *Board) place() document.Place { return document.At(cmp.Or(b.Collection, "tasks"), "all") }

func (b *Board) now() time.Time {
	if b.Now != nil {
		return b.Now().UTC()
	}
	return time.Now().UTC()
}

// Create stores a new task as pending. It returns ErrExists if the id exists.
func (b *Board) Create(ctx context.Context, t Task) (Task, error) {
	if err := t.check(); err != nil {
		return Task{}, err
	}
	t.Status, t.Created = Pending, b.now()
	t.Updated = t.Created
	err := b.put(ctx, t, 0)
	if errors.Is(err, document.ErrConflict) {
		return Task{}, fmt.Errorf("%w: %.200q", ErrExists, t.ID)
	}
	return t, err
}

func (b *Board) put(ctx context.Context, t Task, version uint64) error {
	value, err := validtext.Marshal(stored{t, t.claim})
	if err != nil {
		return fmt.Errorf("%w: %.200q: %w", ErrTask, t.ID, err)
	}
	_, err = b.docs.Set(ctx, b.place(), document.Change{ID: t.ID, Value: value, Order: document.AtTime(t.Created), If: &version})
	return err
}

// Get returns a task, or ErrNotFound.
func (b *Board) Get(ctx context.Context, id string) (Task, error) {
	t, _, err := b.get(ctx, id)
	return t, err
}

func (b *Board) get(ctx context.Context, id string) (t Task, version uint64, err error) {
	d, err := b.docs.Get(ctx, b.place(), id)
	if errors.Is(err, document.ErrNotFound) {
		err = fmt.Errorf("%w: %.200q", ErrNotFound, id)
	}
	if err == nil {
		err = t.decode(d.Value)
	}
	return t, d.Version, err
}

// Delete removes a task, whatever its status, or returns ErrNotFound.
func (b *Board) Delete(ctx context.Context, id string) error {
	for {
		_, version, err := b.get(ctx, id)
		if err != nil {
			return err
		}
		_, err = b.docs.Batch(ctx, b.place(), []document.Change{{ID: id, If: &version}})
		if !errors.Is(err, document.ErrConflict) {
			return err
		}
	}
}

// Query selects tasks. An empty field selects all.
type Query struct {
	Thread, Source, Target string
	Status                 []Status
	Skip                   int
	Limit                  *int // nil for all, 0 for none
}

// List returns the tasks that q selects, newest first.
func (b *Board) List(ctx context.Context, q Query) ([]Task, error) {
	var where document.Filter
	for path, v := range map[string]string{"thread": q.Thread, "source": q.Source, "target": q.Target} {
		if v != "" {
			where = append(where, document.Condition{Path: path, Value: v})
		}
	}
	if len(q.Status) > 0 {
		where = append(where, document.Condition{Path: "status", Op: document.In, Value: q.Status})
	}
	docs, err := b.docs.Query(ctx, document.Query{Place: b.place(), Where: where, Reverse: true, Skip: q.Skip, Limit: q.Limit})
	if err != nil {
		return nil, err
	}
	list := make([]Task, len(docs))
	for i, d := range docs {
		if err := list[i].decode(d.Value); err != nil {
			return nil, fmt.Errorf("%w: %.200q: %w", ErrTask, d.ID, err)
		}
	}
	return list, nil
}

// change changes a task, and retries after a conflict.
func (b *Board) change(ctx context.Context, id string, f func(t *Task) error) (Task, error) {
	for {
		t, version, err := b.get(ctx, id)
		if err != nil {
			return Task{}, err
		}
		if err := f(&t); err != nil {
			return t, err
		}
		t.Updated = b.now()
		if err = b.put(ctx, t, version); !errors.Is(err, document.ErrConflict) {
			return t, err
		}
	}
}

// Cancel ends a task that has not ended. The context of its worker ends at once in this process,
// and within Board.Watch in another one. The worker cannot change the task any more.
func (b *Board) Cancel(ctx context.Context, id, reason string) (Task, error) {
	t, err := b.end(ctx, id, Cancelled, reason)
	if err == nil {
		b.stop(id)
	}
	return t, err
}

// Complete ends a waiting or reviewed task with a result, without its worker.
func (b *Board) Complete(ctx context.Context, id string, result json.RawMessage) (Task, error) {
	return b.change(ctx, id, func(t *Task) error {
		if t.Status == InProgress {
			return &TransitionError{t.ID, t.Status, Completed} // its worker completes it
		}
		t.Result = result
		return t.move(Completed, b.now())
	})
}

func (b *Board) end(ctx context.Context, id string, to Status, reason string) (Task, error) {
	return b.change(ctx, id, func(t *Task) error {
		t.Reason = reason
		return t.move(to, b.now())
	})
}

// Expire fails the tasks whose deadline has passed, and returns them. Their workers hang, or ended
// with their processes. Any process should call it from time to time.
func (b *Board) Expire(ctx context.Context) (expired []Task, err error) {
	list, err := b.List(ctx, Query{Status: []Status{InProgress}})
	for i := 0; i < len(list) && err == nil; i++ {
		var t Task
		if t, err = b.overdue(ctx, list[i]); err == nil && t.Status == Failed {
			expired = append(expired, t)
		}
		if errors.Is(err, ErrTransition) || errors.Is(err, ErrNotFound) {
			err = nil // another process changed the task first
		}
	}
	return expired, err
}

// overdue fails a task whose deadline has passed, and returns it. It returns another task
// unchanged, and an ErrTransition if the task changed meanwhile.
func (b *Board) overdue(ctx context.Context, late Task) (Task, error) {
	if late.Status != InProgress || late.Deadline.IsZero() || late.Deadline.After(b.now()) {
		return late, nil
	}
	var sent Task
	fail := func(ctx context.Context) (Task, error) {
		return b.change(ctx, late.ID, func(t *Task) error {
			if t.Status == Failed && t.sameClaim(late) && t.Ended.Equal(sent.Ended) {
				return nil // it is stored, and the reply was lost
			}
			if !late.sameWork(*t) {
				return &TransitionError{t.ID, t.Status, Failed}
			}
			t.Reason = "the deadline has passed"
			err := t.move(Failed, b.now())
			sent = *t
			return err
		})
	}
	t, err := fail(ctx)
	if errors.Is(err, checkpoint.ErrUnknownOutcome) { // no later call returns a task that has failed
		t, err = again(func() (Task, error) { return fail(context.WithoutCancel(ctx)) })
	}
	if err == nil {
		b.stop(t.ID)
	}
	return t, err
}

// stop ends the context of the worker in this process, if there is one.
func (b *Board) stop(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if cancel := b.running[id]; cancel != nil {
		(*cancel)(errStopped)
	}
}

package tasks

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftrun/weft/checkpoint/document"
)

// attempt does an attempt at a task of another board, or tells how it ended. This board has one
// record of the task's id: of the newest attempt that was asked for.
func (b *Board) attempt(ctx context.Context, t Task, w Worker) (out Outcome, err error) {
	t.Attempt = max(t.Attempt, 1)
	now, err := b.take(ctx, t)
	if err == nil && now.Status == Pending {
		now, err = b.Run(ctx, t.ID, WorkerFunc(func(ctx context.Context, _ Task) (Outcome, error) { return w.Do(ctx, t) }))
		if errors.Is(err, ErrTransition) { // another request began it, or it was ended under its worker
			now, err = b.Get(ctx, t.ID)
		}
	}
	switch {
	case err != nil:
		return out, err
	case now.asked() > t.Attempt:
		return out, fmt.Errorf("%w: %.200q: attempt %d, not %d", ErrStale, t.ID, now.asked(), t.Attempt)
	case now.Status == InProgress || now.Status == Pending:
		if now, err = b.overdue(ctx, now); errors.Is(err, ErrTransition) {
			return out, errUnderWay // it has just moved on: who asks again hears where to
		} else if err != nil {
			return out, err
		}
	}
	switch now.Status {
	case InProgress, Pending:
		return out, errUnderWay
	case Cancelled:
		return Outcome{Status: Failed, Reason: "cancelled by the worker's side: " + now.Reason}, nil
	}
	return Outcome{Status: now.Status, Result: now.Result, Question: now.Question, Reason: now.Reason}, nil
}

// asked returns the attempt that a record is of.
func (t Task) asked() int {
	if t.Status == Pending {
		return t.Attempt + 1
	}
	return t.Attempt
}

// take returns the record of an attempt. A new one is pending, and ends what there was of an
// older attempt.
func (b *Board) take(ctx context.Context, t Task) (Task, error) {
	mine := Task{ID: t.ID, Thread: t.Thread, Type: t.Type, Source: t.Source, Target: t.Target, Priority: t.Priority, Tags: t.Tags, Timeout: t.Timeout}
	if err := mine.check(); err != nil {
		return Task{}, err
	}
	mine.Status, mine.Attempt = Pending, t.Attempt-1
	return b.replace(ctx, mine)
}

// replace puts a record in the place of one of an older attempt, and returns the one that
// then is there: that of the same attempt or of a newer one stays.
func (b *Board) replace(ctx context.Context, mine Task) (Task, error) {
	for {
		now, version, err := b.get(ctx, mine.ID)
		if err != nil && !errors.Is(err, ErrNotFound) || err == nil && now.asked() >= mine.asked() {
			return now, err
		}
		mine.Created = b.now()
		mine.Updated = mine.Created
		if mine.Status.Ended() {
			mine.Ended = mine.Created
		}
		if err = b.put(ctx, mine, version); !errors.Is(err, document.ErrConflict) {
			if err == nil {
				b.stop(mine.ID)
			}
			return mine, err
		}
	}
}

// withdraw cancels an attempt, 0 for the newest. One that was not asked for yet is cancelled
// before: its request may still be on its way. To withdraw twice is to withdraw once.
func (b *Board) withdraw(ctx context.Context, id string, attempt int, reason string) (Task, error) {
	if attempt > 0 {
		t, err := b.replace(ctx, Task{ID: id, Status: Cancelled, Attempt: attempt, Reason: reason})
		if err != nil {
			return t, err
		}
		if t.asked() > attempt {
			return t, fmt.Errorf("%w: %.200q: attempt %d, not %d", ErrStale, id, t.asked(), attempt)
		}
	}
	t, err := b.change(ctx, id, func(t *Task) error {
		if attempt > 0 && t.asked() != attempt {
			return fmt.Errorf("%w: %.200q: attempt %d, not %d", ErrStale, id, t.asked(), attempt)
		}
		t.Reason = reason
		return t.move(Cancelled, b.now())
	})
	switch {
	case err == nil:
		b.stop(id)
	case errors.Is(err, ErrTransition):
		if now, err := b.Get(ctx, id); err == nil && now.Status == Cancelled {
			return now, nil
		}
	}
	return t, err
}

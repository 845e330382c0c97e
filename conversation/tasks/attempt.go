package tasks

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

// longestAway is for how long a call of the store is repeated while an attempt depends on it: a
// failover takes less, and a caller that stops does not wait for minutes.
const longestAway = 30 * time.Second

// Between two calls is a wait, which doubles each time.
const (
	firstWait   = 50 * time.Millisecond
	longestWait = 2 * time.Second
)

// again calls the store, and repeats the call while its failure is temporary.
func again(call func() (Task, error)) (Task, error) {
	until := time.Now().Add(longestAway)
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		t, err := call()
		if !checkpoint.IsTemporary(err) || time.Now().Add(wait).After(until) {
			return t, err
		}
		time.Sleep(wait)
	}
}

// sameWork reports whether the attempt that began with t is still the current one. A task that was
// deleted and created again with the same id differs by its times.
func (t Task) sameWork(now Task) bool {
	return now.Status == InProgress && now.sameClaim(t) && now.Created.Equal(t.Created) && now.Started.Equal(t.Started)
}

// sameClaim reports whether an attempt is the last one of both tasks.
func (t Task) sameClaim(as Task) bool { return t.claim == as.claim && t.Attempt == as.Attempt }

// begin begins an attempt, if may allows it, and returns the task before and after. If the reply of
// the store is lost, begin writes again, or undoes the attempt if it cannot.
func (b *Board) begin(ctx context.Context, id string, may func(*Task) error) (before, t Task, err error) {
	claim, sent := rand.Text(), Task{}
	write := func(ctx context.Context) (Task, error) {
		return b.change(ctx, id, func(t *Task) error {
			if t.Status == InProgress && t.claim == claim {
				return nil // it has begun, and the reply was lost
			}
			before = *t
			if err := may(t); err != nil {
				return err
			}
			if err := t.move(InProgress, b.now()); err != nil {
				return err
			}
			t.claim = claim
			sent = *t
			return nil
		})
	}
	t, err = write(ctx)
	unknown := errors.Is(err, checkpoint.ErrUnknownOutcome)
	if unknown && ctx.Err() == nil {
		t, err = again(func() (Task, error) { return write(context.WithoutCancel(ctx)) })
	}
	if unknown && checkpoint.IsTemporary(err) {
		t, err = b.undo(context.WithoutCancel(ctx), before, sent, err)
	}
	return before, t, err
}

// undo restores a task as it was before the attempt that began with t, because its worker does not
// run. It returns the task, and why with what failed.
func (b *Board) undo(ctx context.Context, before, t Task, why error) (Task, error) {
	now, err := again(func() (Task, error) {
		return b.change(ctx, t.ID, func(now *Task) error {
			switch {
			case t.sameWork(*now):
				*now = before
			case now.Status != before.Status || !now.sameClaim(before):
				return &TransitionError{now.ID, now.Status, before.Status}
			}
			return nil // also if it has not begun: a write that comes later is refused
		})
	})
	if err != nil {
		return now, errors.Join(why, err)
	}
	return now, why
}

// settle stores the outcome of the attempt that began with t.
func (b *Board) settle(ctx context.Context, t Task, out Outcome) (Task, error) {
	reason := strings.ToValidUTF8(out.Reason, "\uFFFD")
	return again(func() (Task, error) {
		return b.change(ctx, t.ID, func(now *Task) error {
			if now.sameClaim(t) && now.Status == out.Status && now.Reason == reason {
				return nil // it is stored, and the reply was lost
			}
			if !t.sameWork(*now) {
				return &TransitionError{now.ID, now.Status, out.Status}
			}
			now.Result, now.Question, now.Reason = out.Result, out.Question, reason
			return now.move(out.Status, b.now())
		})
	})
}

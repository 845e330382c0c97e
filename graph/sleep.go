package graph

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weftrun/weft/internal/schedule"
)

// setTimer stores when the first of the questions that these tasks ask needs attention, or a time
// before that; the zero time means none. It runs before the questions are stored: a timer without
// its question is harmless, a question without its timer would wait for ever. A subgraph leaves it
// to the run around it.
func (r *run) setTimer(tasks []*task, at time.Time) error {
	if r.cfg.Timers == nil || r.inside != nil {
		return nil
	}
	now := r.cfg.Now().UTC()
	for _, t := range tasks {
		for _, in := range t.open {
			if due := in.Next(now); !due.IsZero() && (at.IsZero() || due.Before(at)) {
				at = due
			}
		}
	}
	if at.IsZero() {
		return nil
	}
	err := r.journal.Write("timer", func(ctx context.Context) error {
		return r.cfg.Timers.Set(ctx, Timer{Thread: r.opts.Thread, Graph: r.name, At: at})
	})
	if err != nil {
		return r.fail(fmt.Errorf("the time at which the thread goes on is not stored: %w", err))
	}
	return nil
}

// longestStay is how long a Sleep keeps its process.
const longestStay = time.Minute

// Sleep waits for a time, which starts when the task first comes to it. The key names the sleep in
// its task, as that of [Once] does.
//
// With Config.Timers, and more than a minute left, it returns [ErrInterrupted], which the node
// returns in turn: the run pauses and needs no process. When the time is over, package wake resumes
// the thread, and the node runs again from its top. The pause is an [Interrupt] with Timer set; any
// answer to it ends the sleep. Otherwise Sleep keeps the process, and after a crash it waits for
// the rest.
func Sleep(ctx context.Context, key string, d time.Duration) error {
	began, err := Once(ctx, "sleep/"+key, func(ctx context.Context) (time.Time, error) { return Now(ctx), nil })
	if err != nil {
		return err
	}
	return SleepUntil(ctx, key, earlier(began.Add(d), Now(ctx).Add(d))) // even if the clock was set back
}

// SleepUntil is [Sleep] until a time. A time in the past ends it at once.
func SleepUntil(ctx context.Context, key string, at time.Time) error {
	left := at.Sub(Now(ctx))
	if left <= 0 {
		return ctx.Err()
	}
	if t := taskOf(ctx); t != nil && left > longestStay && t.run.releases() {
		_, err := Ask[any](ctx, Question{Prompt: "sleeps until " + at.UTC().Format(time.RFC3339), Key: "sleep/" + key, until: at.UTC()})
		if errors.Is(err, ErrExpired) {
			return nil
		}
		return err
	}
	if schedule.Sleep(ctx, left) {
		return nil
	}
	return context.Cause(ctx)
}

// releases reports whether something resumes the thread of the run when a time is over.
func (r *run) releases() bool {
	for r.inside != nil {
		r = r.inside.run
	}
	return r.cfg.Timers != nil && r.cfg.Store != nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

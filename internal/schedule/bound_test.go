package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/internal/schedule"
)

// expired is the cause that the bounds of these tests give.
type expired schedule.Expiry

func (e *expired) Error() string { return fmt.Sprintf("%+v", schedule.Expiry(*e)) }

func cause(e schedule.Expiry) error { return (*expired)(&e) }

var errOuter = errors.New("the context around it has ended")

func TestBound_ReportsHowAFunctionEnded(t *testing.T) {
	const s = time.Second
	wait := func(d time.Duration) func(context.Context) { return func(context.Context) { <-time.After(d) } }
	untilDone := func(ctx context.Context) { <-ctx.Done() }
	for name, c := range map[string]struct {
		bound schedule.Bound
		outer time.Duration // when the context around it ends; 0 is never
		fn    func(context.Context)
		want  schedule.Result
		ended []bool // the calls of Bound.Ended
	}{
		"in time": {schedule.Bound{Limit: 2 * s, Grace: s}, 0, wait(s),
			schedule.Result{Elapsed: s}, nil},
		"returns at its limit": {schedule.Bound{Limit: s, Grace: s}, 0, untilDone,
			schedule.Result{Ending: schedule.Late, Expired: true, Cause: cause(schedule.Expiry{Limit: s, Elapsed: s}), Elapsed: s}, []bool{true}},
		"returns in the grace period": {schedule.Bound{Limit: s, Grace: 2 * s}, 0, wait(2 * s),
			schedule.Result{Ending: schedule.Late, Expired: true, Cause: cause(schedule.Expiry{Limit: s, Elapsed: s}), Elapsed: 2 * s}, []bool{true}},
		"is given up": {schedule.Bound{Limit: s, Grace: s}, 0, wait(time.Hour),
			schedule.Result{Ending: schedule.GivenUp, Expired: true, Cause: cause(schedule.Expiry{Limit: s, Elapsed: s}), Elapsed: 2 * s}, []bool{true}},
		"is given up at once": {schedule.Bound{Limit: s}, 0, wait(time.Hour),
			schedule.Result{Ending: schedule.GivenUp, Expired: true, Cause: cause(schedule.Expiry{Limit: s, Elapsed: s}), Elapsed: s}, []bool{true}},
		"gives no sign of life": {schedule.Bound{Limit: time.Hour, Idle: 3 * s, Activity: new(schedule.Activity), Grace: s}, 0, untilDone,
			schedule.Result{Ending: schedule.Late, Expired: true, Cause: cause(schedule.Expiry{Idle: true, Limit: 3 * s, Elapsed: 3 * s}), Elapsed: 3 * s}, []bool{true}},
		"the outer context ends": {schedule.Bound{Limit: time.Hour, Grace: s}, 2 * s, untilDone,
			schedule.Result{Ending: schedule.Late, Cause: errOuter, Elapsed: 2 * s}, []bool{false}},
		"only a grace period, and ends": {schedule.Bound{Grace: s}, 2 * s, untilDone,
			schedule.Result{Ending: schedule.Late, Cause: errOuter, Elapsed: 2 * s}, []bool{false}},
		"only a grace period, and is given up": {schedule.Bound{Grace: s}, 2 * s, wait(time.Hour),
			schedule.Result{Ending: schedule.GivenUp, Cause: errOuter, Elapsed: 3 * s}, []bool{false}},
		"only a grace period, and is in time": {schedule.Bound{Grace: s}, 0, wait(time.Hour),
			schedule.Result{Elapsed: time.Hour}, nil},
		"an extension is enough": {schedule.Bound{Limit: s, Grace: s, Extend: func() time.Duration { return 2 * s }}, 0, wait(3 * s),
			schedule.Result{Ending: schedule.Late, Expired: true, Cause: cause(schedule.Expiry{Limit: s, Elapsed: s}), Elapsed: 3 * s}, []bool{true}},
		"an extension is not enough": {schedule.Bound{Limit: s, Grace: s, Extend: func() time.Duration { return 2 * s }}, 0, wait(time.Hour),
			schedule.Result{Ending: schedule.GivenUp, Expired: true, Cause: cause(schedule.Expiry{Limit: s, Elapsed: s}), Elapsed: 4 * s}, []bool{true}},
		"exits": {schedule.Bound{Limit: s}, 0, func(context.Context) { runtime.Goexit() },
			schedule.Result{Exited: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if c.outer > 0 {
					defer time.AfterFunc(c.outer, func() { cancel(errOuter) }).Stop()
				}
				var ended []bool
				b := c.bound
				b.Cause = cause
				b.Ended = func(expired bool) { ended = append(ended, expired) }
				got := b.Run(ctx, c.fn)
				defer func() { <-time.After(time.Hour) }() // for a function that was given up
				if fmt.Sprint(got) != fmt.Sprint(c.want) || fmt.Sprint(ended) != fmt.Sprint(c.ended) {
					t.Errorf("got %+v after Ended %v, want %+v after %v", got, ended, c.want, c.ended)
				}
			})
		})
	}
}

func TestBound_ReportsAPanic(t *testing.T) {
	b := schedule.Bound{Limit: time.Hour, Cause: cause}
	res := b.Run(t.Context(), func(context.Context) { panic("no") })
	if res.Panic == nil || res.Panic.Value != "no" || len(res.Panic.Stack) == 0 || res.Exited || res.Ending != schedule.Returned {
		t.Errorf("got %+v, want the panic", res)
	}
}

func TestBound_ContextEndsWithItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := schedule.Bound{Limit: time.Second, Grace: time.Second, Cause: cause}
		var got error
		b.Run(t.Context(), func(ctx context.Context) { <-ctx.Done(); got = context.Cause(ctx) })
		if e := (*expired)(nil); !errors.As(got, &e) || e.Limit != time.Second || e.Idle {
			t.Errorf("got the cause %v, want that of the limit", got)
		}
	})
}

func TestBound_ZeroRunsOnTheCallersGoroutine(t *testing.T) {
	var b schedule.Bound
	ctx := t.Context()
	var same, ran bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.Run(ctx, func(inner context.Context) {
			same, ran = inner == ctx, true
			runtime.Goexit() // ends the caller
		})
		ran = false
	}()
	if <-done; !same || !ran {
		t.Errorf("it got the caller's context: %v; it ended the caller: %v; want both", same, ran)
	}
}

func TestBound_IdleStartsAnewWithASignOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const s = time.Second
		a := new(schedule.Activity)
		b := schedule.Bound{Idle: 3 * s, Activity: a, Grace: s, Cause: cause}
		res := b.Run(t.Context(), func(ctx context.Context) {
			for range 4 {
				<-time.After(2 * s)
				a.AddWaits(0)
			}
			a.AddWaits(1)
			a.AddWaits(1)
			<-time.After(time.Hour)
			a.AddWaits(-1)
			<-time.After(time.Hour) // one wait is left
			a.AddWaits(-1)
			<-ctx.Done()
		})
		want := 2*time.Hour + 8*s + 3*s
		if e := (*expired)(nil); !errors.As(res.Cause, &e) || !e.Idle || res.Elapsed != want {
			t.Errorf("it ended after %v with %v, want %v and its idle time", res.Elapsed, res.Cause, want)
		}
	})
}

func TestBound_AwaitWaitsForWorkElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		takes, want time.Duration
		ending      schedule.Ending
	}{
		"in time":  {time.Second, time.Second, schedule.Returned},
		"late":     {3 * time.Second, 3 * time.Second, schedule.Late},
		"given up": {time.Hour, 5 * time.Second, schedule.GivenUp},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				done, began := make(chan struct{}), time.Now()
				go func() { <-time.After(c.takes); close(done) }()
				b := schedule.Bound{Grace: 2 * time.Second, Extend: func() time.Duration { return time.Second }}
				got := b.Await(ctx, done)
				defer func() { <-done }()
				if took := time.Since(began); got != c.ending || took != c.want {
					t.Errorf("got %v after %v, want %v after %v", got, took, c.ending, c.want)
				}
			})
		})
	}
}

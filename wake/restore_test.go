package wake_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/wake"
)

// copies copies a thread of the fixture to t2, and sets the timer of that some time after noon.
func (f *fixture) copies(thread string, after time.Duration) {
	f.t.Helper()
	f.clock.set(after)
	if err := checkpoint.Copy(f.t.Context(), f.store, thread, f.store, "t2"); err != nil {
		f.t.Fatal(err)
	}
	if err := f.config.Timers.Restore(f.t.Context(), f.store, "t2"); err != nil {
		f.t.Fatal(err)
	}
}

// status returns that of a thread.
func (f *fixture) status(thread string) graph.Status {
	f.t.Helper()
	info, err := graph.Inspect(f.t.Context(), f.store, checkpoint.Key{Thread: thread})
	if err != nil {
		f.t.Fatal(err)
	}
	return info.Status
}

func TestRestore_TheSleepOfACopyEnds(t *testing.T) {
	f := newFixture(t, func(ctx context.Context, _ *log) error { return graph.Sleep(ctx, "", 2*time.Hour) })
	f.begin("t1")
	f.copies("t1", time.Hour)
	if got, want := f.timers(), "t1 2h0m0s, t2 2h0m0s"; got != want {
		t.Errorf("the timers are %q, want %q", got, want)
	}
	f.once(2*time.Hour, wake.Report{Resumed: 2})
	if f.status("t1") != graph.Done || f.status("t2") != graph.Done {
		t.Errorf("the thread is %s and its copy %s", f.status("t1"), f.status("t2"))
	}
}

func TestRestore_TheQuestionOfACopyRemindsAndExpires(t *testing.T) {
	f := newFixture(t, func(ctx context.Context, s *log) error {
		said, err := graph.Ask[string](ctx, graph.Question{
			Prompt: "Sure?", To: "ann", Remind: time.Hour, Escalate: []graph.Escalation{{After: 150 * time.Minute, To: "ben"}},
			Timeout: 5 * time.Hour, Default: "no",
		})
		s.Log.Append(said)
		return err
	})
	f.begin("t1")
	for i := range 2 {
		f.once(time.Duration(i+1)*time.Hour, wake.Report{Notified: 1})
	}
	f.notices = nil
	f.copies("t1", 130*time.Minute)
	f.once(130*time.Minute, wake.Report{Notified: 1}) // one of the two that are past
	f.once(130*time.Minute, wake.Report{})
	f.once(150*time.Minute, wake.Report{Notified: 2})
	f.once(180*time.Minute, wake.Report{Notified: 2})
	f.once(4*time.Hour, wake.Report{Notified: 2})
	f.once(5*time.Hour, wake.Report{Resumed: 2})
	var own []string
	for _, n := range f.notices {
		if strings.Contains(n, " of t2 ") {
			own = append(own, n)
		}
	}
	want := []string{"reminder ann of t2 at 2h0m0s", "escalation ben of t2 at 2h30m0s", "reminder ben of t2 at 3h0m0s", "reminder ben of t2 at 4h0m0s"}
	if !slices.Equal(own, want) {
		t.Errorf("got %q, want %q", own, want)
	}
	if f.status("t2") != graph.Done {
		t.Errorf("the copy is %s", f.status("t2"))
	}
}

// What came and went before the copy is done once, at once.
func TestRestore_WhatIsPastIsDue(t *testing.T) {
	f := newFixture(t, func(ctx context.Context, _ *log) error {
		_, err := graph.Ask[string](ctx, graph.Question{Prompt: "Sure?", Remind: time.Minute, Timeout: 5 * time.Hour, Default: "no"})
		return err
	})
	f.begin("t1")
	f.config.Timers = wake.Over(new(document.Map)) // as in another store, a day later
	f.compile(oneNode(func(context.Context, *log) error { return nil }), graph.Retry{})
	f.copies("t1", 24*time.Hour)
	f.once(24*time.Hour, wake.Report{Resumed: 1})
	if len(f.notices) > 0 {
		t.Errorf("got %q, want no notice of a question that has expired", f.notices)
	}
	if f.status("t2") != graph.Done || f.timers() != "" {
		t.Errorf("the copy is %s, and the timers are %q", f.status("t2"), f.timers())
	}
}

func TestRestore_TheFailedRunOfACopyIsTriedAgain(t *testing.T) {
	fails := true
	f := newFixtureOf(t, func(context.Context, *log) error {
		if fails {
			return errors.New("no network")
		}
		return nil
	}, graph.Retry{Attempts: 3, Initial: time.Hour})
	f.fails("t1")
	f.copies("t1", 0)
	fails = false
	f.once(59*time.Minute, wake.Report{})
	f.once(time.Hour, wake.Report{Resumed: 2})
	if f.status("t2") != graph.Done {
		t.Errorf("the copy is %s", f.status("t2"))
	}
}

func TestRestore_WhatWaitsForNoTime(t *testing.T) {
	f := newFixture(t, func(ctx context.Context, _ *log) error {
		_, err := graph.Ask[string](ctx, graph.Question{Prompt: "Sure?"})
		return err
	})
	f.begin("t1")
	f.copies("t1", 0)
	if got := f.timers(); got != "" {
		t.Errorf("there are timers: %q", got)
	}
	if err := f.config.Timers.Restore(t.Context(), f.store, "unknown"); !errors.Is(err, graph.ErrUnknownThread) {
		t.Errorf("got %v, want an ErrUnknownThread", err)
	}
}

package wake_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/storetest"
	"github.com/weftrun/weft/wake"
)

// A process dies at each of its writes, before and after it is done: while a thread pauses, and
// while it is woken. Another process wakes the thread all the same, once.
func TestWake_SurvivesDeathAtEachWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for n := 1; ; n++ {
			var whole bool
			for _, done := range []bool{false, true} {
				whole = diesAt(t, n, done)
			}
			if whole {
				if n < 10 {
					t.Errorf("the process made only %d writes", n-1)
				}
				return
			}
		}
	})
}

// diesAt lets a process die at its write n. It returns true if the process makes fewer.
func diesAt(t *testing.T, n int, done bool) (whole bool) {
	store, docs, woke := new(checkpoint.Memory), new(document.Map), 0
	process := func(l *storetest.Life) (*graph.Graph[log], wake.Config) {
		seen, timers := l.Memory(store), wake.Over(l.Documents(docs))
		b := graph.New[log]("waits")
		b.Node("a", graph.Func(func(ctx context.Context, s *log) error {
			if err := graph.Sleep(ctx, "", time.Hour); err != nil {
				return err
			}
			s.Log.Append("woke")
			woke++
			return nil
		}))
		b.Edge(graph.Start, "a")
		b.Edge("a", graph.End)
		g, err := b.Compile(graph.Config{Store: seen, Timers: timers})
		if err != nil {
			t.Fatal(err)
		}
		return g, wake.Config{Store: seen, Timers: timers, Resume: wake.Graphs(g.Untyped()), Log: slog.New(slog.DiscardHandler)}
	}
	first := &storetest.Life{Left: n, Done: done}
	g, config := process(first)
	run := graph.RunOptions{Thread: "t1", Lease: checkpoint.HoldOptions{TTL: 1500 * time.Millisecond, ID: checkpoint.NewFence()}}
	_, _ = g.Invoke(t.Context(), log{}, run)
	time.Sleep(time.Hour)
	if !first.Ended() {
		_, _ = wake.Once(t.Context(), config)
	}
	time.Sleep(time.Minute) // leases of the dead run out

	g, config = process(new(storetest.Life))
	run.Lease.ID = ""
	var err error
	switch info, unknown := graph.Inspect(t.Context(), store, checkpoint.Key{Thread: "t1"}); {
	case unknown != nil: // the process died before it stored the input
		_, err = g.Invoke(t.Context(), log{}, run)
	case info.Status == graph.Pending: // it died before it stored the pause
		_, err = g.Resume(t.Context(), graph.Answers{}, run)
	}
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("death at write %d, done %t", n, done)
	for range 4 {
		time.Sleep(time.Hour)
		if _, err := wake.Once(t.Context(), config); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, info, err := g.Thread("t1").State(t.Context(), 0)
	if err != nil || info.Status != graph.Done || s.Log.Len() != 1 {
		t.Errorf("%s: the thread is %s with %v, %v", name, info.Status, s.Log.Slice(), err)
	}
	if left, err := config.Timers.List(t.Context(), 10); err != nil || len(left) > 0 {
		t.Errorf("%s: timers are left: %v, %v", name, left, err)
	}
	if woke > 2 { // the node runs again only where its result was not stored
		t.Errorf("%s: the node went on %d times", name, woke)
	}
	return !first.Ended()
}

// A waker dies at each write while it begins the runs of a schedule. Each run is begun once, and
// ends.
func TestSchedule_SurvivesDeathAtEachWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for n := 1; ; n++ {
			var whole bool
			for _, done := range []bool{false, true} {
				whole = scheduleDiesAt(t, n, done)
			}
			if whole {
				if n < 8 {
					t.Errorf("the process made only %d writes", n-1)
				}
				return
			}
		}
	})
}

// scheduleDiesAt lets a waker die at its write n. It returns true if the waker makes fewer.
func scheduleDiesAt(t *testing.T, n int, done bool) (whole bool) {
	store, docs, begun := new(checkpoint.Memory), new(document.Map), time.Now()
	process := func(l *storetest.Life) (*graph.Graph[log], wake.Config) {
		seen, timers := l.Memory(store), wake.Over(l.Documents(docs))
		b := graph.New[log]("waits")
		b.Node("a", graph.Func(func(_ context.Context, s *log) error { s.Log.Append("ran"); return nil }))
		b.Edge(graph.Start, "a")
		b.Edge("a", graph.End)
		g, err := b.Compile(graph.Config{Store: seen, Timers: timers})
		if err != nil {
			t.Fatal(err)
		}
		return g, wake.Config{Store: seen, Timers: timers, Resume: wake.Graphs(g.Untyped()), Start: wake.Starts(g.Untyped()), Log: slog.New(slog.DiscardHandler)}
	}
	s := wake.Schedule{Name: "s", Graph: "waits", Until: begun.Add(4 * time.Hour)}
	s.Cron = fmt.Sprintf("%d * * * *", begun.Minute())
	if err := wake.Over(docs).Schedule(t.Context(), s, begun); err != nil {
		t.Fatal(err)
	}
	first := &storetest.Life{Left: n, Done: done}
	_, config := process(first)
	for range 2 {
		time.Sleep(time.Hour)
		if !first.Ended() {
			_, _ = wake.Once(t.Context(), config)
		}
	}
	time.Sleep(time.Minute) // leases of the dead run out
	name := fmt.Sprintf("death at write %d, done %t", n, done)
	g, config := process(new(storetest.Life))
	for range 4 {
		if _, err := wake.Once(t.Context(), config); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		time.Sleep(time.Hour)
	}
	missed := 0 // while no waker ran
	for hour := 1; hour <= 4; hour++ {
		thread := "s/" + begun.Truncate(time.Minute).Add(time.Duration(hour)*time.Hour).UTC().Format(time.RFC3339)
		s, info, err := g.Thread(thread).State(t.Context(), 0)
		switch {
		case errors.Is(err, graph.ErrUnknownThread):
			missed++
		case err != nil || info.Status != graph.Done || s.Log.Len() != 1 || info.Turn != 1:
			t.Errorf("%s: thread %s is %s with %v, %v", name, thread, info.Status, s.Log.Slice(), err)
		}
	}
	if missed > 1 { // the second time, if the first one was still due then
		t.Errorf("%s: %d runs are missing", name, missed)
	}
	if left, err := config.Timers.List(t.Context(), 10); err != nil || len(left) > 0 {
		t.Errorf("%s: timers are left: %v, %v", name, left, err)
	}
	return !first.Ended()
}

package graph_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// failsSoMany is a graph of one node that fails as often as left.
func failsSoMany(t *testing.T, left *int, err func() error, cfg graph.Config) *graph.Graph[world] {
	t.Helper()
	return single(t, graph.Func(func(_ context.Context, s *world) error {
		if *left > 0 {
			*left--
			return err()
		}
		s.Log.Append("done")
		return nil
	}), graph.Policy{}, cfg)
}

// retryAt returns when a thread is tried again, after noon; -1 for never.
func retryAt(t *testing.T, store checkpoint.Store) time.Duration {
	t.Helper()
	p, err := graph.Inspect(ctx, store, checkpoint.Key{Thread: "t1"})
	if err != nil {
		t.Fatal(err)
	}
	if p.RetryAt.IsZero() {
		return -1
	}
	return p.RetryAt.Sub(noon)
}

func TestRunRetry_StoresWhenAFailedRunIsTriedAgain(t *testing.T) {
	cfg, all, c := timedConfig()
	cfg.RunRetry = graph.Retry{Attempts: 3, Initial: time.Hour, Max: 24 * time.Hour}
	left := 3
	g := failsSoMany(t, &left, func() error { return errBoom }, cfg)
	_, err := g.Invoke(ctx, world{}, t1)
	is(t, err, errBoom)
	if got := retryAt(t, cfg.Store); got != time.Hour {
		t.Errorf("after the first failure: got %v, want 1h", got)
	}
	c.now = noon.Add(time.Hour)
	_, err = g.Resume(ctx, graph.Answers{}, t1)
	is(t, err, errBoom)
	if got := retryAt(t, cfg.Store); got != 3*time.Hour {
		t.Errorf("after the second failure: got %v, want 3h", got)
	}
	_, err = g.Resume(ctx, graph.Answers{}, t1)
	is(t, err, errBoom)
	if got := retryAt(t, cfg.Store); got != -1 {
		t.Errorf("after the last attempt: got %v, want never", got)
	}
	want := []graph.Timer{{Thread: "t1", Graph: "single", At: noon.Add(time.Hour)}, {Thread: "t1", Graph: "single", At: noon.Add(3 * time.Hour)}}
	if !slices.Equal(all.set, want) {
		t.Errorf("timers: got %v, want %v", all.set, want)
	}
	if res := resume(t, g, graph.Answers{}, graph.Done); res.State.Log.Len() != 1 {
		t.Errorf("got %v", res.State.Log.Slice())
	}
	left = 1
	_, err = g.Invoke(ctx, world{}, t1)
	is(t, err, errBoom)
	if got := retryAt(t, cfg.Store); got != 2*time.Hour {
		t.Errorf("a later turn counts anew: got %v, want 2h", got)
	}
}

func TestRunRetry_WithoutItsTimerTheFailureIsNotStored(t *testing.T) {
	cfg, all, _ := timedConfig()
	cfg.RunRetry = graph.Retry{Attempts: 2, Initial: time.Hour}
	all.fail = errBoom
	left := 1
	_, err := failsSoMany(t, &left, func() error { return errBoom }, cfg).Invoke(ctx, world{}, t1)
	is(t, err, errBoom, "the time at which the thread goes on is not stored")
	if p, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}); err != nil || p.Status != graph.Pending {
		t.Errorf("got %+v, %v; want a pending thread", p, err)
	}
}

func TestRunRetry_LeavesOtherEndsAlone(t *testing.T) {
	for name, change := range map[string]func(*graph.Config) error{
		"permanent":  func(*graph.Config) error { return graph.Permanent(errBoom) },
		"one":        func(c *graph.Config) error { c.RunRetry.Attempts = 1; return errBoom },
		"refused":    func(c *graph.Config) error { c.RunRetry.If = func(error) bool { return false }; return errBoom },
		"no budget":  func(c *graph.Config) error { c.RunRetry.Budget = time.Minute; return errBoom },
		"cancelled":  func(*graph.Config) error { return nil },
		"no timers":  func(c *graph.Config) error { c.Timers = nil; return errBoom },
		"no retries": func(c *graph.Config) error { c.RunRetry = graph.Retry{}; return errBoom },
	} {
		t.Run(name, func(t *testing.T) {
			cfg, all, _ := timedConfig()
			cfg.RunRetry = graph.Retry{Attempts: 3, Initial: time.Hour}
			failure, left := change(&cfg), 1
			run, cancel := context.WithCancel(ctx)
			defer cancel()
			_, err := failsSoMany(t, &left, func() error {
				if failure == nil {
					cancel()
					return run.Err()
				}
				return failure
			}, cfg).Invoke(run, world{}, t1)
			if err == nil {
				t.Fatal("the run did not fail")
			}
			if len(all.set) > 0 || retryAt(t, cfg.Store) != -1 {
				t.Errorf("got timers %v, and a retry after %v", all.set, retryAt(t, cfg.Store))
			}
		})
	}
}

func TestRunRetry_StaysAfterAPatch(t *testing.T) {
	cfg, _, _ := timedConfig()
	cfg.RunRetry = graph.Retry{Attempts: 3, Initial: time.Hour}
	left := 1
	g := failsSoMany(t, &left, func() error { return errBoom }, cfg)
	_, err := g.Invoke(ctx, world{}, t1)
	is(t, err, errBoom)
	if _, err := g.Patch(ctx, func(s *world) error { s.Log.Append("patched"); return nil }, t1); err != nil {
		t.Fatal(err)
	}
	if got := retryAt(t, cfg.Store); got != time.Hour {
		t.Errorf("got %v, want 1h: what was due stays due", got)
	}
	resume(t, g, graph.Answers{}, graph.Done)
	if got := retryAt(t, cfg.Store); got != -1 {
		t.Errorf("after its end: got %v, want never", got)
	}
}

func TestRunRetry_InvalidIsRefused(t *testing.T) {
	cfg, _, _ := timedConfig()
	cfg.RunRetry = graph.Retry{Attempts: -1}
	b := graph.New[world]("x")
	b.Node("a", graph.Func(func(context.Context, *world) error { return nil }))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	if _, err := b.Compile(cfg); err == nil {
		t.Error("a RunRetry of -1 attempts was accepted")
	}
}

package graph_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/graph"
)

// sends returns a graph that sends each items to each worker of order, one worker after the other.
func sends(t *testing.T, cfg graph.Config, p graph.Policy, each int, do map[string]func(context.Context, int) error, order ...string) *graph.Graph[world] {
	t.Helper()
	b := graph.New[world]("sends")
	b.Node("fan", graph.Router(func(context.Context, *world) (cmd graph.Command, err error) {
		for _, name := range order {
			for i := range each {
				cmd = cmd.Send(name, i)
			}
		}
		return cmd, nil
	}, order...))
	b.Edge(graph.Start, "fan")
	for name, f := range do {
		policy := graph.Policy{}
		if name != "other" {
			policy = p
		}
		b.Node(name, graph.Worker(func(ctx context.Context, s *world, i int) error {
			s.Count.Add(1)
			return f(ctx, i)
		}).With(policy))
		b.Edge(name, graph.End)
	}
	cfg.MaxTasks = 100_000
	return build(t, b, cfg)
}

// If each parked item occupied a worker of the pool, the other items would never start and the
// first would wait for ever. synctest reports that as a deadlock.
func TestParkedItems_DoNotBlockOtherNodes(t *testing.T) {
	for bound, p := range map[string]graph.Policy{
		"parallel": {Parallel: 4}, "a limit": {Limit: "api"}, "both": {Parallel: 6, Limit: "api"}, "parallel with a timeout": {Parallel: 4, Timeout: time.Hour},
	} {
		for kind, config := range map[string]func() graph.Config{"no store": func() graph.Config { return graph.Config{} }, "a store": stored} {
			for _, narrow := range []string{"slow", "slow, slower"} {
				t.Run(fmt.Sprint(bound, " with ", kind, ": ", narrow), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						cfg, run, each := config(), graph.RunOptions{}, 500
						if bound == "parallel" && kind == "no store" && narrow == "slow" {
							each = 10_000
						}
						if cfg.Limits = limits(t, graph.Limit{Concurrency: 4}); cfg.Store != nil {
							run = t1
						}
						var left, now, most atomic.Int32
						left.Store(int32(each))
						others := make(chan struct{})
						slow := func(ctx context.Context, _ int) error {
							n := now.Add(1)
							defer now.Add(-1)
							for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
							}
							<-others
							return nil
						}
						do := map[string]func(context.Context, int) error{"slow": slow, "other": func(context.Context, int) error {
							if left.Add(-1) == 0 {
								close(others)
							}
							return nil
						}}
						order, want := []string{"slow", "other"}, 2*each
						if narrow != "slow" {
							do["slower"], order, want = slow, []string{"slow", "slower", "other"}, 3*each
						}
						res, err := sends(t, cfg, p, each, do, order...).Invoke(t.Context(), world{}, run)
						ended(t, graph.Done, res, err)
						if res.State.Count.Get() != want {
							t.Errorf("%d items were done, want %d", res.State.Count.Get(), want)
						}
						keys := 1
						if p.Limit == "" {
							keys = len(order) - 1 // a limit is shared by all nodes
						}
						if int(most.Load()) > 4*keys {
							t.Errorf("%d at once, want %d at most", most.Load(), 4*keys)
						}
					})
				})
			}
		}
	}
}

func TestParkedItems_AllRun(t *testing.T) {
	for name, bad := range map[string]func(context.Context, int) error{
		"nothing happens": func(context.Context, int) error { return nil },
		"a retry": func() func(context.Context, int) error {
			var failed atomic.Bool
			return func(context.Context, int) error {
				if failed.CompareAndSwap(false, true) {
					return errBoom
				}
				return nil
			}
		}(),
		"a pause": func(_ context.Context, i int) error { time.Sleep(time.Duration(i%3) * time.Second); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := graph.Policy{Parallel: 1, Retry: graph.Retry{Attempts: 2, Initial: time.Hour}}
				do := map[string]func(context.Context, int) error{"a": bad, "b": bad, "other": bad}
				res, err := sends(t, graph.Config{Concurrency: 3}, p, 50, do, "a", "b", "other").Invoke(t.Context(), world{}, graph.RunOptions{})
				ended(t, graph.Done, res, err)
				if res.State.Count.Get() != 150 {
					t.Errorf("%d items were done, want 150", res.State.Count.Get())
				}
			})
		})
	}
}

func TestParkedItems_EndWithTheirStep(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(context.Context, context.CancelFunc) error
		want error
	}{
		"an error": {func(context.Context, context.CancelFunc) error { return errBoom }, errBoom},
		"a panic":  {func(context.Context, context.CancelFunc) error { panic(errBoom) }, errBoom},
		"an exit":  {func(context.Context, context.CancelFunc) error { runtime.Goexit(); return nil }, nil},
		"the caller's end": {func(ctx context.Context, cancel context.CancelFunc) error {
			cancel()
			<-ctx.Done()
			return context.Cause(ctx)
		}, context.Canceled},
	} {
		for _, store := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", with a store: ", store), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					cfg, run := graph.Config{}, graph.RunOptions{}
					if store {
						cfg, run = stored(), t1
					}
					do := map[string]func(context.Context, int) error{
						"a":     func(inner context.Context, i int) error { return c.do(inner, cancel) },
						"other": func(context.Context, int) error { return nil },
					}
					res, err := sends(t, cfg, graph.Policy{Parallel: 2}, 1000, do, "a", "other").Invoke(ctx, world{}, run)
					if err == nil || c.want != nil && !errors.Is(err, c.want) || res.Status != graph.Failed {
						t.Errorf("got %s, %v; want %v", res.Status, err, c.want)
					}
				})
			})
		}
	}
}

func TestAbandonedAttempt_KeepsItsParallelPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gauge
		var abandoned atomic.Bool
		b := graph.New[world]("parallel")
		b.Node("a", graph.Func(func(context.Context, *world) error {
			if abandoned.CompareAndSwap(false, true) {
				g.work(time.Hour)
			} else {
				g.work(time.Second)
			}
			return nil
		}).With(graph.Policy{Parallel: 1, Timeout: time.Minute, Retry: graph.Retry{Attempts: 2, Initial: time.Second}}))
		b.Edge(graph.Start, "a")
		b.Edge("a", graph.End)
		began := time.Now()
		res, err := build(t, b, graph.Config{Grace: time.Second}).Invoke(t.Context(), world{}, graph.RunOptions{})
		ended(t, graph.Done, res, err)
		if took := time.Since(began); g.most != 1 || took != time.Hour+time.Second {
			t.Errorf("%d at once for %v, want one after the other for 1h1s", g.most, took)
		}
	})
}

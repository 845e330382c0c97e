package graph_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

func TestRun_FailureLeavesTheCheckpointAndOthersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts []string
		down := slices.Repeat([]error{errBusy}, 3)
		p := graph.Policy{Retry: graph.Retry{Attempts: 2, Initial: time.Second, If: isErr(errBusy)}}
		cfg := stored()
		b := graph.New[world]("row")
		line(b, "x")
		b.Node("a", failsWith(&starts, down...).With(p))
		b.Edge("x", "a")
		b.Edge("a", graph.End)
		g := build(t, b, cfg)
		_, err := g.Invoke(ctx, world{}, t1)
		is(t, err, errBusy)
		point, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"})
		if err != nil || point.Step != 1 || !slices.Equal(point.Next, []string{"a"}) || len(point.Failures) != 1 || point.Failures[0].Message != "busy" {
			t.Errorf("the thread is %+v, %v; want it as before the step, with the failure beside it", point, err)
		}
		logged(t, invoke(t, g, "t2", graph.Done), "x a") // the third failure, and then it works
		if after, _ := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}); after.Checkpoint != point.Checkpoint || after.Status != graph.Failed {
			t.Errorf("another thread changed this one to %+v", after)
		}
		logged(t, resume(t, g, graph.Answers{}, graph.Done), "x a")
		if len(starts) != 5 {
			t.Errorf("attempts %v, want 2, 2 and 1", starts)
		}
	})
}

func TestFailure_CancelsRunningNodesAndTheFirstErrorIsReturned(t *testing.T) {
	for name, own := range map[string]bool{"from outside": false, "by another node": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, cancel := context.WithCancelCause(ctx)
				defer cancel(nil)
				var ran counter
				waits := func(ctx context.Context, _ *world) error {
					<-ctx.Done()
					ran.add("cancelled")
					return ctx.Err()
				}
				b := parallel(map[string]graph.Node[world]{"y": graph.Func(waits), "z": graph.Func(func(context.Context, *world) error {
					time.Sleep(time.Second)
					if own {
						return errBoom
					}
					cancel(errBoom)
					return nil
				})})
				b.Node("x", graph.Func(waits).With(graph.Policy{Timeout: time.Hour, Retry: graph.Retry{Attempts: 5}}))
				b.Edge(graph.Start, "x")
				b.Edge("x", graph.End)
				b.OnError("x", mends(&ran, graph.Command{}))
				b.OnError("y", mends(&ran, graph.Command{}))
				_, err := build(t, b, stored()).Invoke(c, world{}, t1)
				if is(t, err, errBoom); errors.Is(err, graph.ErrTimeout) || own && strings.Contains(err.Error(), `node "x"`) {
					t.Errorf("got %v, want the original error alone", err)
				}
				ran.want(t, "cancelled", 2) // once each: cancelled nodes are neither retried nor rescued
				ran.want(t, "handler", 0)
			})
		})
	}
}

func TestTimeout_HoldsThoughTheReaderIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var endedAt time.Duration
		start := time.Now()
		slow := graph.Func(func(ctx context.Context, s *world) error {
			for ctx.Err() == nil {
				_ = graph.Emit(ctx, "still here")
				time.Sleep(time.Millisecond)
			}
			endedAt = time.Since(start)
			return ctx.Err()
		})
		cfg := stored()
		b := parallel(map[string]graph.Node[world]{"quick": logs("quick")})
		b.Node("slow", slow.With(graph.Policy{Timeout: 2 * time.Second}))
		b.Edge(graph.Start, "slow")
		b.Edge("slow", graph.End)
		finished := false
		var last error
		for ev, err := range build(t, b, cfg).Stream(ctx, world{}, graph.RunOptions{Thread: "t1", Modes: graph.Tasks | graph.Custom}) {
			last = err
			finished = finished || ev.Node == "quick" && ev.Phase == graph.Finished
			time.Sleep(time.Second) // the reader
		}
		is(t, last, graph.ErrTimeout, `node "slow"`)
		if endedAt < 2*time.Second || endedAt > 2*time.Second+time.Millisecond || !finished {
			t.Errorf("the slow node was cancelled after %v, the end of the quick one reported: %v", endedAt, finished)
		}
		if !hasPending(cfg.Store) {
			t.Error("the result of the quick node is not stored")
		}
	})
}

// Requirement: policy: cache
func TestCache_IsHitAcrossThreadsUntilItIsCleared(t *testing.T) {
	var ran counter
	cfg := stored()
	cfg.Cache = new(graph.MemoryCache)
	b := graph.New[world]("row")
	b.Node("a", graph.Cache(costly(&ran, "ask"), byName))
	b.Node("ask", asks("ask", &ran, "x", "y"))
	b.Edge(graph.Start, "a")
	b.Edge("ask", graph.End)
	g := build(t, b, cfg)
	run := func(thread string) (cached int) {
		t.Helper()
		o := graph.RunOptions{Thread: thread, Modes: graph.Tasks | graph.Updates}
		for ev, err := range g.Stream(ctx, world{Name: state.Of("n")}, o) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Cached && ev.Node == "a" && (ev.Phase == graph.Finished || ev.Mode == graph.Updates && strings.Contains(string(ev.Writes), "costly n")) {
				cached++
			} else if ev.Cached || cached == 1 && ev.Node == "a" && ev.Phase == graph.Started {
				t.Errorf("from the cache: %+v", ev)
			}
		}
		res, err := g.Resume(ctx, graph.Reply("1"), o)
		ended(t, graph.Interrupted, res, err)
		res, err = g.Resume(ctx, graph.Reply("2"), o)
		logged(t, ended(t, graph.Done, res, err), "costly n ask x=1 y=2")
		return cached
	}
	for i, want := range []int{0, 2, 2} {
		if got := run(fmt.Sprint("t", i)); got != want {
			t.Errorf("run %d: %d events say that they come from the cache, want %d", i, got, want)
		}
	}
	ran.want(t, "costly n", 1)
	if err := g.ClearCache(ctx); err != nil {
		t.Fatal(err)
	}
	run("t9")
	ran.want(t, "costly n", 2)
}

// Requirement: policy: retry
func TestRetry_CountsAndWaitsByItsPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts []string
		p := graph.Policy{Retry: graph.Retry{Attempts: 3, Initial: time.Second, Multiplier: 3, If: isErr(errBoom),
			Else: &graph.Retry{Attempts: 5, Initial: 4 * time.Second, Max: 5 * time.Second}}}
		_, err := single(t, failsWith(&starts, errBoom, errBusy, errBusy, errBusy, errBusy), p, graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
		is(t, err, errBusy, "attempt 5")
		if got, want := strings.Join(starts, " "), "1@0 2@1000 3@6000 4@11000 5@16000"; got != want {
			t.Errorf("attempts %q, want %q", got, want)
		}
	})
}

// Requirement: policy: attempts run on fresh views
// Requirement: a node panics or hangs
func TestTimeout_OfANode(t *testing.T) {
	t.Run("cannot be swallowed, and late writes never land", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			late := make(chan error, 2)
			var ran counter
			once := graph.Func(func(ctx context.Context, s *world) error {
				if ran.add("a") > 1 {
					s.Log.Append("second")
					return nil
				}
				<-ctx.Done()
				time.Sleep(3 * time.Second) // beyond the grace
				s.Log.Append("late")
				s.Count.Add(100)
				late <- graph.Emit(ctx, "late")
				return nil
			})
			p := graph.Policy{Timeout: time.Second, Retry: graph.Retry{Attempts: 2, Initial: 5 * time.Second}}
			res := invoke(t, single(t, once, p, stored()), "t1", graph.Done)
			<-late
			logged(t, res, "second")
			if res.State.Count.Get() != 0 {
				t.Error("a late write has landed")
			}
		})
	})
	t.Run("signs of life reset idleness and nothing else", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := graph.Policy{Idle: 2 * time.Second, Timeout: 6500 * time.Millisecond}
			_, err := single(t, beats(3, graph.Heartbeat), p, graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
			timedOut(t, err, graph.IdleTimeout, 2*time.Second, 5*time.Second)
			_, err = single(t, beats(60, graph.Heartbeat), p, graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
			timedOut(t, err, graph.NodeTimeout, 6500*time.Millisecond, 6500*time.Millisecond)
		})
	})
	t.Run("that of a Send overrides the node's", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := graph.New[world]("sends")
			b.Node("r", goes("r", graph.Send("w", 1).WithTimeout(3*time.Second), "w"))
			b.Edge(graph.Start, "r")
			b.Node("w", graph.Worker(func(ctx context.Context, _ *world, _ int) error { <-ctx.Done(); return ctx.Err() }).With(graph.Policy{Timeout: time.Second}))
			b.Edge("w", graph.End)
			began := time.Now()
			_, err := build(t, b, graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
			if is(t, err, graph.ErrTimeout, "3s"); time.Since(began) != 3*time.Second {
				t.Errorf("it took %v, want 3 s", time.Since(began))
			}
		})
	})
}

// Requirement: policy: retry
func TestDefaults_YieldToThePolicyOfANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran counter
		b := graph.New[world]("row")
		c := child(t, &ran, graph.Config{}, func(context.Context, *inner) error { ran.add("inside"); return errBoom })
		b.Node("sub", hosts(c, "", nil))
		b.Node("own", fails("own", &ran, errBoom).With(graph.Policy{Retry: graph.Retry{Attempts: 2, Initial: 1}}))
		b.Node("none", fails("none", &ran, errBoom).With(graph.Policy{}))
		b.Node("default", fails("default", &ran, errBoom))
		for _, name := range []string{"sub", "own", "none", "default"} {
			b.Edge(graph.Start, name)
			b.Edge(name, graph.End)
		}
		b.OnError("*", graph.Handler(func(_ context.Context, s *world, f *graph.NodeError) (graph.Command, error) {
			if ran.add("handler of "+f.Node) < 3 {
				return graph.Command{}, errBusy
			}
			return graph.Command{}, nil
		}))
		b.Defaults(graph.Policy{Retry: graph.Retry{Attempts: 3, Initial: 1}})
		invoke(t, build(t, b, graph.Config{}), "", graph.Done)
		for name, n := range map[string]int{"own": 2, "none": 1, "default": 3, "inside": 3, "handler of own": 3, "handler of sub": 3} {
			ran.want(t, name, n) // the subgraph's node ran once in each attempt of the node around it
		}
	})
	t.Run("a cancellation of the user's own is a failure", func(t *testing.T) {
		var ran counter
		g := build(t, risky(fails("a", &ran, context.Canceled), mends(&ran, graph.Command{})), stored())
		logged(t, invoke(t, g, "t1", graph.Done), "mended a b c")
		ran.want(t, "a", 2)
		_, err := single(t, fails("a", &ran, context.Canceled), graph.Policy{}, graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
		var failed *graph.NodeError
		if !errors.As(err, &failed) || failed.Cancelled || failed.Kind() != graph.KindCancelled {
			t.Errorf("got %+v, want a failure of node a", failed)
		}
	})
}

func TestLimits_OfARunHoldWithAnyPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran counter
		b := graph.New[world]("endless")
		b.Node("a", graph.Fallback(fails("x", &ran, errBoom), goes("a", graph.Goto("a"), "a", graph.End)))
		b.OnError("a", mends(&ran, graph.Goto("a"), "a"))
		b.Defaults(graph.Policy{Retry: graph.Retry{Attempts: 9, Initial: time.Second}})
		b.Edge(graph.Start, "a")
		res, err := build(t, b, graph.Config{MaxSteps: 20}).Invoke(ctx, world{}, graph.RunOptions{})
		if is(t, err, graph.ErrSteps, "20"); res.Steps != 20 || res.State.Log.Len() != 20 {
			t.Errorf("got %d steps and %d words, want the state so far", res.Steps, res.State.Log.Len())
		}
		b = graph.New[world]("endless") // fails, is rescued and starts anew, for ever
		b.Node("a", fails("y", &ran, errBoom).With(graph.Policy{Retry: graph.Retry{Attempts: 2, Initial: time.Second}}))
		b.OnError("a", mends(&ran, graph.Goto("a"), "a", graph.End))
		b.Edge(graph.Start, "a")
		short, cancel := context.WithTimeout(ctx, 10*time.Second+time.Second/2)
		defer cancel()
		began := time.Now()
		_, err = build(t, b, graph.Config{MaxSteps: 1 << 40}).Invoke(short, world{}, graph.RunOptions{})
		if took := time.Since(began); took != 10*time.Second+time.Second/2 || err == nil {
			t.Errorf("got %v after %v, want an error at the deadline", err, took)
		}
	})
}

func TestPolicies_OrderWithHandlersDoesNotMatter(t *testing.T) {
	var want string
	for range 20 {
		var ran counter
		b := graph.New[world]("order")
		declare := []func(){
			func() { b.Node("a", fails("a", &ran, errBoom)) },
			func() { b.Node("b", fails("b", &ran, errBoom).With(graph.Policy{})) },
			func() { b.Node("c", logs("c")) },
			func() { b.Defaults(graph.Policy{Retry: graph.Retry{Attempts: 2, Initial: 1}}) },
			func() { b.OnError("*", mends(&ran, graph.Command{}, "c")) },
			func() { b.OnError("b", mends(&ran, graph.Goto("c"), "c")) },
			func() { b.Edge(graph.Start, "a"); b.Edge(graph.Start, "b") },
			func() { b.Edge("a", graph.End); b.Edge("b", graph.End); b.Edge("c", graph.End) },
		}
		for _, i := range rand.Perm(len(declare)) {
			declare[i]()
		}
		store := new(checkpoint.Memory)
		cfg := graph.Config{Store: store, Now: func() time.Time { return time.Time{} }, NewID: func() string { return "id" }}
		logged(t, invoke(t, build(t, b, cfg), "t1", graph.Done), "mended a mended b c")
		ran.want(t, "a", 2)
		ran.want(t, "b", 1)
		if got := dump(store, "t1", ""); want == "" {
			want = got
		} else if got != want {
			t.Fatalf("another order of declaration gives other bytes:\n%s\nwant\n%s", got, want)
		}
	}
}

func TestPanic_OfEachPartOfANodeNamesIt(t *testing.T) {
	panics := graph.Func(func(context.Context, *world) error { panic(errBoom) })
	for name, declare := range map[string]func(b *graph.Builder[world]){
		"a node with a limit": func(b *graph.Builder[world]) {
			b.Node("a", panics.With(graph.Policy{Timeout: time.Hour, Idle: time.Hour}))
		},
		"its alternatives": func(b *graph.Builder[world]) { b.Node("a", graph.Fallback(panics, panics)) },
		"a cached one":     func(b *graph.Builder[world]) { b.Node("a", graph.Cache(panics, graph.Caching[world]{})) },
		"its handler": func(b *graph.Builder[world]) {
			b.Node("a", panics)
			b.OnError("a", graph.Handler(func(context.Context, *world, *graph.NodeError) (graph.Command, error) { panic("and again") }))
		},
	} {
		for _, wide := range []bool{false, true} {
			b := graph.New[world]("panics")
			declare(b)
			b.Edge(graph.Start, "a")
			b.Edge("a", graph.End)
			if wide {
				line(b, "other")
			}
			_, err := build(t, b, graph.Config{Cache: new(graph.MemoryCache)}).Invoke(ctx, world{}, graph.RunOptions{})
			var p *graph.PanicError
			if is(t, err, errBoom, `node "a"`, "step 1"); !errors.As(err, &p) || len(p.Stack) == 0 {
				t.Errorf("%s: got %v, want a panic with its stack", name, err)
			}
		}
	}
}

// Requirement: policy: timeout
func TestTimeout_EachOfAStepIsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran counter
		waits := graph.Func(func(ctx context.Context, _ *world) error { <-ctx.Done(); return context.Cause(ctx) })
		b := parallel(map[string]graph.Node[world]{"ok": graph.Func(func(_ context.Context, s *world) error {
			time.Sleep(5 * time.Second)
			s.Log.Append("ok")
			return nil
		})})
		for i := range 3 {
			name := nodeName(i)
			b.Node(name, waits.With(graph.Policy{Timeout: time.Duration(i+1) * time.Second}))
			b.Edge(graph.Start, name)
			b.Edge(name, graph.End)
		}
		var took [3]time.Duration
		start := time.Now()
		b.OnError("*", graph.Handler(func(_ context.Context, s *world, f *graph.NodeError) (graph.Command, error) {
			ran.add(f.Kind())
			took[f.Node[1]-'0'] = time.Since(start)
			s.Log.Append(f.Node)
			return graph.Command{}, nil
		}))
		logged(t, invoke(t, build(t, b, graph.Config{}), "", graph.Done), "n0 n1 n2 ok")
		if ran.want(t, graph.KindTimeout, 3); took != [3]time.Duration{time.Second, 2 * time.Second, 3 * time.Second} {
			t.Errorf("they timed out after %v, want 1, 2 and 3 s", took)
		}
	})
}

package graph_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// goroutine returns the number of the goroutine that calls it.
func goroutine() string {
	var buf [64]byte
	return strings.Fields(string(buf[:runtime.Stack(buf[:], false)]))[1]
}

// marks is a node that logs the goroutine it runs on.
func marks() graph.Node[world] {
	return graph.Func(func(_ context.Context, s *world) error {
		s.Log.Append(goroutine())
		return nil
	})
}

// Requirement: policy: goroutines
func TestCoordinator_IsTheCallerUnlessTheRunIsBounded(t *testing.T) {
	var drain graph.Drain
	for name, c := range map[string]struct {
		ctx     context.Context
		cfg     graph.Config
		run     graph.RunOptions
		bounded bool
	}{
		"nothing ends it":            {ctx, graph.Config{}, graph.RunOptions{}, false},
		"its context may end":        {t.Context(), graph.Config{}, graph.RunOptions{}, false},
		"it may be drained":          {ctx, graph.Config{}, graph.RunOptions{Drain: &drain}, false},
		"it may lose its lease":      {ctx, stored(), t1, false},
		"its time is limited":        {ctx, graph.Config{Timeout: time.Hour}, graph.RunOptions{}, true},
		"it has a grace":             {ctx, graph.Config{Grace: time.Hour}, graph.RunOptions{}, true},
		"its call has a grace":       {ctx, graph.Config{}, graph.RunOptions{Grace: time.Hour}, true},
		"a store, and it is bounded": {ctx, stored(), graph.RunOptions{Thread: "t1", Grace: time.Hour}, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := graph.New[world]("narrow, wide, narrow")
			for _, n := range []string{"a", "b", "c", "d", "last"} {
				b.Node(n, marks())
			}
			b.Edge(graph.Start, "a")
			b.Edge("a", "b")
			b.Edge("b", "c")
			b.Edge("b", "d")
			b.Join("last", "c", "d")
			b.Edge("last", graph.End)
			res, err := build(t, b, c.cfg).Invoke(c.ctx, world{}, c.run)
			ended(t, graph.Done, res, err)
			if res.Steps != 4 || res.State.Log.Len() != 5 {
				t.Fatalf("%d steps made the log %v", res.Steps, res.State.Log.Slice())
			}
			for i, on := range res.State.Log.Slice() {
				if alone := i < 2 || i == 4; (on == goroutine()) != (!c.bounded && alone) {
					t.Errorf("node %d ran on the caller's goroutine: %v", i, on == goroutine())
				}
			}
		})
	}
}

// A node that ignores its context is waited for, in a step of one and of several, at the root and
// in a subgraph, with a store and without: nothing bounds it.
//
// Requirement: policy: waiting and giving up
func TestNodeThatIgnoresItsContext_IsWaitedFor(t *testing.T) {
	slow := func(returned *atomic.Bool) graph.Node[world] {
		return graph.Func(func(context.Context, *world) error {
			time.Sleep(time.Hour)
			returned.Store(true)
			return nil
		})
	}
	for name, make := range map[string]func(n graph.Node[world]) *graph.Builder[world]{
		"alone": func(n graph.Node[world]) *graph.Builder[world] { return parallel(map[string]graph.Node[world]{"a": n}) },
		"beside": func(n graph.Node[world]) *graph.Builder[world] {
			return parallel(map[string]graph.Node[world]{"a": n, "b": logs("b")})
		},
		"in a subgraph": func(n graph.Node[world]) *graph.Builder[world] {
			child := build(t, parallel(map[string]graph.Node[world]{"a": n, "b": logs("b")}), graph.Config{})
			return parallel(map[string]graph.Node[world]{"sub": graph.Inline(child)})
		},
	} {
		for _, store := range []bool{false, true} {
			for _, watched := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, store %v, watched %v", name, store, watched), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						var returned atomic.Bool
						cfg, run := graph.Config{}, graph.RunOptions{}
						if store {
							cfg, run = stored(), t1
						}
						c, cancel := context.WithTimeoutCause(ctx, time.Second, errBoom)
						defer cancel()
						g := build(t, make(slow(&returned)), cfg)
						var res graph.Result[world]
						var err error
						if watched {
							res, err = g.Start(c, world{}, run).Wait()
						} else {
							res, err = g.Invoke(c, world{}, run)
						}
						if ended(t, graph.Done, res, err); !returned.Load() { // it had nothing left to do
							t.Error("the run ended before its node")
						}
					})
				})
			}
		}
	}
}

// Requirement: policy: goroutines
func TestInlineRun_FailsAsAnyOther(t *testing.T) {
	for name, c := range map[string]struct {
		cfg graph.Config
		do  func(context.Context, *world) error
	}{
		"an error":       {graph.Config{}, func(context.Context, *world) error { return errBoom }},
		"a panic":        {graph.Config{}, func(context.Context, *world) error { panic(errBoom) }},
		"too many steps": {graph.Config{MaxSteps: 1}, func(context.Context, *world) error { return nil }},
	} {
		b := graph.New[world]("fails")
		b.Node("a", logs("a"))
		b.Node("b", graph.Func(c.do))
		b.Edge(graph.Start, "a")
		b.Edge("a", "b")
		b.Edge("b", graph.End)
		g := build(t, b, c.cfg)
		here, errHere := g.Invoke(ctx, world{}, graph.RunOptions{})
		there, errThere := g.Invoke(ctx, world{}, graph.RunOptions{Grace: time.Minute})
		logged(t, here, "a")
		logged(t, there, "a")
		if errHere == nil || errHere.Error() != errThere.Error() || here.Status != graph.Failed || here.Steps != there.Steps {
			t.Errorf("%s: %s after %d steps, %v; on a goroutine of its own %s after %d, %v",
				name, here.Status, here.Steps, errHere, there.Status, there.Steps, errThere)
		}
	}
}

// Requirement: policy: goroutines
func TestInlineRun_GoexitEndsTheCaller(t *testing.T) {
	b := graph.New[world]("goexit")
	b.Node("a", graph.Func(func(context.Context, *world) error { goexit(); return nil }))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	g := build(t, b, graph.Config{})
	done := make(chan struct{})
	returned := false
	go func() {
		defer close(done)
		_, _ = g.Invoke(ctx, world{}, graph.RunOptions{})
		returned = true
	}()
	if <-done; returned {
		t.Error("Invoke returned although its goroutine was to end")
	}
}

// Requirement: policy: waiting and giving up
func TestUnresponsiveNodeBesideOneThatFails_IsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := graph.New[world]("unresponsive")
		line(b, "a", "b")
		runs := make(chan struct{})
		b.Node("unresponsive", graph.Func(func(context.Context, *world) error { close(runs); <-release; return nil }))
		b.Node("fails", graph.Func(func(context.Context, *world) error { <-runs; return errBoom }))
		b.Edge("b", "unresponsive")
		b.Edge("b", "fails")
		b.Edge("unresponsive", graph.End)
		b.Edge("fails", graph.End)
		_, err := build(t, b, graph.Config{Grace: time.Minute}).Invoke(ctx, world{}, graph.RunOptions{})
		is(t, err, graph.ErrAbandoned)
		is(t, err, errBoom)
		close(release)
		synctest.Wait()
	})
}

func TestInlineRuns_ShareAGraph(t *testing.T) {
	b := graph.New[world]("shared")
	line(b, "a", "b", "c")
	g := build(t, b, graph.Config{})
	errs := make(chan error)
	for range 8 {
		go func() {
			var all error
			for range 50 {
				res, err := g.Invoke(ctx, world{}, graph.RunOptions{})
				if err == nil && res.State.Log.Len() != 3 {
					err = errors.New("a run saw another's state")
				}
				all = errors.Join(all, err)
			}
			errs <- all
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestNode_GoroutineLeftBehindGetsTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := graph.New[world]("goexit")
		cause := make(chan error, 1)
		b.Node("a", graph.Func(func(ctx context.Context, _ *world) error {
			go func() { <-ctx.Done(); cause <- ctx.Err() }()
			goexit()
			return nil
		}))
		b.Edge(graph.Start, "a")
		b.Edge("a", graph.End)
		g := build(t, b, graph.Config{})
		go func() { _, _ = g.Invoke(ctx, world{}, graph.RunOptions{}) }()
		is(t, <-cause, context.Canceled)
	})
}

// beside is a graph in which a node fails beside one that runs and does not stop.
func beside(t *testing.T, release <-chan struct{}, cfg graph.Config) *graph.Graph[world] {
	b := graph.New[world]("beside")
	line(b, "a")
	runs := make(chan struct{}, 1) // a step that has failed starts no more tasks
	b.Node("unresponsive", graph.Func(func(_ context.Context, s *world) error {
		runs <- struct{}{}
		<-release
		s.Log.Append("late")
		return nil
	}))
	b.Node("fails", graph.Func(func(context.Context, *world) error { <-runs; return errBoom }))
	for _, n := range []string{"unresponsive", "fails"} {
		b.Edge("a", n)
		b.Edge(n, graph.End)
	}
	return build(t, b, cfg)
}

// A child's own failure does not end the run around it, so only the child can abandon its
// unresponsive node.
func TestUnresponsiveNode_InASubgraphIsGivenUp(t *testing.T) {
	for name, root := range map[string]graph.Config{"no store": {}, "a store": stored()} {
		for _, timeout := range []time.Duration{0, time.Hour} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					release := make(chan struct{})
					child := beside(t, release, graph.Config{Grace: time.Minute, Timeout: timeout})
					b := graph.New[world]("parent")
					b.Node("child", graph.Subgraph(child, func(*world) (world, error) { return world{}, nil },
						func(s *world, end *world) error { s.Count.Add(1); return nil }))
					b.Edge(graph.Start, "child")
					b.Edge("child", graph.End)
					run := graph.RunOptions{}
					if root.Store != nil {
						run = t1
					}
					began := time.Now()
					_, err := build(t, b, root).Invoke(t.Context(), world{}, run)
					is(t, err, graph.ErrAbandoned)
					is(t, err, errBoom)
					if took := time.Since(began); took != time.Minute {
						t.Errorf("it was given up after %v, want the child's Grace", took)
					}
					close(release)
					synctest.Wait()
				})
			})
		}
	}
}

// angry is a value whose JSON cannot be made.
type angry struct{}

func (angry) MarshalJSON() ([]byte, error) { panic(errBoom) }
func (*angry) UnmarshalJSON([]byte) error  { return nil }

func TestResult_PanicInItsJSONIsAnError(t *testing.T) {
	type furious struct {
		A state.Value[angry] `json:"a"`
	}
	b := graph.New[furious]("furious")
	b.Node("a", graph.Func(func(_ context.Context, s *furious) error { s.A.Set(angry{}); return nil }))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	g := build(t, b, graph.Config{}).Untyped()
	for _, c := range []context.Context{ctx, t.Context()} {
		res, err := g.Invoke(c, []byte("{}"), graph.RunOptions{})
		var panicked *graph.PanicError
		if !errors.As(err, &panicked) || res.Status != graph.Failed {
			t.Errorf("got %s, %v; want a PanicError", res.Status, err)
		}
	}
}

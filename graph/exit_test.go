package graph_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// With Exit, a run with a step of several tasks makes one commit, even if a task is slow.
//
// Requirement: Durability bounds the loss of a crash
func TestExit_SlowSiblingMakesNoCommit(t *testing.T) {
	flow := func() *graph.Builder[world] {
		b := graph.New[world]("flow")
		b.Node("first", logs("first"))
		b.Node("a", logs("a"))
		b.Node("b", graph.Func(func(_ context.Context, s *world) error {
			time.Sleep(time.Hour)
			s.Log.Append("b")
			return nil
		}))
		b.Node("last", logs("last"))
		b.Edge(graph.Start, "first")
		b.Edge("first", "a")
		b.Edge("first", "b")
		b.Join("last", "a", "b")
		b.Edge("last", graph.End)
		return b
	}
	for name, b := range map[string]*graph.Builder[world]{
		"root": flow(), "subgraph": parallel(map[string]graph.Node[world]{"sub": graph.Inline(build(t, flow(), graph.Config{}))}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &faulty{Store: new(checkpoint.Memory)}
				g := build(t, b, graph.Config{Store: f})
				res, err := g.Invoke(t.Context(), world{}, graph.RunOptions{Thread: "t1", Durability: graph.Exit})
				logged(t, ended(t, graph.Done, res, err), "first a b last")
				if f.commits != 1 || f.writes != 1 {
					t.Errorf("%d commits and %d other writes, want the commit of the end alone", f.commits, f.writes-f.commits)
				}
			})
		})
	}
}

// With Exit, neither a question nor a finished task is stored while another task of the step runs.
// The pause is one commit, which has the results of all tasks.
//
// Requirement: Durability bounds the loss of a crash
func TestExit_QuestionAndSlowTaskMakeOneCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran counter
		f := &faulty{Store: new(checkpoint.Memory)}
		before := -1
		g := build(t, parallel(map[string]graph.Node[world]{
			"asks": asks("asks", &ran, "x"),
			"fast": logs("fast"),
			"slow": graph.Func(func(_ context.Context, s *world) error {
				ran.add("slow")
				time.Sleep(time.Hour)
				f.mu.Lock()
				before = f.writes
				f.mu.Unlock()
				s.Log.Append("slow")
				return nil
			}),
		}), graph.Config{Store: f})
		res, err := g.Invoke(t.Context(), world{}, graph.RunOptions{Thread: "t1", Durability: graph.Exit})
		asked(t, ended(t, graph.Interrupted, res, err), "x")
		if before != 0 {
			t.Errorf("got %d writes to the store before the slow task ended, want none", before)
		}
		if f.commits != 1 {
			t.Errorf("got %d commits, want 1", f.commits)
		}
		logged(t, resume(t, g, graph.Reply("1"), graph.Done), "asks x=1 fast slow")
		ran.want(t, "slow", 1)
	})
}

// With Exit too, the results of finished tasks are stored with the failure of another, and those
// tasks do not run again.
//
// Requirement: Durability bounds the loss of a crash
func TestExit_FailureKeepsFinishedSiblings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran counter
		f := &faulty{Store: new(checkpoint.Memory)}
		g := build(t, parallel(map[string]graph.Node[world]{
			"a": graph.Func(func(_ context.Context, s *world) error { ran.add("a"); s.Log.Append("a"); return nil }),
			"b": graph.Func(func(_ context.Context, s *world) error {
				time.Sleep(time.Hour)
				s.Log.Append("b")
				return failsFirst(&ran, "b", 1)
			}),
		}), graph.Config{Store: f})
		run := graph.RunOptions{Thread: "t1", Durability: graph.Exit}
		_, err := g.Invoke(t.Context(), world{}, run)
		if err == nil {
			t.Fatal("the run did not fail")
		}
		p, err := graph.Inspect(t.Context(), f, checkpoint.Key{Thread: "t1"})
		if got := finishes(p); err != nil || !slices.Equal(got, []string{"a"}) {
			t.Errorf("got %v, %v; want that a has finished", got, err)
		}
		res, err := g.Resume(t.Context(), graph.Answers{}, run)
		logged(t, ended(t, graph.Done, res, err), "a b")
		ran.want(t, "a", 1)
	})
}

// A subgraph that has finished in an attempt that is given up does not run again in the next.
func TestSubgraph_FinishedInAnAttemptThatIsGivenUp(t *testing.T) {
	for _, durability := range []graph.Durability{graph.Sync, graph.Async, graph.Exit} {
		t.Run(durability.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ran counter
				child := one(t, graph.Config{}, func(_ context.Context, s *world) error {
					ran.add("paid")
					s.Log.Append("paid")
					return nil
				})
				b := graph.New[world]("parent")
				b.Node("a", graph.Func(func(ctx context.Context, s *world) error {
					end, err := child.Call(ctx, world{})
					if err != nil {
						return err
					}
					if graph.Attempt(ctx) == 1 {
						time.Sleep(time.Hour)
					}
					s.Log.Append(end.Log.Slice()...)
					return nil
				}).With(graph.Policy{Timeout: time.Second, Retry: graph.Retry{Attempts: 2, Initial: graph.NoWait}}))
				through(b, "a")
				g := build(t, b, graph.Config{Store: new(checkpoint.Memory), Grace: time.Second})
				res, err := g.Invoke(t.Context(), world{}, graph.RunOptions{Thread: "t1", Durability: durability})
				logged(t, ended(t, graph.Done, res, err), "paid")
				ran.want(t, "paid", 1)
				time.Sleep(time.Hour) // the attempt that was given up returns
			})
		})
	}
}

// A run that is given up has stored what finished before: the steps, those of its subgraphs, and
// the subgraphs that finished in the task that does not stop.
func TestRun_GivenUpStoresWhatItHasFinished(t *testing.T) {
	node := func(ran *counter, name string) graph.Node[world] {
		return graph.Func(func(_ context.Context, s *world) error {
			ran.add(name)
			s.Log.Append(name)
			return nil
		})
	}
	for _, durability := range []graph.Durability{graph.Sync, graph.Async, graph.Exit} {
		for _, timeout := range []time.Duration{0, time.Hour} {
			t.Run(fmt.Sprint(durability, timeout), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var ran counter
					paid := graph.New[world]("paid")
					paid.Node("pay", node(&ran, "pay"))
					through(paid, "pay")
					pays := build(t, paid, graph.Config{})

					inner := graph.New[world]("inner")
					inner.Node("search", node(&ran, "search"))
					inner.Node("hang", graph.Func(func(ctx context.Context, s *world) error {
						end, err := pays.Call(ctx, world{})
						if err == nil && ran.add("hang") == 1 {
							time.Sleep(time.Hour)
						}
						s.Log.Append(end.Log.Slice()...)
						return err
					}).With(graph.Policy{Timeout: timeout}))
					through(inner, "search", "hang")
					calls := build(t, inner, graph.Config{})

					outer := graph.New[world]("outer")
					outer.Node("first", node(&ran, "first"))
					outer.Node("call", graph.Func(func(ctx context.Context, s *world) error {
						one, err := pays.Call(ctx, world{})
						if err != nil {
							return err
						}
						two, err := calls.Call(ctx, world{})
						s.Log.Append(one.Log.Slice()...)
						s.Log.Append(two.Log.Slice()...)
						return err
					}))
					through(outer, "first", "call")
					g := build(t, outer, graph.Config{Store: new(checkpoint.Memory), Grace: time.Second})

					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					_, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Durability: durability})
					is(t, err, graph.ErrAbandoned)
					res, err := g.Resume(t.Context(), graph.Answers{}, graph.RunOptions{Thread: "t1", Durability: durability})
					logged(t, ended(t, graph.Done, res, err), "first pay search pay")
					for name, n := range map[string]int{"first": 1, "pay": 2, "search": 1, "hang": 2} {
						ran.want(t, name, n)
					}
					time.Sleep(time.Hour) // what was given up returns
				})
			})
		}
	}
}

// What a task has finished is stored too when another task of its step does not stop.
func TestRun_GivenUpStoresTheTasksThatHaveFinished(t *testing.T) {
	for _, durability := range []graph.Durability{graph.Sync, graph.Async, graph.Exit} {
		t.Run(durability.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ran counter
				g := build(t, parallel(map[string]graph.Node[world]{
					"quick": graph.Func(func(_ context.Context, s *world) error {
						ran.add("quick")
						s.Log.Append("quick")
						return nil
					}),
					"stuck": graph.Func(func(_ context.Context, s *world) error {
						if ran.add("stuck") <= 1 {
							time.Sleep(time.Hour)
						}
						s.Log.Append("stuck")
						return nil
					}),
				}), graph.Config{Store: new(checkpoint.Memory), Grace: time.Second})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Durability: durability})
				is(t, err, graph.ErrAbandoned)
				res, err := g.Resume(t.Context(), graph.Answers{}, graph.RunOptions{Thread: "t1", Durability: durability})
				logged(t, ended(t, graph.Done, res, err), "quick stuck")
				ran.want(t, "quick", 1)
				time.Sleep(time.Hour) // what was given up returns
			})
		})
	}
}

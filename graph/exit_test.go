package graph_test

import (
	"context"
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
				f := &faultStore{Store: new(checkpoint.Memory)}
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
		f := &faultStore{Store: new(checkpoint.Memory)}
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
		f := &faultStore{Store: new(checkpoint.Memory)}
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

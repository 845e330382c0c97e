package graph_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// paid is a node that stores a side effect, so its run first stores the steps before it.
func paid() graph.Node[world] {
	return graph.Func(func(ctx context.Context, _ *world) error {
		_, err := graph.Once(ctx, "paid", func(context.Context) (bool, error) { return true, nil })
		return err
	})
}

func TestCheckpoints_OfASubgraphUnderExit(t *testing.T) {
	child := graph.New[world]("child")
	child.Node("x", logs("x"))
	child.Node("y", paid())
	through(child, "x", "y")
	b := graph.New[world]("parent")
	b.Node("sub", graph.Inline(build(t, child, graph.Config{})))
	through(b, "sub")
	sameLines(t, eventLines(t, build(t, b, stored()).Stream(ctx, world{}, graph.RunOptions{
		Thread: "t1", Durability: graph.Exit, Modes: graph.Checkpoints,
	})), `
commit 1
sub/commit 1
commit 2
ended done [x]`)
}

func TestCheckpoints_OfAOnceUnderExitComeAfterItsStep(t *testing.T) {
	b := graph.New[world]("parent")
	b.Node("x", paid())
	b.Node("y", logs("y"))
	through(b, "x", "y")
	sameLines(t, eventLines(t, build(t, b, stored()).Stream(ctx, world{}, graph.RunOptions{
		Thread: "t1", Durability: graph.Exit, Modes: graph.Checkpoints | graph.Tasks,
	})), `
started x
started xpaid
finished xpaid
finished x
commit 1
started y
finished y
commit 2
ended done [y]`)
}

func TestCheckpoints_ParentComesBeforeSubgraph(t *testing.T) {
	child := graph.New[world]("child")
	child.Node("x", logs("x"))
	child.Node("y", logs("y"))
	through(child, "x", "y")
	b := graph.New[world]("parent")
	b.Node("sub", graph.Inline(build(t, child, graph.Config{})))
	through(b, "sub")
	sameLines(t, eventLines(t, build(t, b, stored()).Stream(ctx, world{}, graph.RunOptions{
		Thread: "t1", Durability: graph.Async, Modes: graph.Checkpoints,
	})), `
commit 1
sub/commit 1
sub/commit 2
sub/commit 3
commit 2
ended done [x y]`)
}

// A restored task that uses no context is not used again for another node, because its memo journal
// ends with its step.
func TestOnce_AfterARestoredTaskThatUsesNoContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran counter
		once := func(ctx context.Context) error {
			_, err := graph.Once(ctx, "paid", func(context.Context) (bool, error) { return true, nil })
			return err
		}
		b := graph.New[world]("reuse")
		b.Node("a", graph.Func(func(ctx context.Context, s *world) error {
			if ran.add("a") == 1 {
				return errors.Join(once(ctx), errors.New("not yet"))
			}
			s.Log.Append("a")
			return nil
		}))
		b.Node("b", graph.Func(func(ctx context.Context, s *world) error {
			s.Log.Append("b")
			return once(ctx)
		}))
		var resumed atomic.Bool
		b.Node("slow", graph.Func(func(context.Context, *world) error {
			if resumed.Load() && ran.add("slow") == 1 {
				time.Sleep(5 * time.Second) // is given up
			}
			return nil
		}).With(graph.Policy{Timeout: time.Second, Retry: graph.Retry{Attempts: 2, Initial: graph.NoWait}}))
		b.Edge(graph.Start, "a")
		b.Edge(graph.Start, "slow")
		b.Edge("a", "b")
		b.Edge("slow", graph.End)
		b.Edge("b", graph.End)
		g := build(t, b, graph.Config{Store: new(checkpoint.Memory), Grace: time.Second})
		run := graph.RunOptions{Thread: "t", Durability: graph.Exit}
		if _, err := g.Invoke(t.Context(), world{}, run); err == nil {
			t.Fatal("the first run did not fail")
		}
		resumed.Store(true)
		res, err := g.Resume(t.Context(), graph.Answers{}, run)
		logged(t, ended(t, graph.Done, res, err), "a b")
		time.Sleep(20 * time.Second) // until the attempt that was given up has returned
	})
}

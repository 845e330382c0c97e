package graph_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/graph"
)

// queueing is a graph whose only node calls another graph n times at once. The node ask of that
// graph has the policy p and makes a call. There are fewer slots than tasks that wait.
func queueing(t *testing.T, cfg, inner graph.Config, p graph.Policy, n int) *graph.Graph[world] {
	small := graph.New[world]("small")
	small.Node("fan", graph.Router(func(context.Context, *world) (graph.Command, error) {
		return graph.Send("ask", 1).Send("ask", 2), nil
	}, "ask"))
	small.Node("ask", graph.Worker(func(ctx context.Context, s *world, _ int) error {
		n, err := graph.Call(ctx, "model", func(context.Context) (int, error) { time.Sleep(time.Second); return 1, nil })
		s.Count.Add(n)
		return err
	}).With(p))
	small.Edge(graph.Start, "fan")
	small.Edge("ask", graph.End)
	child := build(t, small, inner)
	b := graph.New[world]("queueing")
	b.Node("all", graph.Func(func(ctx context.Context, s *world) error {
		var all []*graph.Future[world]
		for range n {
			all = append(all, child.Go(ctx, world{}))
		}
		for _, f := range all {
			end, err := f.Wait(ctx)
			if err != nil {
				return err
			}
			s.Count.Add(end.Count.Get())
		}
		return nil
	}))
	b.Edge(graph.Start, "all")
	b.Edge("all", graph.End)
	return build(t, b, cfg)
}

// A task that waits for a Limit or for Parallel releases its slot. Otherwise the tasks that have a
// permit would wait for a slot, and the run would deadlock, which synctest reports.
//
// Requirement: policy: limits
func TestRun_OfWaitingTasksMakesProgress(t *testing.T) {
	for _, n := range []int{1, 2, 3} {
		synctest.Test(t, func(t *testing.T) {
			l := limits(t, graph.Limit{Concurrency: 1})
			res := invoke(t, queueing(t, graph.Config{Concurrency: n}, graph.Config{Limits: l}, graph.Policy{Limit: "api"}, 5), "", graph.Done)
			if res.State.Count.Get() != 10 {
				t.Errorf("a limit, %d slots: %d calls, want 10", n, res.State.Count.Get())
			}
			res = invoke(t, queueing(t, graph.Config{Concurrency: n}, graph.Config{}, graph.Policy{Parallel: 1}, 5), "", graph.Done)
			if res.State.Count.Get() != 10 {
				t.Errorf("Parallel, %d slots: %d calls, want 10", n, res.State.Count.Get())
			}
		})
	}
}

// A handler has permits of its own: its own policy sets their number, not that of its node.
func TestParallel_OfAHandlerIsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var node, handler gauge
		b := graph.New[world]("mended")
		b.Node("fan", graph.Router(func(context.Context, *world) (cmd graph.Command, err error) {
			for i := range 8 {
				cmd = cmd.Send("work", i)
			}
			return cmd, nil
		}, "work"))
		fails := func(context.Context, *world, int) error { node.work(time.Second); return errors.New("no") }
		b.Node("work", graph.Worker(fails).With(graph.Policy{Parallel: 4}))
		b.OnError("work", graph.Handler(func(context.Context, *world, *graph.NodeError) (graph.Command, error) {
			handler.work(time.Second)
			return graph.Command{}, nil
		}).With(graph.Policy{Parallel: 1}))
		b.Edge(graph.Start, "fan")
		b.Edge("work", graph.End)
		invoke(t, build(t, b, graph.Config{}), "", graph.Done)
		if node.most != 4 || handler.most != 1 {
			t.Errorf("%d of the node and %d of its handler at once, want 4 and 1", node.most, handler.most)
		}
	})
}

// A task that waits for its next attempt releases its permit, so one that always fails does not
// block the others.
func TestRetryWait_ReleasesTheParallelPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var first atomic.Bool
		var g gauge
		b := graph.New[world]("retries")
		b.Node("fan", graph.Router(func(context.Context, *world) (graph.Command, error) {
			return graph.Send("work", 1).Send("work", 2).Send("work", 3), nil
		}, "work"))
		b.Node("work", graph.Worker(func(context.Context, *world, int) error {
			g.work(time.Second)
			if first.CompareAndSwap(false, true) {
				return errors.New("once")
			}
			return nil
		}).With(graph.Policy{Parallel: 1, Retry: graph.Retry{Attempts: 2, Initial: 10 * time.Second}}))
		b.Edge(graph.Start, "fan")
		b.Edge("work", graph.End)
		began := time.Now()
		invoke(t, build(t, b, graph.Config{}), "", graph.Done)
		if took := time.Since(began); took != 12*time.Second || g.most != 1 {
			t.Errorf("took %v with %d at once, want 12s with 1", took, g.most)
		}
	})
}

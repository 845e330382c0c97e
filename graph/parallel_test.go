package graph_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/graph"
)

// sentTo is a graph that sends n tasks to one node, which works a second.
func sentTo(t *testing.T, g *gauge, n int, p graph.Policy) *graph.Graph[world] {
	b := graph.New[world]("sentTo")
	b.Node("fan", graph.Router(func(context.Context, *world) (cmd graph.Command, err error) {
		for i := range n {
			cmd = cmd.Send("work", i)
		}
		return cmd, nil
	}, "work"))
	b.Node("work", graph.Worker(func(context.Context, *world, int) error { g.work(time.Second); return nil }).With(p))
	b.Edge(graph.Start, "fan")
	b.Edge("work", graph.End)
	return build(t, b, graph.Config{})
}

func TestParallel_BoundsTheTasksOfANodeInOneRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gauge
		flow := sentTo(t, &g, 10, graph.Policy{Parallel: 3, Timeout: 1500 * time.Millisecond})
		began := time.Now()
		if _, err := flow.Invoke(t.Context(), world{}, graph.RunOptions{}); err != nil {
			t.Fatal(err) // the wait for a permit does not count for the attempt's timeout
		}
		if took := time.Since(began); g.most != 3 || took != 4*time.Second {
			t.Errorf("%d at once for %v, want 3 for 4s", g.most, took)
		}
		g = gauge{}
		done := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := flow.Invoke(t.Context(), world{}, graph.RunOptions{})
				done <- err
			}()
		}
		for range 2 {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		if g.most != 6 {
			t.Errorf("two runs had %d at once, want 3 each", g.most)
		}
	})
}

func TestCancel_EndsTheWaitForAParallelPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gauge
		flow := sentTo(t, &g, 4, graph.Policy{Parallel: 1})
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		if _, err := flow.Invoke(ctx, world{}, graph.RunOptions{}); err == nil || g.now != 0 {
			t.Errorf("got %v, and %d still at work", err, g.now)
		}
	})
}

func TestParallel_NegativeIsAMistake(t *testing.T) {
	b := graph.New[world]("bad")
	b.Node("a", graph.Func(func(context.Context, *world) error { return nil }).With(graph.Policy{Parallel: -1}))
	b.Edge(graph.Start, "a")
	if _, err := b.Compile(graph.Config{}); err == nil || !strings.Contains(err.Error(), "-1 attempts at once") {
		t.Errorf("got %v", err)
	}
}

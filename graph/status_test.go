package graph_test

import (
	"context"
	"errors"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// TestThread_FailedAndCancelledDiffer fails one of two tasks, and then cancels a run.
func TestThread_FailedAndCancelledDiffer(t *testing.T) {
	store := new(checkpoint.Memory)
	compile := func(left func(context.Context, *State) error) *graph.Graph[State] {
		b := graph.New[State]("status")
		running := make(chan struct{}, 1)
		b.Node("left", graph.Func(func(ctx context.Context, s *State) error {
			<-running
			return left(ctx, s)
		}))
		b.Node("right", graph.Func(func(ctx context.Context, _ *State) error {
			running <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}))
		for _, n := range []string{"left", "right"} {
			b.Edge(graph.Start, n)
			b.Edge(n, graph.End)
		}
		g, err := b.Compile(graph.Config{Store: store})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	broken := errors.New("broken")
	failing := compile(func(context.Context, *State) error { return broken })
	if _, err := failing.Invoke(t.Context(), State{}, graph.RunOptions{Thread: "failed"}); !errors.Is(err, broken) {
		t.Fatalf("got %v, want %v", err, broken)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancelled := compile(func(context.Context, *State) error { cancel(); return ctx.Err() })
	if _, err := cancelled.Invoke(ctx, State{}, graph.RunOptions{Thread: "cancelled"}); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want %v", err, context.Canceled)
	}
	for thread, want := range map[string]graph.Status{"failed": graph.Failed, "cancelled": graph.Pending} {
		p, err := graph.Inspect(t.Context(), store, checkpoint.Key{Thread: thread})
		if err != nil || p.Status != want || len(p.Failures) != 2 {
			t.Errorf("%s: got %s with %+v, %v; want %s", thread, p.Status, p.Failures, err, want)
		}
	}
	p, err := graph.Inspect(t.Context(), store, checkpoint.Key{Thread: "failed"})
	if err != nil || p.Failures[0].Cancelled || p.Failures[0].Message != "broken" || !p.Failures[1].Cancelled {
		t.Errorf("got %+v, %v; want the first broken and the second cancelled", p.Failures, err)
	}
}

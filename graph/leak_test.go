package graph_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// TestContext_ThatOutlivesItsNode keeps the context of a task in a goroutine while later
// tasks run: it goes on to speak for its own task, and can no longer ask.
func TestContext_ThatOutlivesItsNode(t *testing.T) {
	var left sync.WaitGroup
	returned := make(chan struct{})
	b := graph.New[small]("leak")
	b.Node("first", graph.Func(func(ctx context.Context, s *small) error {
		id := graph.TaskID(ctx)
		left.Go(func() {
			<-returned
			for range 1000 {
				if got := graph.TaskID(ctx); got != id {
					t.Errorf("the id became %s, was %s", got, id)
					return
				}
				_ = graph.Emit(ctx, 1)
			}
			if _, err := graph.Ask[bool](ctx, graph.Question{Prompt: "late"}); !errors.Is(err, graph.ErrNoTask) {
				t.Errorf("a question after the node has returned: %v, want ErrNoTask", err)
			}
		})
		return nil
	}))
	b.Node("again", graph.Func(func(ctx context.Context, s *small) error {
		if s.Rounds.Get() == 0 {
			close(returned)
		}
		s.Rounds.Add(1)
		return nil
	}))
	b.Branch("again", func(_ context.Context, s *small) (graph.Command, error) {
		if s.Rounds.Get() < 100 {
			return graph.Goto("again"), nil
		}
		left.Wait()
		return graph.Goto(graph.End), nil
	}, "again", graph.End)
	b.Edge(graph.Start, "first")
	b.Edge("first", "again")
	g, err := b.Compile(graph.Config{Store: new(checkpoint.Memory)})
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Invoke(t.Context(), small{}, graph.RunOptions{Thread: "t"})
	if err != nil || res.Status != graph.Done || res.Steps != 101 {
		t.Errorf("%s after %d steps, %d questions, %v", res.Status, res.Steps, len(res.Interrupts), err)
	}
}

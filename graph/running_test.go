package graph

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/state"
)

// TestRunning_ReplacedTasksAreNotListed counts what is listed when attempts that were given up have
// returned, in the root and in subgraphs that have ended.
func TestRunning_ReplacedTasksAreNotListed(t *testing.T) {
	type count struct {
		N state.Sum[int] `json:"n"`
	}
	slow := Func(func(ctx context.Context, s *count) error {
		if Attempt(ctx) < 10 {
			time.Sleep(10 * time.Second)
		}
		s.N.Add(1)
		return nil
	})
	patient := Policy{Timeout: time.Second, Retry: Retry{Attempts: 10, Initial: NoWait}}
	compile := func(b *Builder[count]) *Graph[count] {
		t.Helper()
		g, err := b.Compile(Config{Grace: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	synctest.Test(t, func(t *testing.T) {
		c := New[count]("child")
		c.Node("slow", slow.With(patient))
		c.Edge(Start, "slow")
		c.Edge("slow", End)
		child := compile(c)
		b := New[count]("flow")
		b.Node("slow", slow.With(patient))
		b.Node("sub", Subgraph(child, func(*count) (count, error) { return count{}, nil }, func(*count, *count) error { return nil }))
		listed := 0
		b.Node("look", Func(func(ctx context.Context, _ *count) error {
			time.Sleep(time.Minute) // until all attempts have returned
			l := taskOf(ctx).running
			l.mu.Lock()
			defer l.mu.Unlock()
			for t := l.first; t != nil; t = t.next {
				listed++
			}
			return nil
		}))
		b.Edge(Start, "slow")
		b.Edge("slow", "sub")
		b.Edge("sub", "look")
		b.Edge("look", End)
		if _, err := compile(b).Invoke(t.Context(), count{}, RunOptions{}); err != nil {
			t.Fatal(err)
		}
		if listed != 1 {
			t.Errorf("%d tasks are listed, want the one that looks", listed)
		}
	})
}

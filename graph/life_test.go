package graph_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/weftrun/weft/graph"
)

// TestContext_EndsWithItsRun looks at the context of a node after the run, whether the node has
// waited for its end or not.
func TestContext_EndsWithItsRun(t *testing.T) {
	type key struct{}
	outer := context.WithValue(t.Context(), key{}, "outer")
	for name, use := range map[string]func(context.Context){
		"unused":   func(context.Context) {},
		"watched":  func(ctx context.Context) { _ = ctx.Done() },
		"derived":  func(ctx context.Context) { _, cancel := context.WithCancel(ctx); cancel() },
		"searched": func(ctx context.Context) { graph.TaskID(ctx) },
	} {
		var last context.Context
		b := graph.New[small]("one")
		b.Node("a", graph.Func(func(ctx context.Context, _ *small) error {
			use(ctx)
			if last = ctx; ctx.Err() != nil || context.Cause(ctx) != nil {
				t.Errorf("%s: the context has ended before the run: %v", name, context.Cause(ctx))
			}
			return nil
		}))
		b.Edge(graph.Start, "a")
		b.Edge("a", graph.End)
		if _, err := compile(t, b).Invoke(outer, small{}, graph.RunOptions{}); err != nil {
			t.Fatal(err)
		}
		<-last.Done()
		if !errors.Is(last.Err(), context.Canceled) || !errors.Is(context.Cause(last), context.Canceled) || last.Value(key{}) != "outer" {
			t.Errorf("%s: after the run the context has the error %v, the cause %v and the value %v", name, last.Err(), context.Cause(last), last.Value(key{}))
		}
	}
}

// TestContext_EndsWithItsCaller cancels the context of a call while many goroutines of a node begin
// to wait for the end of theirs.
func TestContext_EndsWithItsCaller(t *testing.T) {
	why := errors.New("enough")
	outer, cancel := context.WithCancelCause(t.Context())
	b := graph.New[small]("one")
	b.Node("a", graph.Func(func(ctx context.Context, _ *small) error {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				<-ctx.Done()
				if err := context.Cause(ctx); !errors.Is(err, why) {
					t.Errorf("the cause is %v, want %v", err, why)
				}
			})
		}
		cancel(why)
		all.Wait()
		return ctx.Err()
	}))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	if _, err := compile(t, b).Invoke(outer, small{}, graph.RunOptions{}); !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
}

// TestInvoke_AllocatesLittle holds the number of allocations of a run of one node.
func TestInvoke_AllocatesLittle(t *testing.T) {
	b := graph.New[small]("one")
	b.Node("add", graph.Func(addRound))
	b.Edge(graph.Start, "add")
	b.Edge("add", graph.End)
	g, outer := compile(t, b), t.Context()
	allocs := testing.AllocsPerRun(100, func() {
		if _, err := g.Invoke(outer, small{}, graph.RunOptions{}); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 8 {
		t.Errorf("an Invoke of one node allocates %v times, the budget is 8", allocs)
	}
}

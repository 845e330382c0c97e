package graph_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/graph"
)

// Requirement: Panics and cancelling
// Requirement: a node panics or hangs
func TestPanic_IsAnErrorThatNamesTheNode(t *testing.T) {
	for name, what := range map[string]any{"text": "oh no", "an error": errBoom, "nil": nil} {
		for _, p := range []graph.Policy{{}, {Timeout: time.Hour}, {Retry: graph.Retry{Attempts: 3}}} {
			for _, wide := range []bool{false, true} {
				var ran counter
				n := graph.Func(func(context.Context, *world) error { ran.add("a"); panic(what) })
				b := graph.New[world]("panic")
				b.Node("a", n.With(p))
				b.Edge(graph.Start, "a")
				b.Edge("a", graph.End)
				if wide {
					line(b, "b")
				}
				_, err := build(t, b, stored()).Invoke(ctx, world{}, t1)
				var pe *graph.PanicError
				if !errors.As(err, &pe) || !strings.Contains(string(pe.Stack), "panic_test.go") {
					t.Fatalf("%s: got %v, want a *PanicError with the stack of the node", name, err)
				}
				is(t, err, pe, `node "a"`, "step 1", `thread "t1"`)
				if e, ok := what.(error); ok {
					is(t, err, e)
				}
				ran.want(t, "a", 1) // a panic is not retried unless Retry.If accepts it
			}
		}
	}
}

func TestPanic_IsRetriedIfThePolicyAllows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran counter
		n := graph.Func(func(_ context.Context, s *world) error {
			s.Log.Append("a")
			if ran.add("a") < 3 {
				panic("boom")
			}
			return nil
		})
		p := graph.Policy{Retry: graph.Retry{Attempts: 3, If: func(error) bool { return true }}}
		res, err := single(t, n, p, graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
		logged(t, ended(t, graph.Done, res, err), "a")
	})
}

func TestPanic_InThePolicyIsAnError(t *testing.T) {
	for _, wide := range []bool{false, true} {
		b := graph.New[world]("policy")
		fails := graph.Func(func(context.Context, *world) error { return errBoom })
		b.Node("a", fails.With(graph.Policy{Retry: graph.Retry{Attempts: 2, If: func(error) bool { panic("in If") }}}))
		b.Edge(graph.Start, "a")
		b.Edge("a", graph.End)
		if wide {
			line(b, "b")
		}
		_, err := build(t, b, graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
		var pe *graph.PanicError
		if !errors.As(err, &pe) {
			t.Errorf("got %v, want a *PanicError", err)
		}
	}
}

func TestGoexit_OfANodeIsAnError(t *testing.T) {
	for name, p := range map[string]graph.Policy{"plain": {}, "with a limit": {Timeout: time.Hour}} {
		for _, others := range []int{0, 1, 100} {
			t.Run(fmt.Sprint(name, " beside ", others), func(t *testing.T) {
				b := graph.New[world]("goexit")
				b.Node("a", graph.Func(func(context.Context, *world) error { goexit(); return nil }).With(p))
				b.Edge(graph.Start, "a")
				b.Edge("a", graph.End)
				for i := range others {
					line(b, fmt.Sprint("n", i))
				}
				res, err := build(t, b, graph.Config{Concurrency: 2, Grace: time.Minute}).Invoke(t.Context(), world{}, graph.RunOptions{})
				if err == nil || res.Status != graph.Failed || !strings.Contains(err.Error(), `node "a"`) {
					t.Errorf("got %q, %v; want a failure that names the node", res.Status, err)
				}
			})
		}
	}
}

func TestGoexit_OfASubgraphNamesItsNode(t *testing.T) {
	exits := graph.Func(func(context.Context, *world) error { goexit(); return nil })
	child := single(t, exits, graph.Policy{}, graph.Config{Timeout: time.Hour})
	b := graph.New[world]("parent")
	b.Node("outer", graph.Func(func(ctx context.Context, s *world) error { _, err := child.Call(ctx, *s); return err }))
	b.Edge(graph.Start, "outer")
	b.Edge("outer", graph.End)
	_, err := build(t, b, graph.Config{Grace: time.Minute}).Invoke(t.Context(), world{}, graph.RunOptions{})
	if err == nil || !strings.Contains(err.Error(), `node "outer"`) || !strings.Contains(err.Error(), `node "a"`) {
		t.Errorf("got %v; want an error that names both nodes", err)
	}
}

func goexit() { runtime.Goexit() }

package graph_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// These tests combine steps inside a node with fallbacks, handlers, caches and timeouts.

func TestCalls_PartsOfANodeHaveTheirOwn(t *testing.T) {
	var ran counter
	keeps := func(name string, err error) graph.Node[world] {
		return graph.Func(func(ctx context.Context, s *world) error {
			one, err1 := graph.Once(ctx, "k", yields(&ran, name+" once"))
			two, err2 := graph.Go(ctx, "c", yields(&ran, name+" call")).Wait(ctx)
			s.Log.Append(one, two)
			return errors.Join(err1, err2, err)
		})
	}
	boom := errors.New("boom")
	b := graph.New[world]("parts")
	b.Node("n", graph.Fallback(keeps("first", boom), keeps("second", boom)).With(again(2)))
	b.OnError("n", graph.Handler(func(ctx context.Context, s *world, _ *graph.NodeError) (graph.Command, error) {
		one, err := graph.Once(ctx, "k", yields(&ran, "handler once"))
		s.Log.Append(one)
		_, asked := graph.Ask[bool](ctx, graph.Question{Prompt: "q"})
		return graph.Command{}, errors.Join(err, asked)
	}))
	b.Edge(graph.Start, "n")
	b.Edge("n", graph.End)
	g := build(t, b, stored())
	asked(t, invoke(t, g, "t1", graph.Interrupted), "q")
	logged(t, resume(t, g, graph.Reply(true), graph.Done), "handler once")
	for _, name := range []string{"first once", "first call", "second once", "second call", "handler once"} {
		ran.want(t, name, 1)
	}
}

func TestParentCommand_PassesFallbacksAndHandlers(t *testing.T) {
	var ran counter
	child := leaves(t, &ran, func(context.Context) (graph.Command, error) { return graph.Goto("x").InParent(), nil })
	b := graph.New[world]("pass")
	other := graph.Func(func(context.Context, *world) error { ran.add("other"); return nil })
	b.Node("host", graph.Fallback(hosting(child, &ran), other))
	b.OnError("*", graph.Handler(func(context.Context, *world, *graph.NodeError) (graph.Command, error) {
		ran.add("handler")
		return graph.Command{}, nil
	}, "x"))
	b.Node("x", logs("x"))
	b.Node("y", logs("y"))
	b.Node("w", graph.Worker(func(context.Context, *world, int) error { return nil }))
	b.Edge(graph.Start, "host")
	for _, n := range []string{"x", "y", "w"} {
		b.Edge(n, graph.End)
	}
	logged(t, invoke(t, build(t, b, stored()), "t1", graph.Done), "in x")
	ran.want(t, "other", 0)
	ran.want(t, "handler", 0)

	root := graph.New[world]("root")
	root.Node("n", graph.Router(func(context.Context, *world) (graph.Command, error) {
		return graph.Goto("x").InParent(), nil
	}, graph.End))
	root.Edge(graph.Start, "n")
	root.OnError("n", graph.Handler(func(context.Context, *world, *graph.NodeError) (graph.Command, error) {
		ran.add("handler")
		return graph.Goto(graph.End), nil
	}, graph.End))
	_, err := build(t, root, graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
	is(t, err, graph.ErrNoParent)
	ran.want(t, "handler", 0)
}

func TestCache_NodeWithACallThatAskedIsNotCached(t *testing.T) {
	var ran counter
	cfg := stored()
	cfg.Cache = new(graph.MemoryCache)
	b := graph.New[world]("cached")
	b.Node("n", graph.Cache(graph.Func(func(ctx context.Context, s *world) error {
		ran.add("n")
		v, err := graph.Call(ctx, "ask", func(ctx context.Context) (string, error) {
			return graph.Ask[string](ctx, graph.Question{Prompt: "q"})
		})
		s.Log.Append(v)
		return errors.Join(err, failsFirst(&ran, "after "+s.Name.Get(), 2))
	}), graph.Caching[world]{Key: func(*world) (string, error) { return "same", nil }}).With(again(2)))
	b.Edge(graph.Start, "n")
	b.Edge("n", graph.End)
	g := build(t, b, cfg)
	for _, name := range []string{"a", "b"} {
		res, err := g.Invoke(ctx, world{Name: state.Of(name)}, t1)
		asked(t, ended(t, graph.Interrupted, res, err), "q")
		resume(t, g, graph.Reply(name), graph.Done)
	}
}

func TestIdle_NodeThatWaitsForAPermitIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := one(t, graph.Config{Concurrency: 1}, func(ctx context.Context, s *world) error {
			var all []*graph.Future[int]
			for range 5 {
				all = append(all, graph.Go(ctx, "x", func(ctx context.Context) (int, error) {
					time.Sleep(time.Second)
					graph.Heartbeat(ctx)
					return 1, nil
				}))
			}
			for _, f := range all {
				n, err := f.Wait(ctx)
				if s.Count.Add(n); err != nil {
					return err
				}
			}
			return nil
		}, graph.Policy{Idle: 1500 * time.Millisecond})
		if res := invoke(t, g, "", graph.Done); res.State.Count.Get() != 5 {
			t.Errorf("the count is %d, want 5", res.State.Count.Get())
		}
	})
}

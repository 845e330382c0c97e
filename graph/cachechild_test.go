package graph_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/weftrun/weft/graph"
)

// cachesChild is a graph with a cached node that calls another, beside one that fails the first
// time.
func cachesChild(t *testing.T, ran *counter, nested graph.Lifetime, asks bool, cfg graph.Config) *graph.Graph[world] {
	t.Helper()
	c := graph.New[world]("child")
	c.Node("one", graph.Func(func(ctx context.Context, s *world) error {
		ran.add("one")
		s.Log.Append("one")
		return nil
	}))
	c.Node("two", graph.Func(func(ctx context.Context, s *world) error {
		if asks {
			ok, err := graph.Ask[bool](ctx, graph.Question{Prompt: "two?"})
			if err != nil {
				return err
			}
			s.Log.Append(fmt.Sprint(ok))
		}
		ran.add("two")
		s.Log.Append("two")
		return nil
	}))
	c.Edge(graph.Start, "one")
	c.Edge("one", "two")
	c.Edge("two", graph.End)
	child := build(t, c, graph.Config{Nested: nested})
	b := graph.New[world]("caches a child")
	b.Node("child", graph.Cache(graph.Subgraph(child, func(s *world) (world, error) { return world{}, nil }, func(s, end *world) error {
		for _, v := range end.Log.All() {
			s.Log.Append(v)
		}
		return nil
	}), graph.Caching[world]{}))
	b.Node("fails", graph.Func(func(context.Context, *world) error {
		if ran.add("fails") == 1 {
			return errBoom
		}
		return nil
	}))
	for _, n := range []string{"child", "fails"} {
		b.Edge(graph.Start, n)
		b.Edge(n, graph.End)
	}
	return build(t, b, cfg)
}

func TestCache_NodeThatCallsAGraphIsResumedAndReplayed(t *testing.T) {
	for name, nested := range map[string]graph.Lifetime{"per call": graph.PerCall, "per thread": graph.PerThread, "stateless": graph.Stateless} {
		for _, durability := range []graph.Durability{graph.Sync, graph.Async, graph.Exit} {
			t.Run(fmt.Sprint(name, ", ", durability), func(t *testing.T) {
				var ran counter
				cfg := stored()
				cfg.Cache, cfg.Concurrency = new(graph.MemoryCache), 1
				g := cachesChild(t, &ran, nested, false, cfg)
				first, second := graph.RunOptions{Thread: "t1", Durability: durability}, graph.RunOptions{Thread: "t2", Durability: durability}
				_, err := g.Invoke(ctx, world{}, first)
				is(t, err, errBoom)
				res, err := g.Resume(ctx, graph.Answers{}, first)
				ended(t, graph.Done, res, err)
				logged(t, res, "one two")
				res, err = g.Invoke(ctx, world{}, second)
				ended(t, graph.Done, res, err)
				logged(t, res, "one two")
				if n := ran.add("two"); n != 2 {
					t.Errorf("the child ran %d times, want once for both threads", n-1)
				}
				for _, thread := range []string{"t1", "t2"} {
					got, err := g.Thread(thread).Replay(ctx, 0, 0)
					if err != nil || got.Divergence != nil || got.Steps+len(got.Skipped) == 0 {
						t.Errorf("%s is replayed as %+v, %v", thread, got, err)
					}
				}
			})
		}
	}
}

func TestCache_NodeWhoseChildAsksIsNotCached(t *testing.T) {
	var ran counter
	ran.add("fails")
	cfg := stored()
	cfg.Cache = new(graph.MemoryCache)
	g := cachesChild(t, &ran, graph.PerCall, true, cfg)
	for i, thread := range []string{"t1", "t2"} {
		run := graph.RunOptions{Thread: thread}
		res, err := g.Invoke(ctx, world{}, run)
		ended(t, graph.Interrupted, res, err)
		res, err = g.Resume(ctx, graph.Answer(res.Interrupts[0].ID, i == 0), run)
		ended(t, graph.Done, res, err)
		logged(t, res, fmt.Sprint("one ", i == 0, " two"))
		if got, err := g.Thread(thread).Replay(ctx, 0, 0); err != nil || got.Divergence != nil {
			t.Errorf("%s is replayed as %+v, %v", thread, got, err)
		}
	}
}

package graph_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// The test runs a graph 50 times with a clock and ids of its own, and compares all that is stored.
// The second question is answered first.
//
// Requirement: One order
func TestDeterminism_SameInputsGiveTheSameBytes(t *testing.T) {
	var want string
	for i := range 50 {
		var n atomic.Int64
		var ran counter
		store := &faultStore{Store: new(checkpoint.Memory)}
		cfg := graph.Config{Store: store, Now: func() time.Time { return time.Unix(1e9, 0) }, NewID: func() string { return fmt.Sprint("id", n.Add(1)) }}
		c := child(t, &ran, graph.Config{}, func(ctx context.Context, s *inner) error {
			_, err := graph.Ask[bool](ctx, graph.Question{Prompt: s.Tag.Get()})
			return err
		})
		b := fanned(hosts(c, "x", nil), hosts(c, "y", nil))
		g := build(t, b, cfg)
		res := invoke(t, g, "t1", graph.Interrupted)
		got := dump(store, "t1", store.namespaces()...)
		res = resume(t, g, graph.Answer(res.Interrupts[1].ID, true), graph.Interrupted)
		got += dump(store, "t1", store.namespaces()...)
		resume(t, g, graph.Reply(false), graph.Done)
		got += dump(store, "t1", store.namespaces()...)
		if i == 0 {
			want = got
		}
		if got != want {
			t.Fatalf("run %d stored other bytes than run 0: got\n%s\nwant\n%s", i, got, want)
		}
	}
}

// fanned returns a graph with forks, Sends and two parallel subgraphs.
func fanned(x, y graph.Node[world]) *graph.Builder[world] {
	b := graph.New[world]("fanned")
	b.Node("r", goes("r", graph.Goto("a", "b").Send("w", 2).Send("w", 1), "a", "b", "w"))
	b.Node("w", graph.Worker(func(_ context.Context, s *world, n int) error {
		s.Log.Append(fmt.Sprint(n))
		s.Seen.Put("w", n)
		return nil
	}))
	b.Node("x", x)
	b.Node("y", y)
	b.Edge(graph.Start, "r")
	for _, name := range []string{"a", "b"} {
		b.Node(name, logs(name))
		b.Edge(name, "x")
		b.Edge(name, "y")
	}
	for _, name := range []string{"w", "x", "y"} {
		b.Edge(name, graph.End)
	}
	return b
}

func TestDeterminism_OrderOfDeclarationDoesNotMatter(t *testing.T) {
	var want string
	for range 20 {
		b := graph.New[world]("order")
		declare := []func(){
			func() { b.Node("a", goes("a", graph.Goto("b").Send("w", 1), "b", "w")) },
			func() { b.Node("b", logs("b")) },
			func() { b.Node("c", logs("c")) },
			func() { b.Node("d", logs("d")) },
			func() { b.Node("w", graph.Worker(takesInt)) },
			func() { b.Edge(graph.Start, "a") },
			func() { b.Edge("a", "c") },
			func() { b.Edge("w", graph.End) },
			func() { b.Edge("d", graph.End) },
			func() { b.Join("d", "c", "b") },
			func() { b.Join("d", "w", "b") },
			func() { b.Defer("d") },
		}
		order := rand.Perm(len(declare))
		for _, i := range order {
			declare[i]()
		}
		store := new(checkpoint.Memory)
		cfg := graph.Config{Store: store, Now: func() time.Time { return time.Time{} }, NewID: func() string { return "id" }}
		logged(t, invoke(t, build(t, b, cfg), "t1", graph.Done), "a b c d")
		got := dump(store, "t1", "")
		if want == "" {
			want = got
		}
		if got != want {
			t.Fatalf("declared in the order %v: got\n%s\nwant\n%s", order, got, want)
		}
	}
}

// An answer is for the task with its id, so a retry and a resume do not change the id.
//
// Requirement: An answer to an old question
func TestTaskIDs_AreStableAndUnique(t *testing.T) {
	var ran counter
	fails := true
	b := graph.New[world]("ids")
	b.Node("a", goes("a", graph.Goto("b").Send("w", 1).Send("w", 1), "b", "w"))
	b.Node("b", graph.Func(func(ctx context.Context, _ *world) error {
		ran.add("b " + graph.TaskID(ctx))
		return nil
	}))
	b.Node("w", graph.Worker(func(ctx context.Context, _ *world, _ int) error {
		n := ran.add("w " + graph.TaskID(ctx))
		if fails && n < 3 {
			return errBoom
		}
		return nil
	}).With(graph.Policy{Retry: graph.Retry{Attempts: 2, Initial: 1}}))
	b.Edge(graph.Start, "a")
	b.Edge("b", graph.End)
	b.Edge("w", graph.End)
	g := build(t, b, stored())
	_, err := g.Invoke(ctx, world{}, t1)
	is(t, err, errBoom)
	fails = false
	resume(t, g, graph.Answers{}, graph.Done)
	if len(ran.n) != 3 {
		t.Errorf("got the ids %v, want one for each of 3 tasks", ran.n)
	}
	invoke(t, g, "t1", graph.Done)
	if len(ran.n) != 6 {
		t.Errorf("got the ids %v, want one for each of 6 tasks in two turns", ran.n)
	}
}

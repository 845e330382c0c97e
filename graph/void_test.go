package graph_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// TestResultsThatCannotBeFoldedDoNotCount runs two nodes that write one Value, and then
// a mended graph on the same thread.
func TestResultsThatCannotBeFoldedDoNotCount(t *testing.T) {
	type S struct {
		A state.Value[int] `json:"a"`
	}
	store := new(checkpoint.Memory)
	build := func(right func(context.Context, *S) error) *graph.Graph[S] {
		b := graph.New[S]("void")
		b.Node("left", graph.Func(func(_ context.Context, s *S) error { s.A.Set(1); return nil }))
		b.Node("right", graph.Func(right))
		for _, n := range []string{"left", "right"} {
			b.Edge(graph.Start, n)
			b.Edge(n, graph.End)
		}
		g, err := b.Compile(graph.Config{Store: store, Concurrency: 1})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	run := graph.Run{Thread: "t"}
	_, err := build(func(_ context.Context, s *S) error { s.A.Set(2); return nil }).Invoke(t.Context(), S{}, run)
	if !errors.Is(err, graph.ErrConflict) {
		t.Fatalf("got %v, want %v", err, graph.ErrConflict)
	}
	p, err := graph.Inspect(t.Context(), store, "t")
	if err != nil || len(p.Failures) != 1 || !strings.Contains(p.Failures[0].Message, `field "a"`) {
		t.Errorf("got %+v, %v; want the conflict among the failures", p.Failures, err)
	}
	res, err := build(func(context.Context, *S) error { return nil }).Resume(t.Context(), graph.Answers{}, run)
	if err != nil || res.Status != graph.Done || res.State.A.Get() != 1 {
		t.Errorf("got %s, %d, %v; want the mended graph to finish with 1", res.Status, res.State.A.Get(), err)
	}
}

func TestAnInputTakenFromAResultIsNotAddedTo(t *testing.T) {
	type S struct {
		Sum  state.Sum[int]   `json:"sum"`
		Max  state.Max[int]   `json:"max"`
		List state.List[int]  `json:"list"`
		Last state.Value[int] `json:"last"`
	}
	b := graph.New[S]("in")
	b.Node("n", graph.Func(func(_ context.Context, s *S) error {
		s.Sum.Add(1)
		s.Max.Offer(1)
		s.List.Append(1)
		s.Last.Set(1)
		return nil
	}))
	b.Edge(graph.Start, "n")
	b.Edge("n", graph.End)
	g, err := b.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	first, err := g.Invoke(t.Context(), S{}, graph.Run{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := g.Invoke(t.Context(), first.State, graph.Run{})
	if err != nil || second.State.Sum.Get() != 2 || second.State.List.Len() != 2 {
		t.Errorf("got %d and %d, %v; the state of a result is where a new run starts", second.State.Sum.Get(), second.State.List.Len(), err)
	}
	for name, add := range map[string]func(*S){
		"sum": func(s *S) { s.Sum.Add(1) }, "max": func(s *S) { s.Max.Offer(9) }, "list": func(s *S) { s.List.Append(1) },
	} {
		in := first.State
		add(&in)
		if _, err := g.Invoke(t.Context(), in, graph.Run{}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want an error: its earlier value would be lost", name, err)
		}
	}
	in := first.State
	in.Last.Set(5)
	if _, err := g.Invoke(t.Context(), in, graph.Run{}); err != nil {
		t.Errorf("a Value is written whole, so it may be set: %v", err)
	}
}

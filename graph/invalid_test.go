package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// TestResults_ThatCannotBeFoldedDoNotCount runs two nodes that write one Value, and then
// a mended graph on the same thread.
//
// Requirement: Siblings keep their work
func TestResults_ThatCannotBeFoldedDoNotCount(t *testing.T) {
	type S struct {
		A state.Value[int] `json:"a"`
	}
	store := new(checkpoint.Memory)
	build := func(right func(context.Context, *S) error) *graph.Graph[S] {
		b := graph.New[S]("invalid")
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
	run := graph.RunOptions{Thread: "t"}
	_, err := build(func(_ context.Context, s *S) error { s.A.Set(2); return nil }).Invoke(t.Context(), S{}, run)
	if !errors.Is(err, graph.ErrConflict) {
		t.Fatalf("got %v, want %v", err, graph.ErrConflict)
	}
	p, err := graph.Inspect(t.Context(), store, checkpoint.Key{Thread: "t"})
	if err != nil || len(p.Failures) != 1 || !strings.Contains(p.Failures[0].Message, `field "a"`) {
		t.Errorf("got %+v, %v; want the conflict among the failures", p.Failures, err)
	}
	res, err := build(func(context.Context, *S) error { return nil }).Resume(t.Context(), graph.Answers{}, run)
	if err != nil || res.Status != graph.Done || res.State.A.Get() != 1 {
		t.Errorf("got %s, %d, %v; want the mended graph to finish with 1", res.Status, res.State.A.Get(), err)
	}
}

// TestResults_OfTheNextTryCount runs a step again that could not be folded. The results of the
// second run are stored as usual.
//
// Requirement: Siblings keep their work
func TestResults_OfTheNextTryCount(t *testing.T) {
	var ran counter
	cfg := stored()
	mood := "conflicts"
	left := make(chan struct{}, 3)
	b := parallel(map[string]graph.Node[world]{
		"left": graph.Func(func(_ context.Context, s *world) error {
			s.Name.Set(fmt.Sprint("left ", ran.add("left")))
			left <- struct{}{}
			return nil
		}),
		"right": graph.Func(func(_ context.Context, s *world) error {
			<-left
			switch s.Log.Append("right"); mood {
			case "conflicts":
				s.Name.Set("right")
			case "fails":
				return errBoom
			}
			return nil
		}),
	})
	g := build(t, b, cfg)
	_, err := g.Invoke(ctx, world{}, t1)
	is(t, err, graph.ErrConflict)
	_, err = g.Resume(ctx, graph.Answers{}, t1)
	is(t, err, graph.ErrConflict)
	if p, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}); err != nil || p.Status != graph.Failed || !strings.Contains(p.Failures[0].Message, `field "name"`) {
		t.Errorf("the thread is %+v, %v", p, err)
	}
	mood = "fails"
	_, err = g.Resume(ctx, graph.Answers{}, t1)
	is(t, err, errBoom)
	mood = "mended"
	left <- struct{}{}
	res := resume(t, g, graph.Answers{}, graph.Done)
	if logged(t, res, "right"); res.State.Name.Get() != "left 3" {
		t.Errorf("the name is %q, want that of the try before: left 3", res.State.Name.Get())
	}
	ran.want(t, "left", 3)
}

func TestInput_FromAResultIsNotAddedTo(t *testing.T) {
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
	first, err := g.Invoke(t.Context(), S{}, graph.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := g.Invoke(t.Context(), first.State, graph.RunOptions{})
	if err != nil || second.State.Sum.Get() != 2 || second.State.List.Len() != 2 {
		t.Errorf("got %d and %d, %v; the state of a result is where a new run starts", second.State.Sum.Get(), second.State.List.Len(), err)
	}
	for name, add := range map[string]func(*S){
		"sum": func(s *S) { s.Sum.Add(1) }, "max": func(s *S) { s.Max.Offer(9) }, "list": func(s *S) { s.List.Append(1) },
	} {
		in := first.State
		add(&in)
		if _, err := g.Invoke(t.Context(), in, graph.RunOptions{}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want an error: its earlier value would be lost", name, err)
		}
	}
	in := first.State
	in.Last.Set(5)
	if _, err := g.Invoke(t.Context(), in, graph.RunOptions{}); err != nil {
		t.Errorf("a Value is written whole, so it may be set: %v", err)
	}
}

// When the results of a step do not count, the tasks run again, also one that had asked before
// it finished something that it does not ask any more.
func TestConflict_ClosesQuestionsNoLongerAsked(t *testing.T) {
	asksTwo := graph.Func(func(ctx context.Context, _ *world) error {
		_, err := graph.Ask[string](ctx, graph.Question{Prompt: "x", Key: "x"})
		if err != nil {
			_, _ = graph.Ask[string](ctx, graph.Question{Prompt: "y", Key: "y"})
		}
		return err
	})
	sets := graph.Func(func(_ context.Context, s *world) error { s.Name.Set("n"); return nil })
	cfg := stored()
	g := build(t, parallel(map[string]graph.Node[world]{"a": asksTwo, "b": sets, "c": sets}), cfg)
	res := invoke(t, g, "t1", graph.Interrupted)
	if len(res.Interrupts) != 2 {
		t.Fatalf("%d questions are open, want 2", len(res.Interrupts))
	}
	_, err := g.Resume(ctx, graph.Answer(idOf(t, res, "x"), "1"), t1)
	is(t, err, graph.ErrConflict, `"b"`, `"c"`)
	p, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"})
	if err != nil || len(p.Interrupts) != 0 {
		t.Errorf("open are %v, %v; want none", p.Interrupts, err)
	}
	_, err = g.Resume(ctx, graph.Answers{}, t1)
	is(t, err, graph.ErrConflict, `"b"`, `"c"`)
}

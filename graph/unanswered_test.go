package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// A schema of the question can be stricter than the type of its answer.
func TestQuestion_WithASchemaOfItsOwn(t *testing.T) {
	schema := json.RawMessage(`{"enum":["a","b"]}`)
	b := graph.New[world]("own")
	b.Node("a", graph.Func(func(ctx context.Context, s *world) error {
		answer, err := graph.Ask[json.RawMessage](ctx, graph.Question{Prompt: "which", Schema: schema})
		s.Log.Append(string(answer))
		return err
	}))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	g := build(t, b, stored())
	in := invoke(t, g, "t1", graph.Interrupted).Interrupts[0]
	if string(in.Schema) != string(schema) {
		t.Errorf("the schema is %s, want %s", in.Schema, schema)
	}
	if _, err := g.Resume(ctx, graph.Reply("c"), t1); !errors.Is(err, graph.ErrAnswer) {
		t.Errorf("an answer beside the schema: %v, want it refused", err)
	}
	logged(t, resume(t, g, graph.Reply("b"), graph.Done), `"b"`)
}

// The code of a question without an answer is the same for its handler and after a crash.
func TestQuestion_UnansweredHasACode(t *testing.T) {
	for err, want := range map[error]string{graph.ErrExpired: graph.CodeExpired, graph.ErrDeclined: graph.CodeDeclined, errBoom: ""} {
		if got := (&graph.NodeError{Err: err}).Code(); got != want {
			t.Errorf("%v has the code %q, want %q", err, got, want)
		}
	}
}

func TestLimits_OfAnotherAddMissingOnes(t *testing.T) {
	limits := func(names ...string) *graph.Limits {
		all := map[string]graph.Limit{}
		for _, name := range names {
			all[name] = graph.Limit{Concurrency: 1}
		}
		l, err := graph.NewLimits(all)
		is(t, err, nil)
		return l
	}
	compiles := func(l *graph.Limits, limit string) bool {
		b := graph.New[world]("limited")
		b.Node("a", logs("a").With(graph.Policy{Limit: limit}))
		b.Edge(graph.Start, "a")
		b.Edge("a", graph.End)
		_, err := b.Compile(graph.Config{Limits: l})
		return err == nil
	}
	both := limits("x").Or(limits("x", "y"))
	var none *graph.Limits
	if !compiles(both, "x") || !compiles(both, "y") || compiles(both, "z") {
		t.Error("the limits of both are not those of either")
	}
	if !compiles(none.Or(limits("x")), "x") || !compiles(limits("x").Or(nil), "x") || none.Or(nil) != nil {
		t.Error("nothing, and limits, are not these limits")
	}
}

// A caller that is refused gets the open questions, without another read of the thread.
func TestInterrupts_AreListedBesideAnError(t *testing.T) {
	var ran counter
	failed := false
	b := parallel(map[string]graph.Node[world]{"x": asks("x", &ran, "x"), "y": asks("y", &ran, "y"), "z": graph.Func(func(context.Context, *world) error {
		if !failed {
			failed = true
			return errBoom
		}
		return nil
	})})
	g := build(t, b, graph.Config{Store: new(checkpoint.Memory), Concurrency: 1})
	res, err := g.Invoke(ctx, world{}, t1)
	is(t, err, errBoom)
	asked(t, res, "x y")
	open := res.Interrupts
	for name, c := range map[string]struct {
		call func() (graph.Result[world], error)
		want error
	}{
		"a new input":        {func() (graph.Result[world], error) { return g.Invoke(ctx, world{}, t1) }, graph.ErrWaiting},
		"an ambiguous reply": {func() (graph.Result[world], error) { return g.Resume(ctx, graph.Reply("a"), t1) }, graph.ErrAmbiguous},
		"an unknown id": {func() (graph.Result[world], error) {
			return g.Resume(ctx, graph.Answer("zed", "a"), t1)
		}, graph.ErrUnknownQuestion},
		"a wrong type": {func() (graph.Result[world], error) {
			return g.Resume(ctx, graph.Answer(open[0].ID, 7), t1)
		}, graph.ErrAnswer},
		"a wrong type beside an edit": {func() (graph.Result[world], error) {
			return g.UpdateAndResume(ctx, graph.Edit[world]{}, graph.Answer(open[0].ID, 7), t1)
		}, graph.ErrAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := c.call()
			is(t, err, c.want)
			asked(t, res, "x y")
		})
	}
}

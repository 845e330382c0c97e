package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// namedError is an error that other languages know by a name.
type namedError struct{}

func (namedError) Error() string     { return "Boo!" }
func (namedError) ErrorName() string { return "CustomError" }

func TestErrorName_SurvivesTheProcess(t *testing.T) {
	cfg := stored()
	var names []string
	cutOff := true
	note := func(_ context.Context, _ *world, f *graph.NodeError) (graph.Command, error) {
		names = append(names, f.ErrorName())
		if cutOff {
			goexit()
		}
		return graph.Command{}, f
	}
	start := func() *graph.Graph[world] {
		var ran counter
		return build(t, risky(fails("a", &ran, fmt.Errorf("outer: %w", namedError{})), graph.Handler(note, "c")), cfg)
	}
	if _, err := start().Start(ctx, world{}, t1).Wait(); err == nil {
		t.Fatal("the run was not cut off")
	}
	cutOff = false
	_, err := start().Resume(ctx, graph.Answers{}, t1)
	var named interface{ ErrorName() string }
	if !errors.As(err, &named) || named.ErrorName() != "CustomError" {
		t.Errorf("got %v, want an error with the name CustomError", err)
	}
	if len(names) != 2 || names[0] != "CustomError" || names[1] != "CustomError" {
		t.Errorf("the handler got the names %q, want CustomError before and after the crash", names)
	}
	p, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"})
	if err != nil || len(p.Failures) != 1 || p.Failures[0].Name != "CustomError" {
		t.Errorf("got failures %+v and error %v, want the name CustomError", p.Failures, err)
	}
}

func TestErrorName_OfACancelledTaskIsEmpty(t *testing.T) {
	if got := (&graph.NodeError{Err: namedError{}, Cancelled: true}).ErrorName(); got != "" {
		t.Errorf("got %q, want none: the name is that of the cause", got)
	}
}

// The label of a Send is cut where it is long; its payload in the event is not.
func TestTaskEvents_HaveTheWholePayload(t *testing.T) {
	long := strings.Repeat("x", 1000)
	b := graph.New[world]("sends")
	b.Node("a", graph.Router(func(context.Context, *world) (graph.Command, error) {
		return graph.Send("w", long).Send("w", "short"), nil
	}, "w"))
	b.Node("w", graph.Worker(func(context.Context, *world, string) error { return nil }))
	b.Edge(graph.Start, "a")
	b.Edge("w", graph.End)
	inputs := map[string]bool{}
	for ev, err := range build(t, b, graph.Config{}).Stream(ctx, world{}, graph.RunOptions{Modes: graph.Tasks}) {
		is(t, err, nil)
		if started := ev.Node == "w" && ev.Phase == graph.Started; started != (ev.Input != nil) {
			t.Errorf("the event %q of %q has the input %.20s", ev.Phase, ev.Node, ev.Input)
		}
		if ev.Input != nil {
			var s string
			is(t, json.Unmarshal(ev.Input, &s), nil)
			inputs[s] = true
		}
	}
	if len(inputs) != 2 || !inputs[long] || !inputs["short"] {
		t.Errorf("got %d payloads, want both in full", len(inputs))
	}
}

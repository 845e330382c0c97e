package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weftrun/weft/graph"
)

// Requirement: Every question counts
func TestAnswer_FalseZeroAndEmptyCount(t *testing.T) {
	n := graph.Func(func(ctx context.Context, s *world) error {
		b, err1 := graph.Ask[bool](ctx, graph.Question{Prompt: "b"})
		i, err2 := graph.Ask[int](ctx, graph.Question{Prompt: "i"})
		w, err3 := graph.Ask[string](ctx, graph.Question{Prompt: "s"})
		p, err4 := graph.Ask[*int](ctx, graph.Question{Prompt: "p"})
		s.Log.Append(fmt.Sprintf("%v %d %q %v", b, i, w, p))
		return errors.Join(err1, err2, err3, err4)
	})
	g := build(t, parallel(map[string]graph.Node[world]{"a": n}), stored())
	res := invoke(t, g, "t1", graph.Interrupted)
	a := graph.Answer(idOf(t, res, "b"), false).Answer(idOf(t, res, "i"), 0).Answer(idOf(t, res, "s"), "").Answer(idOf(t, res, "p"), nil)
	logged(t, resume(t, g, a, graph.Done), `false 0 "" <nil>`)
}

// two is a graph that asks x in a and y in b, at once.
func two(t *testing.T, ran *counter) (*graph.Graph[world], graph.Result[world]) {
	g := build(t, parallel(map[string]graph.Node[world]{"a": asks("a", ran, "x"), "b": asks("b", ran, "y")}), stored())
	return g, invoke(t, g, "t1", graph.Interrupted)
}

// Requirement: Every question counts
func TestReply_ToSeveralOpenQuestionsIsAmbiguous(t *testing.T) {
	var ran counter
	g, res := two(t, &ran)
	_, err := g.Resume(ctx, graph.Reply("?"), t1)
	is(t, err, graph.ErrAmbiguous, idOf(t, res, "x"), idOf(t, res, "y"))
	resume(t, g, graph.Answer(idOf(t, res, "y"), "1"), graph.Interrupted)
	logged(t, resume(t, g, graph.Reply("2"), graph.Done), "a x=2 b y=1")
}

func TestAnswer_ToAnUnknownQuestionChangesNothing(t *testing.T) {
	var ran counter
	g, res := two(t, &ran)
	_, err := g.Resume(ctx, graph.Answer(idOf(t, res, "x"), "1").Answer("unknown", "2"), t1)
	is(t, err, graph.ErrUnknownQuestion, "unknown", idOf(t, res, "x"))
	asked(t, resume(t, g, graph.Answers{}, graph.Interrupted), "x y")
	ran.want(t, "a", 1)
}

// Requirement: Every question counts
func TestAnswer_OfTheWrongTypeLeavesTheQuestionOpen(t *testing.T) {
	n := graph.Func(func(ctx context.Context, s *world) error {
		v, err := graph.Ask[struct {
			N int `json:"n"`
		}](ctx, graph.Question{Prompt: "x"})
		s.Count.Add(v.N)
		return err
	})
	g := build(t, parallel(map[string]graph.Node[world]{"a": n}), stored())
	res := invoke(t, g, "t1", graph.Interrupted)
	for _, wrong := range []any{"1", 1, nil, map[string]any{"n": "1"}, map[string]any{"n": 1.5}, map[string]any{}, map[string]any{"n": 1, "m": 2}, json.RawMessage("{")} {
		_, err := g.Resume(ctx, graph.Reply(wrong), t1)
		is(t, err, graph.ErrAnswer)
	}
	asked(t, resume(t, g, graph.Answers{}, graph.Interrupted), "x")
	res = resume(t, g, graph.Answer(res.Interrupts[0].ID, json.RawMessage(`{"n": 4}`)), graph.Done)
	if res.State.Count.Get() != 4 {
		t.Errorf("got %d, want 4", res.State.Count.Get())
	}
}

// Requirement: Every question counts
func TestAnswer_RepeatedIsAcceptedOnlyIfEqual(t *testing.T) {
	var ran counter
	g, res := two(t, &ran)
	x, y := idOf(t, res, "x"), idOf(t, res, "y")
	for range 2 { // a has finished, the step has not
		asked(t, resume(t, g, graph.Answer(x, "1"), graph.Interrupted), "y")
	}
	_, err := g.Resume(ctx, graph.Answer(x, "other"), t1)
	is(t, err, graph.ErrUnknownQuestion, x)
	resume(t, g, graph.Answer(x, "1").Answer(y, "2"), graph.Done)
	for range 2 { // the turn is done
		logged(t, resume(t, g, graph.Answer(x, "1").Answer(y, "2"), graph.Done), "a x=1 b y=2")
	}
	_, err = g.Resume(ctx, graph.Answer(y, "other"), t1)
	is(t, err, graph.ErrUnknownQuestion, y)
	ran.want(t, "a", 2)
	ran.want(t, "b", 2)
}

// Requirement: New input, new turn
func TestInput_NewOneForAWaitingThreadIsRefused(t *testing.T) {
	var ran counter
	g, res := two(t, &ran)
	before := res.Checkpoint
	_, err := g.Invoke(ctx, world{}, t1)
	is(t, err, graph.ErrWaiting, idOf(t, res, "x"), idOf(t, res, "y"))
	res = resume(t, g, graph.Answers{}, graph.Interrupted)
	if asked(t, res, "x y"); res.Checkpoint != before {
		t.Errorf("the thread is at commit %d, want %d: a refused input changes nothing", res.Checkpoint, before)
	}
}

// The schema of a time is "string": only the node can detect that an answer is no time.
func TestAnswer_RefusedByTheNodeLeavesTheQuestionOpen(t *testing.T) {
	n := graph.Func(func(ctx context.Context, s *world) error {
		when, err := graph.Ask[time.Time](ctx, graph.Question{Prompt: "when?"})
		s.Log.Append(when.Format(time.DateOnly))
		return err
	})
	g := build(t, parallel(map[string]graph.Node[world]{"a": n}), stored())
	invoke(t, g, "t1", graph.Interrupted)
	for range 2 {
		res := resume(t, g, graph.Reply("soon"), graph.Interrupted)
		if asked(t, res, "when?"); string(res.Interrupts[0].Refused) != `"soon"` {
			t.Errorf("the refused answer of the question is %s, want \"soon\"", res.Interrupts[0].Refused)
		}
	}
	asked(t, resume(t, g, graph.Answers{}, graph.Interrupted), "when?")
	_, err := g.Invoke(ctx, world{}, t1)
	is(t, err, graph.ErrWaiting)
	logged(t, resume(t, g, graph.Reply("2026-01-02T03:04:05Z"), graph.Done), "2026-01-02")
}

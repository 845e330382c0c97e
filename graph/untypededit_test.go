package graph_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// askingWorker has a, which asks, and w, a Worker, which logs its payload.
func askingWorker(t *testing.T, cfg graph.Config) graph.Untyped {
	b := graph.New[world]("asking")
	b.Node("a", graph.Router(func(ctx context.Context, s *world) (graph.Command, error) {
		word, err := graph.Ask[string](ctx, graph.Question{Prompt: "which?"})
		if err != nil {
			return graph.Command{}, err
		}
		s.Log.Append(word)
		return graph.Goto(graph.End), nil
	}, "w", graph.End))
	b.Node("w", graph.Worker(func(_ context.Context, s *world, n int) error {
		s.Log.Append(fmt.Sprint("w", n))
		return nil
	}))
	b.Edge(graph.Start, "a")
	b.Edge("w", graph.End)
	return build(t, b, cfg).Untyped()
}

func logOf(t *testing.T, data json.RawMessage) []string {
	t.Helper()
	var s struct{ Log []string }
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return s.Log
}

func TestUntypedEdit_IsAnEdit(t *testing.T) {
	g := askingWorker(t, stored())
	res, err := g.Edit(ctx, [][]graph.UntypedEdit{
		{{As: graph.Start, Writes: json.RawMessage(`{"log":["in"]}`)}},
		{{As: "a", Writes: json.RawMessage(`null`), Sends: []graph.UntypedSend{{"w", json.RawMessage("2")}, {"w", json.RawMessage("1")}}}},
	}, t1)
	if err != nil || res.Status != graph.Pending {
		t.Fatalf("got %q and error %v, want two Sends that are due", res.Status, err)
	}
	res, err = g.Resume(ctx, graph.Answers{}, t1)
	if got, want := logOf(t, res.State), []string{"in", "w2", "w1"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v and error %v, want %v", got, err, want)
	}
}

func TestUntypedEdit_RefusesWhatDoesNotFit(t *testing.T) {
	for name, e := range map[string]graph.UntypedEdit{
		"a Send to a node that is no Worker": {Sends: []graph.UntypedSend{{"a", json.RawMessage("2")}}},
		"a Send to no node":                  {Sends: []graph.UntypedSend{{"z", json.RawMessage("2")}}},
		"a payload of another type":          {Sends: []graph.UntypedSend{{"w", json.RawMessage(`"two"`)}}},
		"a node that is none":                {As: "z"},
	} {
		t.Run(name, func(t *testing.T) {
			g := askingWorker(t, stored())
			before, err := g.Invoke(ctx, nil, t1)
			if err == nil {
				t.Fatal("an input that is not an object must be refused")
			}
			before, err = g.Invoke(ctx, json.RawMessage(`{}`), t1)
			is(t, err, nil)
			_, err = g.Edit(ctx, [][]graph.UntypedEdit{{e}}, t1)
			is(t, err, graph.ErrEdit)
			if _, p, _ := g.Thread("t1").State(ctx, 0); p.Checkpoint != before.Checkpoint {
				t.Errorf("the edit was refused and the thread is at commit %d, want %d", p.Checkpoint, before.Checkpoint)
			}
		})
	}
}

func TestUntypedUpdateAndResume_AnswersAndStreams(t *testing.T) {
	g := askingWorker(t, stored())
	res, err := g.Invoke(ctx, json.RawMessage(`{}`), t1)
	is(t, err, nil)
	e := graph.UntypedEdit{Writes: json.RawMessage(`{"log":["by hand"]}`)}
	h := g.StartUpdateAndResume(ctx, e, graph.Answer(res.Interrupts[0].ID, "yes"), graph.RunOptions{ID: "run-9", Thread: "t1", Hold: true})
	var nodes []string
	for ev, err := range h.Events(graph.Updates) {
		is(t, err, nil)
		if ev.Mode == graph.Updates {
			nodes = append(nodes, ev.Node)
		}
	}
	res, err = h.Wait()
	is(t, err, nil)
	if got, want := logOf(t, res.State), []string{"by hand", "yes"}; !slices.Equal(got, want) || !slices.Equal(nodes, []string{"a"}) || h.ID() != "run-9" {
		t.Errorf("got the log %v, updates of %v and run %q, want %v of a in run-9", got, nodes, h.ID(), want)
	}
	res, err = g.UpdateAndResume(ctx, graph.UntypedEdit{Goto: []string{"a"}}, graph.Answers{}, t1)
	if err != nil || res.Status != graph.Interrupted {
		t.Errorf("got %q and error %v, want the question of a again", res.Status, err)
	}
}

func TestStates_AreThoseOfTheHistory(t *testing.T) {
	cfg := stored()
	b := graph.New[world]("loop")
	b.Node("a", graph.Router(func(_ context.Context, s *world) (graph.Command, error) {
		s.Log.Append(fmt.Sprint(s.Log.Len()))
		if s.Log.Len() < 70 {
			return graph.Goto("a"), nil
		}
		return graph.Goto(graph.End), nil
	}, "a", graph.End))
	b.Edge(graph.Start, "a")
	g := build(t, b, cfg)
	_, err := g.Invoke(ctx, world{}, t1)
	is(t, err, nil)
	n := uint64(71)
	for s, err := range g.Untyped().Thread("t1").States(ctx, checkpoint.Query{}) {
		is(t, err, nil)
		if got := len(logOf(t, s.State)); s.Checkpoint != n || got != int(n)-1 {
			t.Fatalf("got commit %d with a log of %d, want %d with %d", s.Checkpoint, got, n, n-1)
		}
		n--
	}
	if n != 0 {
		t.Errorf("%d commits are missing", n)
	}
	n = 0
	for s, err := range g.Thread("t1").States(ctx, checkpoint.Query{Before: 10, Limit: 3}) {
		is(t, err, nil)
		if n++; s.Checkpoint != 10-n || s.State.Log.Len() != int(9-n) {
			t.Errorf("got commit %d with a log of %d as number %d of the page", s.Checkpoint, s.State.Log.Len(), n)
		}
	}
	if n != 3 {
		t.Errorf("the page has %d commits, want 3", n)
	}
	for _, err := range g.Thread("t2").States(ctx, checkpoint.Query{}) {
		is(t, err, graph.ErrUnknownThread)
	}
	for range g.Thread("t1").States(ctx, checkpoint.Query{}) {
		break // the reader may leave
	}
}

func TestToken_HasPartsAsJSON(t *testing.T) {
	tok := graph.Token{ID: "m", Reasoning: "hm", Call: &graph.TokenCall{Index: 1, ID: "c", Name: "search", Arguments: `{"q"`},
		Final: true, Usage: &graph.TokenUsage{Input: 3, Output: 4}}
	data, err := json.Marshal(tok)
	const want = `{"id":"m","reasoning":"hm","call":{"index":1,"id":"c","name":"search","arguments":"{\"q\""},"final":true,"usage":{"input":3,"output":4},"index":0}`
	if err != nil || string(data) != want {
		t.Errorf("got  %s, %v\nwant %s", data, err, want)
	}
}

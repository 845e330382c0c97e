package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// A reader without the graph sees at every commit what the graph sees, in values that were stored
// whole and in parts.
func TestStoredReader_EveryCommit(t *testing.T) {
	cfg := stored()
	b := graph.New[world]("laps")
	b.Node("a", graph.Router(func(_ context.Context, s *world) (graph.Command, error) {
		n := s.Log.Len()
		s.Log.Append(fmt.Sprint("item ", n))
		s.Seen.Put(fmt.Sprint(n%3), n)
		s.Count.Add(1)
		s.Name.Set("by a")
		if n == 8 {
			return graph.Goto(graph.End), nil
		}
		return graph.Goto("a"), nil
	}, "a", graph.End))
	b.Edge(graph.Start, "a")
	g := build(t, b, cfg)
	res, err := g.Invoke(ctx, world{Log: state.ListOf("x")}, t1)
	ended(t, graph.Done, res, err)
	r := graph.StoredReader{Store: cfg.Store}
	parts := 0
	for at := uint64(1); at <= 9; at++ {
		s, p, err := g.Thread("t1").State(ctx, at)
		if err != nil {
			t.Fatal(err)
		}
		text, err := g.EncodeState(s)
		if err != nil {
			t.Fatal(err)
		}
		var want map[string]any
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		delete(want, "tries") // its default is not stored
		values, q, err := r.State(ctx, checkpoint.Key{Thread: "t1"}, at)
		if err != nil || q.Checkpoint != p.Checkpoint || q.Step != p.Step {
			t.Fatalf("commit %d: %+v, %v", at, q, err)
		}
		got := map[string]any{}
		for _, v := range values {
			if v.Err != nil {
				t.Errorf("commit %d: field %s: %v", at, v.Field, v.Err)
			}
			if v.Value == nil || v.Field == "tries" {
				continue
			}
			var value any
			if err := json.Unmarshal(v.Value, &value); err != nil {
				t.Fatal(err)
			}
			got[v.Field] = value
			if v.Field == "log" && len(value.([]any)) > 1 {
				parts++
			}
		}
		for name, v := range want { // what was never written is not stored
			if list, ok := v.([]any); v == nil || ok && len(list) == 0 || fmt.Sprint(v) == "map[]" || fmt.Sprint(v) == "0" || v == "" {
				if _, there := got[name]; !there {
					delete(want, name)
				}
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("commit %d (-graph +reader):\n%s", at, d)
		}
	}
	if parts == 0 {
		t.Error("no value was stored in parts, so the test shows nothing")
	}
	want, err := g.Thread("t1").Diff(ctx, 2, 9)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Diff(ctx, checkpoint.Key{Thread: "t1"}, 2, 9)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want.Changes {
		want.Changes[i].Type = ""
	}
	if a, b := changesOf(want), changesOf(got); a != b {
		t.Errorf("the difference is\n%s\nwant\n%s", b, a)
	}
	if _, _, err := r.State(ctx, checkpoint.Key{Thread: "t1"}, 99); !errors.Is(err, graph.ErrUnknownThread) {
		t.Errorf("a commit that is not there: %v", err)
	}
}

func TestRouter_EmptyFanOut(t *testing.T) {
	b := graph.New[world]("search")
	b.Node("query", graph.Router(func(_ context.Context, s *world) (cmd graph.Command, err error) {
		for _, hit := range s.Log.Slice() {
			cmd = cmd.Send("read", hit)
		}
		return cmd, nil
	}, "read"))
	b.Node("read", graph.Worker(func(_ context.Context, s *world, hit string) error { s.Draft.Append(hit); return nil }))
	b.Edge(graph.Start, "query")
	b.Edge("read", graph.End)
	_, err := build(t, b, graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
	is(t, err, graph.ErrTarget, `node "query"`, "read", "the list of a fan-out is empty", "return a Goto for the empty list, or add an edge")
	if strings.Contains(err.Error(), "undeclared") {
		t.Errorf("got %v; nothing undeclared was named", err)
	}
}

func TestDivergence_FieldWithoutValue(t *testing.T) {
	d := &graph.Divergence{Checkpoint: 3, Turn: 1, Step: 2, Nodes: []string{"a"}, Changes: []graph.Change{
		{Field: "known", After: json.RawMessage(`["x"]`)}, {Field: "gone", Before: json.RawMessage(`1`)},
	}}
	for _, want := range []string{`known was nothing and is ["x"]`, "gone was 1 and is nothing"} {
		if !strings.Contains(d.String(), want) {
			t.Errorf("got\n%s\nwant %q in it", d, want)
		}
	}
}

package graph_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// purchase is a state of which the tests below know nothing but its JSON.
type purchase struct {
	Item    state.Value[string] `json:"item"`
	Log     state.List[string]  `json:"log"`
	Allowed state.Value[bool]   `json:"allowed"`
}

func orders(t *testing.T) graph.Untyped {
	b := graph.New[purchase]("orders")
	b.Node("check", graph.Func(func(ctx context.Context, s *purchase) error {
		ok, err := graph.Ask[bool](ctx, graph.Question{Prompt: "Order " + s.Item.Get() + "?"})
		if err != nil {
			return err
		}
		s.Allowed.Set(ok)
		s.Log.Append("checked")
		return nil
	}))
	b.Edge(graph.Start, "check")
	b.Edge("check", graph.End)
	return build(t, b, graph.Config{Store: new(checkpoint.Memory)}).Untyped()
}

func TestPlain_TakesAndReturnsJSON(t *testing.T) {
	g := orders(t)
	res, err := g.Invoke(ctx, json.RawMessage(`{"item":"tea"}`), t1)
	if err != nil || res.Status != graph.Interrupted || string(res.State) != `{"item":"tea","log":[]}` {
		t.Fatalf("Invoke: %v, %v, state %s", res.Status, err, res.State)
	}
	if res, err = g.Patch(ctx, json.RawMessage(`{"item":"coffee","log":["patched"]}`), t1); err != nil {
		t.Fatal(err)
	}
	const patched = `{"item":"coffee","log":["patched"]}`
	if string(res.State) != patched || res.Status != graph.Interrupted {
		t.Errorf("after Patch: %s, %v", res.State, res.Status)
	}
	if s, p, err := g.Thread("t1").State(ctx, 0); err != nil || string(s) != patched || p.Source != checkpoint.Update {
		t.Errorf("State: %s at a commit by %s, %v", s, p.Source, err)
	}
	res, err = g.Resume(ctx, graph.Reply(true), t1)
	const end = `{"item":"coffee","log":["patched","checked"],"allowed":true}`
	if err != nil || res.Status != graph.Done || string(res.State) != end {
		t.Errorf("Resume: %v, %v, state %s, want %s", res.Status, err, res.State, end)
	}
	if d, err := g.Thread("t1").Diff(ctx, 1, res.Checkpoint); err != nil || len(d.Changes) != 3 {
		t.Errorf("Diff: %v, %v", d.Changes, err)
	}
}

func TestPlain_CanBeWatched(t *testing.T) {
	g := orders(t)
	live := g.Start(ctx, json.RawMessage(`{"item":"tea"}`), graph.RunOptions{Thread: "t1", Hold: true})
	var ended string
	for ev, err := range live.Events(graph.Values) {
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		ended = string(data)
	}
	if !strings.Contains(ended, `"state":{"item":"tea","log":[]}`) {
		t.Errorf("the last event is %s", ended)
	}
	if res, err := live.Wait(); err != nil || string(res.State) != `{"item":"tea","log":[]}` {
		t.Errorf("Wait: state %s, %v", res.State, err)
	}
	if res, err := g.StartResume(ctx, graph.Reply(false), t1).Wait(); err != nil || res.Status != graph.Done {
		t.Errorf("StartResume: %v, %v", res.Status, err)
	}
}

func TestPlain_NamesWhatIsWrongWithAnInput(t *testing.T) {
	g := orders(t)
	for input, want := range map[string]string{
		`{"item":1,"what":2}`: `graph "orders": thread "t1": step 0: the input: `,
		`[]`:                  "not a JSON object",
		``:                    "not a JSON object",
		`{"itme":"tea"}`:      "the fields are item, log, allowed",
	} {
		res, err := g.Invoke(ctx, json.RawMessage(input), t1)
		if err == nil || !strings.Contains(err.Error(), want) || res.State != nil && string(res.State) != "{}" {
			t.Errorf("%s: state %s, error %v, want %q", input, res.State, err, want)
		}
		if _, err := g.InputHash(json.RawMessage(input)); err == nil {
			t.Errorf("%s has a hash", input)
		}
		if res, err = g.Patch(ctx, json.RawMessage(input), t1); err == nil {
			t.Errorf("Patch(%s): %v", input, res.Status)
		}
	}
	a, err := g.InputHash(json.RawMessage(`{"item":"tea","log":["x"]}`))
	b, err2 := g.InputHash(json.RawMessage(`{"log":["x"], "item":"tea"}`))
	if err != nil || err2 != nil || a != b {
		t.Errorf("hashes %s (%v) and %s (%v) of the same input", a, err, b, err2)
	}
}

func TestPlain_StateWithoutJSONFails(t *testing.T) {
	type odd struct {
		Nan state.Value[float64] `json:"nan"`
	}
	b := graph.New[odd]("odd")
	b.Node("a", graph.Func(func(_ context.Context, s *odd) error {
		zero := 0.0
		s.Nan.Set(zero / zero)
		return nil
	}))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	res, err := build(t, b, graph.Config{}).Untyped().Invoke(ctx, json.RawMessage(`{}`), graph.RunOptions{})
	if err == nil || !strings.Contains(err.Error(), `field "nan"`) || res.Status != graph.Failed || res.State != nil {
		t.Errorf("%v with state %s, error %v", res.Status, res.State, err)
	}
}

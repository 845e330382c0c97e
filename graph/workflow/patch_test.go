package workflow_test

import (
	"encoding/json"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

func TestUntyped_EditsTheStateOfAWorkflow(t *testing.T) {
	w, err := workflow.Parse("w.yaml", []byte(`version: 1
name: w
state: {name: string, greeting: string}
input: [name]
nodes:
  greet: {set: {greeting: "Hello ${{ state.name }}"}, next: ask}
  ask: {ask: {title: Send it}, next: END}
`), workflow.Options{})
	if err != nil {
		t.Fatal(err)
	}
	typed, err := w.Compile(graph.Config{Store: &checkpoint.Memory{}})
	if err != nil {
		t.Fatal(err)
	}
	g := typed.Untyped()
	thread := graph.RunOptions{Thread: "t"}
	if res, err := g.Invoke(t.Context(), json.RawMessage(`{"name":"Ada"}`), thread); err != nil || res.Status != graph.Interrupted {
		t.Fatalf("got %+v, %v", res, err)
	}
	want := func(want string) {
		t.Helper()
		var got struct{ Name, Greeting string }
		data, _, err := g.Thread("t").State(t.Context(), 0)
		if err == nil {
			err = json.Unmarshal(data, &got)
		}
		if err != nil || got.Name+", "+got.Greeting != want {
			t.Errorf("got %s, %v, want %s", data, err, want)
		}
	}
	if _, err := g.Patch(t.Context(), json.RawMessage(`{"name":"Bob"}`), thread); err != nil {
		t.Fatal(err)
	}
	want("Bob, Hello Ada")
	if _, err := g.Edit(t.Context(), [][]graph.UntypedEdit{{{As: "greet", Writes: json.RawMessage(`{"greeting":"Hi"}`)}}}, thread); err != nil {
		t.Fatal(err)
	}
	want("Bob, Hi")
}

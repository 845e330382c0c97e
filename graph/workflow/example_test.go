package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
)

// A workflow that greets many, asks first, and goes on with the answer.
func Example() {
	const file = `
version: 1
state:
  names: {type: list<string>, required: true}
  greetings: {type: list<string>, reducer: append}
input: [names]
output: [greetings]
nodes:
  ask:
    approval: {title: "Greet ${{ len(state.names) }} people?"}
    next:
      - {if: result.approved, to: greet}
      - {else: END}
  greet:
    for_each: {in: state.names, as: name}
    set: {greetings: "hello ${{ name }}"}
    next: END
`
	ctx, thread := context.Background(), graph.RunOptions{Thread: "t1"}
	w, err := workflow.Parse("greet.yaml", []byte(file), workflow.Options{Kinds: nodes.Kinds()})
	if err != nil {
		fmt.Println(err) // every mistake, a line each
		return
	}
	g, err := w.Compile(graph.Config{Store: new(checkpoint.Memory)})
	if err != nil {
		fmt.Println(err)
		return
	}
	in, err := w.Input(map[string]json.RawMessage{"names": []byte(`["Ada", "Grace"]`)})
	if err != nil {
		fmt.Println(err)
		return
	}

	res, err := g.Invoke(ctx, in, thread)
	fmt.Println(res.Status, res.Interrupts[0].Prompt, err)

	res, err = g.Resume(ctx, graph.Reply(true), thread)
	out, _ := json.Marshal(w.Output(&res.State))
	fmt.Println(res.Status, string(out), err)
	// Output:
	// interrupted Greet 2 people? <nil>
	// done {"greetings":["hello Ada","hello Grace"]} <nil>
}

// A Go function becomes a node: its parameters and its result are checked when the
// file is loaded.
func ExampleGo() {
	type In struct {
		Text string `json:"text"`
	}
	type Out struct {
		Words int `json:"words"`
	}
	count := func(_ context.Context, in In) (Out, error) { return Out{len(strings.Fields(in.Text))}, nil }

	_, err := workflow.Parse("count.yaml", []byte(`
version: 1
state: {n: int}
nodes:
  count:
    uses: go:count
    with: {txt: hello}
    output: {n: "${{ result.word }}"}
    next: END
`), workflow.Options{Kinds: map[string]workflow.Kind{"go:count": workflow.Go(count)}})
	var invalid *workflow.Error
	if errors.As(err, &invalid) {
		for _, p := range invalid.Problems {
			fmt.Println(p.Line, p.Code, p.Msg)
		}
	}
	// Output:
	// 7 WF502 go:count needs text
	// 7 WF501 unknown parameter "txt" of go:count; did you mean "text"?
	// 8 WF203 unknown field word; did you mean "words"?
}

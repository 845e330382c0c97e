package workflow_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

// TestForEach_ResumeRunsFailedItems goes through a checkpoint, so the items come
// back from JSON.
func TestForEach_ResumeRunsFailedItems(t *testing.T) {
	var mu sync.Mutex
	var calls []int
	broken := true
	node := workflow.Go(func(_ context.Context, in number) (number, error) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, in.N)
		if in.N == 9007199254740993 && broken {
			return number{}, errors.New("broken")
		}
		return number{in.N + 1}, nil
	})
	f := load(t, map[string]string{"main.yaml": `
version: 1
state: {got: {type: list<int>, reducer: append}, n: int}
limits: {concurrency: 1}
output: [got]
nodes:
  a: {set: {n: 1}, next: b}
  b:
    for_each: {in: "[{n: 1}, {n: 9007199254740993}]", as: x}
    uses: go:node
    with: {n: "${{ x.n }}"}
    output: {got: "${{ result.n }}"}
    next: END
`}, map[string]workflow.Kind{"go:node": node})
	if _, err := f.start(`{}`); err == nil {
		t.Fatal("the broken item did no harm")
	}
	broken = false
	res, err := f.Resume(context.Background(), graph.Answers{}, thread)
	if err != nil {
		t.Fatal(err)
	}
	f.ended(res, `{"got":[2,9007199254740994]}`)
	if want := []int{1, 9007199254740993, 9007199254740993}; !slices.Equal(calls, want) {
		t.Errorf("calls %v, want %v: what had finished does not run again", calls, want)
	}
}

func TestSubWorkflow_ChoosesByItsOutput(t *testing.T) {
	files := map[string]string{"main.yaml": `
version: 1
state: {n: int, way: string}
input: [n]
nodes:
  child:
    workflow: child.yaml
    input: {n: "${{ state.n }}"}
    output: {n: "${{ result.n }}"}
    next: [{if: state.n > 10, to: big}, {else: END}]
  big: {set: {way: big}, next: END}
`, "child.yaml": `
version: 1
state: {n: {type: int, required: true}}
input: [n]
nodes:
  a: {uses: "go:double", with: {n: "${{ state.n }}"}, output: {n: "${{ result.n }}"}, next: END}
`}
	load(t, files, nil).gives(`{"n": 6}`, `{"n":12,"way":"big"}`)
	load(t, files, nil).gives(`{"n": 4}`, `{"n":8,"way":null}`)
}

func TestSubWorkflow_LeadsToAJoin(t *testing.T) {
	load(t, map[string]string{"main.yaml": `
version: 1
state: {n: {type: int, reducer: add}, seen: int}
output: [seen]
start: [one, two]
nodes:
  one: {if: "true", workflow: child.yaml, output: {n: "${{ result.n }}"}, next: gate}
  two: {workflow: child.yaml, output: {n: "${{ result.n }}"}, next: gate}
  gate: {join: [one, two], set: {seen: "${{ state.n }}"}, next: END}
`, "child.yaml": `
version: 1
state: {n: int}
nodes: {a: {set: {n: 20}, next: END}}
`}, nil).gives(`{}`, `{"seen":40}`)
}

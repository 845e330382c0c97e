package workflow_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

// pauses runs a workflow over its static interrupts, and returns each with the field n as it then
// is.
func (f flow) pauses(input string) (all []string) {
	f.Helper()
	res, err := f.start(input)
	for err == nil && res.Status == graph.Interrupted && len(all) < 20 {
		n, _ := res.State.Get("n")
		for _, in := range res.Interrupts {
			all = append(all, fmt.Sprint(in.Kind, " ", in.Node, " ", n))
		}
		res, err = f.Resume(context.Background(), graph.Answers{}, thread)
	}
	if err != nil || res.Status != graph.Done {
		f.Fatalf("after %v: status %q, %v", all, res.Status, err)
	}
	return all
}

const paused = `version: 1
state: {list: list<int>, go: bool, n: {type: int, reducer: add}}
input: [list, go]
interrupt: INTERRUPT
nodes:
  a: {for_each: {in: state.list}, set: {n: "${{ item }}"}, next: b}
  b: {if: state.go, workflow: child.yaml, output: {n: "${{ result.one }}"}, next: c}
  c: {set: {n: 100}, next: END}
`

// A node of the file may be several nodes of the graph. A pause after it comes when all of its work
// is done, also if there was nothing to do.
func TestInterrupt_AfterAllOfANode(t *testing.T) {
	child := "version: 1\nstate: {one: int}\nnodes: {x: {set: {one: 10}, next: END}}\n"
	for _, c := range []struct{ interrupt, input, want string }{
		{"{after: [a]}", `{"list": [1, 2], "go": true}`, "after a.next 3"},
		{"{after: [a]}", `{"list": [], "go": true}`, "after a.next 0"},
		{"{after: [b]}", `{"list": [1], "go": true}`, "after b.next 11"},
		{"{after: [b]}", `{"list": [1], "go": false}`, "after b.next 1"},
		{"{before: [a, b]}", `{"list": [1, 2], "go": true}`, "before a 0, before b 3"},
		{`{before: "*"}`, `{"list": [1, 2], "go": true}`, "before a 0, before b 3, before c 13"},
		{`{after: "*"}`, `{"list": [1, 2], "go": true}`, "after a.next 3, after b.next 13"},
	} {
		f := load(t, map[string]string{"main.yaml": strings.Replace(paused, "INTERRUPT", c.interrupt, 1), "child.yaml": child}, nil)
		if got := strings.Join(f.pauses(c.input), ", "); got != c.want {
			t.Errorf("%s of %s: got %q, want %q", c.interrupt, c.input, got, c.want)
		}
	}
}

// The run of a test passes the pauses, also if a mock takes the place of a workflow.
func TestInterrupt_TestsPassIt(t *testing.T) {
	text := strings.Replace(paused, "INTERRUPT", `{before: [b], after: "*"}`, 1) + `tests:
  - {name: real, input: {list: [1], go: true}, expect: {state: {n: 111}}}
  - {name: mocked, input: {list: [1], go: true}, mock: {b: {result: {one: 5}}}, expect: {state: {n: 106}}}
`
	f := load(t, map[string]string{"main.yaml": text, "child.yaml": "version: 1\nstate: {one: int}\nnodes: {x: {set: {one: 10}, next: END}}\n"}, nil)
	report, err := f.RunTests(t.Context(), workflow.TestOptions{})
	if err != nil || !report.Passed() {
		t.Errorf("got %+v, %v", report.Tests, err)
	}
}

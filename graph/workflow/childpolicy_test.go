package workflow_test

import (
	"encoding/json"
	"testing"

	"github.com/weftrun/weft/graph"
)

// A driver makes a child workflow of each task of such a node: see Policy.Child.
func TestSubWorkflow_MayBeAChild(t *testing.T) {
	inner := `
version: 1
state: {n: int, twice: int}
input: [n]
output: [twice]
nodes:
  double: {set: {twice: "${{ state.n * 2 }}"}, next: END}
`
	for name, node := range map[string]string{
		"once":      `{workflow: inner.yaml, child: true, input: {n: 21}, output: {log: "${{ result.twice }}"}, next: END}`,
		"if":        `{if: state.n > 0, workflow: inner.yaml, child: true, input: {n: 21}, output: {log: "${{ result.twice }}"}, next: END}`,
		"each item": `{for_each: {in: "[21]", as: it}, workflow: inner.yaml, child: true, input: {n: "${{ it }}"}, output: {log: "${{ result.twice }}"}, next: END}`,
	} {
		t.Run(name, func(t *testing.T) {
			f := load(t, map[string]string{"inner.yaml": inner, "main.yaml": `
version: 1
state: {n: int, log: {type: list<int>, reducer: append}}
input: [n]
output: [log]
nodes:
  a: ` + node + "\n"}, nil)
			res, err := f.start(`{"n": 1}`)
			if err != nil {
				t.Fatal(err)
			}
			f.ended(res, `{"log":[42]}`)

			g := f.Untyped()
			p, err := g.Plan(t.Context(), graph.PlanRequest{Thread: "driven", Run: "r1", Input: json.RawMessage(`{"n": 1}`)})
			for step := 0; err == nil && p.Status == graph.Pending && step < 3; step++ {
				for _, task := range p.Due() {
					if task.Child {
						return
					}
					if _, err := g.RunTask(t.Context(), graph.TaskRequest{Step: p.ID, Task: task.ID}); err != nil {
						t.Fatal(err)
					}
				}
				p, err = g.Commit(t.Context(), graph.CommitRequest{Step: p.ID})
			}
			t.Errorf("no task is a child; the last plan is %+v, %v", p, err)
		})
	}
}

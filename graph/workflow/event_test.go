package workflow_test

import (
	"context"
	"testing"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

// A program delivers an event as an answer, and a run in another process continues with it.
func TestEvent_IsAnsweredFromOutside(t *testing.T) {
	f := parse(t, `
version: 1
state: {order: any}
nodes:
  a: {wait: {event: "paid 7"}, output: {order: "${{ result }}"}, next: END}
`)
	res, err := f.start("{}")
	if err != nil || res.Status != graph.Interrupted || len(res.Interrupts) != 1 {
		t.Fatal(res, err)
	}
	open := res.Interrupts[0]
	if string(open.Data) != `{"event":"paid 7"}` {
		t.Errorf("the data of the question is %s", open.Data)
	}
	res, err = f.Resume(context.Background(), graph.Answer(open.ID, map[string]any{"sum": 12}), thread)
	if err != nil {
		t.Fatal(err)
	}
	f.ended(res, `{"order":{"sum":12}}`)
}

func TestRunTests_AnswersEventsWithoutWaiting(t *testing.T) {
	f := parse(t, `
version: 1
state: {sum: int}
nodes:
  a: {wait: {for: 9000h}, next: b}
  b: {wait: {until: "2999-01-01T00:00:00Z"}, next: c}
  c: {wait: {event: paid, expires: 1h}, output: {sum: "${{ result.sum }}"}, next: END}
tests:
  - {name: comes, answers: [{c: {sum: 3}}], expect: {output: {sum: 3}}}
  - {name: is mocked, mock: {c: {result: {sum: 4}}}, expect: {output: {sum: 4}}}
  - {name: expires, mock: {c: {error: {code: expired, message: late}}}, expect: {code: expired}}
`)
	report, err := f.RunTests(context.Background(), workflow.TestOptions{})
	if err != nil || !report.Passed() || len(report.Tests) != 3 {
		t.Errorf("%+v, %v", report, err)
	}
}

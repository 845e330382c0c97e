package nodes_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
	"github.com/weftrun/weft/state/message"
)

// planner plans two items, the second of which needs the first, and uses a tool for each.
func planner(_ context.Context, r model.Request) model.Answer {
	last := r.Messages[len(r.Messages)-1]
	_, item, _ := strings.Cut(last.Text(), "This item")
	switch {
	case r.Output != nil:
		return model.Say(`{"items":[{"id":"oslo","description":"weather in Oslo"},{"id":"advice","description":"what to wear","depends_on":["oslo"]}]}`)
	case len(r.Tools) > 0 && last.Role == message.RoleUser && strings.Contains(item, "weather in Oslo"):
		return model.Ask(message.Call{ID: "1", Name: "weather", Arguments: json.RawMessage(`{"city":"Oslo"}`)})
	case last.Role == message.RoleTool:
		return model.Say(last.Text())
	case strings.HasPrefix(r.Messages[0].Text(), "You answer"):
		return model.Say("Take a coat.")
	}
	return model.Say("a coat")
}

const listFile = `
version: 1
state: {text: string, steps: list<string>, code: string}
nodes:
  do:
    plan: {task: "Shall I take a coat to Oslo?", tools: [weather], review: true}
    output: {text: "${{ result.text }}", steps: "${{ result.steps }}"}
    on_error: {set: {code: "${{ error.code }}"}}
    next: END
`

func listProgram(t *testing.T, weather func() error) nodes.Program {
	t.Helper()
	set, err := tool.NewSet(tool.Func(tool.Info{Name: "weather"}, func(context.Context, struct {
		City string `json:"city"`
	}) (string, error) {
		return "rain", weather()
	}))
	if err != nil {
		t.Fatal(err)
	}
	return nodes.Program{Models: map[string]model.Model{"small": model.ScriptFunc(planner)}, Tools: set}
}

func TestPlanNode_WithAModelAndTools(t *testing.T) {
	t.Parallel()
	calls := 0
	w, g := program(t, listFile, listProgram(t, func() error { calls++; return nil }))
	questions := 0
	got, err := answer(t, w, g, func(in graph.Interrupt) any {
		questions++
		return map[string]any{"decision": "approve"}
	})
	if err != nil {
		t.Fatal(err)
	}
	steps, _ := json.Marshal(got["steps"])
	if got["text"] != "Take a coat." || string(steps) != `["oslo","advice"]` || calls != 1 || questions != 1 {
		t.Errorf("got %v after %d calls and %d questions", got, calls, questions)
	}
}

func TestPlanNode_RejectedPlanFailsTheNode(t *testing.T) {
	t.Parallel()
	w, g := program(t, listFile, listProgram(t, func() error { return errors.New("not called") }))
	got, err := answer(t, w, g, func(graph.Interrupt) any { return map[string]any{"decision": "reject"} })
	if err != nil || got["code"] != "turn_failed" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestPlanNode_MistakesWithAModel(t *testing.T) {
	t.Parallel()
	p := listProgram(t, func() error { return nil })
	for plan, want := range map[string]string{
		`{task: x, tools: [wether]}`:                           `there is no tool "wether"; known are weather`,
		`{task: x, model: large}`:                              `there is no model "large"`,
		`{task: x, model: small, agent: a}`:                    "a plan has either agent",
		`{task: x, model: small, contexts: {A: 1}}`:            "a plan has either agent",
		`{task: x, model: small, contexts: "${{ {'A': 1} }}"}`: "a plan has either agent",
		`{task: x, model: small, review: "${{ 1 > 0 }}"}`:      "review must be constant",
	} {
		_, err := workflow.Parse("in.yaml", []byte("version: 1\nnodes: {a: {plan: "+plan+", next: END}}\n"), workflow.Options{Kinds: p.Kinds()})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", plan, err, want)
		}
	}
	_, err := workflow.Parse("in.yaml", []byte("version: 1\nnodes: {a: {plan: {task: x}, next: END}}\n"), workflow.Options{Kinds: nodes.Program{}.Kinds()})
	if err == nil || !strings.Contains(err.Error(), "there are no models") {
		t.Errorf("got %v", err)
	}
}

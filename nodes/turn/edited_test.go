package turn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
)

// A person edits the parameters of a step. The stored plan and the answer have the edited ones.
func TestEditedParameters_AreInThePlanAndTheAnswer(t *testing.T) {
	ran := ""
	pay := capabilities.Func(capabilities.Info{Name: "pay", Description: "pays", Provides: []string{"RAIN"}, Approval: capabilities.AlwaysApproval},
		func(_ context.Context, c *capabilities.Call) error {
			ran = fmt.Sprint(c.Step.Parameters)
			return c.Store(Rain{Column: "paid"})
		})
	var reported []string
	c := turn.Config{Manager: manager(t), Capabilities: registry(t, pay)}
	c.Plan = func(context.Context, turn.PlanRequest) (agent.Plan, error) {
		return agent.Plan{Steps: []agent.Step{{ContextKey: "out", Capability: "pay", Objective: "pay 500 EUR", ExpectedOutput: "RAIN",
			Parameters: map[string]any{"amount": 500}}}}, nil
	}
	c.Answer = func(_ context.Context, r turn.AnswerRequest) (string, error) {
		reported = r.Done
		return "done", nil
	}
	g := compile(t, c, &checkpoint.Memory{})
	q := paused(t, say(t, g, "t1", "pay"), 1)[0]
	answer := graph.Answer(q.ID, graph.EditTo(map[string]any{"amount": 5}))
	res, err := g.Resume(t.Context(), answer, graph.RunOptions{Thread: "t1", By: "anna"})
	must(t, err)
	same(t, "status", res.Status, graph.Done)
	same(t, "ran with", ran, "map[amount:5]")
	contains(t, strings.Join(reported, "\n"), `it was done with {"amount":5}, and not with {"amount":500}`)
	s, _, err := g.Thread("t1").State(t.Context(), 0)
	must(t, err)
	data, err := json.Marshal(s.Planning.ExecutionPlan.Get().Steps[0].Parameters)
	must(t, err)
	same(t, "parameters in the stored plan", string(data), `{"amount":5}`)
	data, err = json.Marshal(s.Execution.StepResults)
	must(t, err)
	contains(t, string(data), `"edits":[{"approval_type":"capability","by":"anna","asked":{"amount":500},"approved":{"amount":5}}]`)
}

// A person edits data that a capability asks about while it runs.
func TestEditedRequest_IsInTheAnswer(t *testing.T) {
	runs, reported := 0, ""
	c := approving(t, "", &runs)
	c.Answer = func(_ context.Context, r turn.AnswerRequest) (string, error) {
		reported = strings.Join(r.Done, "\n")
		return "done", nil
	}
	g := compile(t, c, &checkpoint.Memory{})
	first := paused(t, say(t, g, "t1", "write it"), 1)[0]
	second := paused(t, resume(t, g, graph.Answer(first.ID, approve)), 1)[0]
	resume(t, g, graph.Answer(second.ID, graph.EditTo("8")))
	contains(t, reported, `it was done with "8", and not with "7"`)
}

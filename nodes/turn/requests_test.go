package turn_test

import (
	"context"
	"testing"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
)

// Requirement: notebooks are never shown
func TestAnswer_GetsNotebooks(t *testing.T) {
	c := config(t)
	c.Capabilities = registry(t, capabilities.Func(capabilities.Info{Name: "note", Description: "writes a notebook"}, func(_ context.Context, c *capabilities.Call) error {
		c.Manager.Display(c.State).Command(agent.Command{Capability: "note", URI: "http://notes/1", Type: "notebook"})
		return nil
	}))
	c.Plan = script[turn.PlanRequest](t, gives(plans(agent.Step{Capability: "note"}, agent.Step{Capability: agent.ToRespond})))
	var shown []agent.Command
	c.Answer = func(_ context.Context, r turn.AnswerRequest) (string, error) {
		shown = r.Commands
		return "see there", nil
	}
	res := say(t, compile(t, c, &checkpoint.Memory{}), "t1", "note it")
	if len(shown) != 1 || shown[0].URI != "http://notes/1" || res.State.UI.LaunchableCommands.Len() != 1 {
		t.Errorf("rule: a notebook is shown next to the answer\n got: %+v", shown)
	}
}

// Requirement: waiting plans belong to the project, not to a thread
func TestPlanApproval_BelongsToItsThread(t *testing.T) {
	store := &checkpoint.Memory{}
	c := planning(t)
	c.Plan = func(_ context.Context, r turn.PlanRequest) (agent.Plan, error) {
		return plans(agent.Step{Capability: "find", ContextKey: r.Task.Text, ExpectedOutput: "RAIN"}, agent.Step{Capability: agent.ToRespond}), nil
	}
	g := compile(t, c, store)
	waiting := map[string]graph.Interrupt{}
	for _, thread := range []string{"t1", "t2"} {
		waiting[thread] = paused(t, say(t, g, thread, "of "+thread), 1)[0]
	}
	for _, thread := range []string{"t1", "t2"} {
		res, err := g.Resume(t.Context(), graph.Answer(waiting[thread].ID, approve), graph.RunOptions{Thread: thread})
		must(t, err)
		contains(t, answer(t, res.State), "column of "+thread)
	}
}

// Requirement: a clarification has neither step nor history
func TestClarify_GetsTheStepAndTheMessages(t *testing.T) {
	c := config(t)
	c.Plan = script[turn.PlanRequest](t, gives(plans(agent.Step{Capability: agent.ToClarify, Objective: "which rain?"})))
	var reported turn.AnswerRequest
	c.Clarify = func(_ context.Context, r turn.AnswerRequest) (turn.Clarification, error) {
		reported = r
		return turn.Clarification{Questions: []string{"Which?"}}, nil
	}
	g := compile(t, c, &checkpoint.Memory{})
	say(t, g, "t1", "hello")
	say(t, g, "t1", "draw the rain")
	same(t, "objective", reported.Step.Objective, "which rain?")
	if len(reported.Messages) != 3 || reported.Messages[0].Text() != "hello" || reported.Messages[2].Text() != "draw the rain" {
		t.Errorf("rule: Clarify gets the messages\n got: %+v", reported.Messages)
	}
}

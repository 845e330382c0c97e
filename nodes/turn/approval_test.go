package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
)

// writing is a capability that is always approved and asks for the value it writes. runs counts how
// often it wrote.
func writing(then capabilities.Rejection, runs *int) capabilities.Capability {
	var mu sync.Mutex // steps run side by side
	return capabilities.Func(capabilities.Info{
		Name: "write", Description: "writes a value", Provides: []string{"RAIN"}, Approval: capabilities.AlwaysApproval, OnReject: then,
	}, func(_ context.Context, c *capabilities.Call) error {
		d, err := c.Approve(agent.ApprovalRequest{Type: "value", Data: []byte(`"7"`)})
		if err != nil {
			return err
		}
		mu.Lock()
		*runs++
		mu.Unlock()
		return c.Store(Rain{Column: string(d.Args)})
	})
}

func approving(t testing.TB, then capabilities.Rejection, runs *int) turn.Config {
	return turn.Config{Manager: manager(t), Capabilities: registry(t, writing(then, runs))}
}

func paused(t testing.TB, res graph.Result[agent.State], questions int) []graph.Interrupt {
	t.Helper()
	if res.Status != graph.Interrupted || len(res.Interrupts) != questions {
		t.Fatalf("got %s with %d questions, want %d", res.Status, len(res.Interrupts), questions)
	}
	return res.Interrupts
}

func resume(t testing.TB, g *graph.Graph[agent.State], a graph.Answers) graph.Result[agent.State] {
	t.Helper()
	res, err := g.Resume(t.Context(), a, graph.RunOptions{Thread: "t1"})
	must(t, err)
	return res
}

var (
	approve = graph.Decision{Type: graph.DecisionApprove}
	reject  = graph.Decision{Type: graph.DecisionReject, Message: "not today"}
)

func TestApproval_IsAskedForEachStepAndUsedOnce(t *testing.T) {
	runs := 0
	g := compile(t, approving(t, "", &runs), &checkpoint.Memory{})
	res := say(t, g, "t1", "write it")
	q := paused(t, res, 1)
	first := q[0]
	res = resume(t, g, graph.Answer(first.ID, approve))
	second := paused(t, res, 1)[0]
	if second.ID == first.ID {
		t.Fatal("the second question has the id of the first")
	}
	var shown agent.ApprovalRequest
	must(t, json.Unmarshal(second.Data, &shown))
	same(t, "type", shown.Type, "value")
	same(t, "runs", runs, 0)
	res = resume(t, g, graph.Answer(second.ID, graph.EditTo("8")))
	same(t, "status", res.Status, graph.Done)
	same(t, "runs", runs, 1)
	same(t, "answer", answer(t, res.State), `RAIN.write: rain in "8"`)
	for id := range res.State.Execution.PendingApprovals.All() {
		t.Errorf("the request %q outlives its step", id)
	}
	res = say(t, g, "t1", "write it again")
	if again := paused(t, res, 1)[0]; again.ID == first.ID {
		t.Error("the decision of one turn would count for the next")
	}
}

// Requirement: a rejected approval is asked again
func TestRejection_EndsPerPolicyWithoutASecondPrompt(t *testing.T) {
	for then, want := range map[capabilities.Rejection]string{
		capabilities.FailStep: "not today", capabilities.SkipStep: "Missing", capabilities.EndTurn: "not today", capabilities.Replan: "another plan",
	} {
		runs := 0
		c := approving(t, then, &runs)
		c.Plan = func(ctx context.Context, r turn.PlanRequest) (agent.Plan, error) {
			if r.Previous != "" {
				contains(t, r.Previous, "not today")
				return agent.Plan{Steps: []agent.Step{{Capability: agent.ToRespond, Objective: "another plan"}}}, nil
			}
			return turn.Chain(ctx, r)
		}
		c.Answer = func(_ context.Context, r turn.AnswerRequest) (string, error) {
			return fmt.Sprint(r.Step.Objective, " Missing ", len(r.Missing)), nil
		}
		g := compile(t, c, &checkpoint.Memory{})
		q := paused(t, say(t, g, "t1", "write it"), 1)[0]
		res := resume(t, g, graph.Answer(q.ID, reject))
		same(t, string(then)+": status", res.Status, graph.Done)
		same(t, string(then)+": runs", runs, 0)
		contains(t, answer(t, res.State), want)
		same(t, string(then)+": requests left", len(asking(res.State)), 0)
	}
}

func asking(s agent.State) (ids []string) {
	for id := range s.Execution.PendingApprovals.All() {
		ids = append(ids, id)
	}
	return ids
}

// Requirement: a rejected approval is asked again
func TestRejection_OfThePlanEndsPerPolicyWithoutASecondPrompt(t *testing.T) {
	for then, want := range map[capabilities.Rejection]string{
		capabilities.FailStep: "not today", capabilities.SkipStep: "I found nothing", capabilities.EndTurn: "not today",
	} {
		c := planning(t)
		c.OnRejectedPlan = then
		g := compile(t, c, &checkpoint.Memory{})
		res := resume(t, g, graph.Answer(paused(t, say(t, g, "t1", "draw"), 1)[0].ID, reject))
		same(t, string(then)+": status", res.Status, graph.Done)
		contains(t, answer(t, res.State), want)
		same(t, string(then)+": steps done", res.State.Context.Len(), 0)
		same(t, string(then)+": approved", res.State.Approval.Approved.Get(), false)
	}
}

// planning returns a configuration in planning mode.
func planning(t testing.TB) turn.Config {
	c := config(t)
	c.Manager.Config = func() (agent.Settings, error) { return agent.Settings{PlanningMode: new(true)}, nil }
	return c
}

func TestReview_FeedbackMakesAnotherPlan(t *testing.T) {
	c := planning(t)
	c.OnRejectedPlan = capabilities.Replan
	var reported []string
	c.Plan = func(ctx context.Context, r turn.PlanRequest) (agent.Plan, error) {
		reported = append(reported, r.Previous)
		return turn.Chain(ctx, r)
	}
	g := compile(t, c, &checkpoint.Memory{})
	first := paused(t, say(t, g, "t1", "draw"), 1)[0]
	second := paused(t, resume(t, g, graph.Answer(first.ID, reject)), 1)[0]
	if first.ID == second.ID {
		t.Fatal("a decision about the first plan would count for the second")
	}
	res := resume(t, g, graph.Answer(second.ID, reject))
	same(t, "status", res.Status, graph.Done)
	contains(t, answer(t, res.State), "2 of 2 plans")
	same(t, "plans", len(reported), 2)
	contains(t, reported[1], "not today")
}

func TestPlanApproval_EditReplacesThePlan(t *testing.T) {
	edited := plans(agent.Step{Capability: "find", ContextKey: "mine", ExpectedOutput: "RAIN"})
	for key, d := range map[string]any{"find": approve, "mine": graph.EditTo(edited)} {
		c := planning(t)
		made := 0
		c.Plan = func(ctx context.Context, r turn.PlanRequest) (agent.Plan, error) {
			made++
			return turn.Chain(ctx, r)
		}
		store := &checkpoint.Memory{}
		q := paused(t, say(t, compile(t, c, store), "t1", "draw"), 1)[0]
		contains(t, q.Detail, "1. find: finds rain", "2. plot: draws rain")
		res := resume(t, compile(t, c, store), graph.Answer(q.ID, d)) // in another process
		same(t, "plans made", made, 1)
		contains(t, answer(t, res.State), "RAIN."+key)
		same(t, "approved", res.State.Approval.Approved.Get(), true)
	}
}

func TestPlanApproval_InvalidEditIsAskedAboutAgain(t *testing.T) {
	g := compile(t, planning(t), &checkpoint.Memory{})
	q := paused(t, say(t, g, "t1", "draw"), 1)[0]
	for _, none := range []any{"a plan", map[string]any{"steps": 7}, map[string]any{}, map[string]any{"steps": []any{map[string]any{"capability": "find", "when": "now"}}}} {
		_, err := g.Resume(t.Context(), graph.Answer(q.ID, graph.EditTo(none)), graph.RunOptions{Thread: "t1"})
		if !errors.Is(err, graph.ErrAnswer) {
			t.Errorf("%v: got %v, want it refused by the schema", none, err)
		}
	}
	for _, nonsense := range []any{plans(agent.Step{Capability: "router"}), plans(agent.Step{Capability: "ghost"})} {
		next := paused(t, resume(t, g, graph.Answer(q.ID, graph.EditTo(nonsense))), 1)[0]
		same(t, "question", next.ID, q.ID)
		q = next
	}
	contains(t, q.Detail, "That decision cannot be applied", `"ghost"`)
	same(t, "status", resume(t, g, graph.Answer(q.ID, approve)).Status, graph.Done)
}

func TestApproval_UnclearDecisionIsAskedForAgain(t *testing.T) {
	runs := 0
	g := compile(t, approving(t, "", &runs), &checkpoint.Memory{})
	q := paused(t, say(t, g, "t1", "write it"), 1)[0]
	for _, d := range []any{graph.Decision{Type: "maybe"}, graph.Decision{Type: graph.DecisionEdit}, graph.EditTo("x"), 1, "yes"} {
		if _, err := g.Resume(t.Context(), graph.Answer(q.ID, d), graph.RunOptions{Thread: "t1"}); !errors.Is(err, graph.ErrAnswer) {
			t.Errorf("got %v for %v, want it refused by the schema", err, d)
		}
	}
	q = paused(t, resume(t, g, graph.Answer(q.ID, approve)), 1)[0] // its value may be edited
	for _, d := range []graph.Decision{{Type: graph.DecisionEdit}, {Type: graph.DecisionReject, Args: []byte(`"x"`)}, {Type: graph.DecisionRespond, Message: "x"}} {
		if _, err := g.Resume(t.Context(), graph.Answer(q.ID, d), graph.RunOptions{Thread: "t1"}); !errors.Is(err, graph.ErrAnswer) {
			t.Errorf("got %v for %+v, want it refused", err, d)
		}
	}
	same(t, "runs", runs, 0)
}

// Requirement: deadlines and forms of questions are ignored
func TestApproval_ExpiryRejects(t *testing.T) {
	runs := 0
	now := noon
	c := approving(t, "", &runs)
	c.ApprovalWithin = time.Hour
	g, err := turn.Graph("agent", c, graph.Config{Store: &checkpoint.Memory{}, Now: func() time.Time { return now }})
	must(t, err)
	q := paused(t, say(t, g, "t1", "write it"), 1)[0]
	same(t, "expires", q.Expires.Equal(noon.Add(time.Hour)), true)
	now = noon.Add(2 * time.Hour)
	if _, err := g.Resume(t.Context(), graph.Answer(q.ID, approve), graph.RunOptions{Thread: "t1"}); !errors.Is(err, graph.ErrExpired) {
		t.Errorf("got %v for a late yes", err)
	}
	res := resume(t, g, graph.Answers{})
	contains(t, answer(t, res.State), "the time for a decision has passed")
	same(t, "runs", runs, 0)
}

func TestApproval_DeclineEndsTheTurnUnderEveryPolicy(t *testing.T) {
	runs := 0
	g := compile(t, approving(t, capabilities.Replan, &runs), &checkpoint.Memory{})
	res := resume(t, g, graph.Decline(paused(t, say(t, g, "t1", "write it"), 1)[0].ID, "I left"))
	same(t, "status", res.Status, graph.Done)
	contains(t, answer(t, res.State), "I left")
	same(t, "killed", res.State.Control.IsKilled.Get(), true)
}

func TestTimeLimit_ExcludesWaitingForPeople(t *testing.T) {
	runs := 0
	now := noon
	c := approving(t, "", &runs)
	c.Manager.Clock = func() time.Time { return now }
	g := compile(t, c, &checkpoint.Memory{})
	q := paused(t, say(t, g, "t1", "write it"), 1)[0]
	now = now.Add(48 * time.Hour)
	q = paused(t, resume(t, g, graph.Answer(q.ID, approve)), 1)[0]
	now = now.Add(48 * time.Hour)
	res := resume(t, g, graph.Answer(q.ID, approve))
	contains(t, answer(t, res.State), "RAIN.write")
	same(t, "waited", res.State.Execution.WaitedSeconds.Get(), (96 * time.Hour).Seconds())
}

// The approved data is used, even if the capability would ask for other data the next time.
func TestApproval_AppliesToTheDataOfTheRequest(t *testing.T) {
	n := 0
	write := capabilities.Func(capabilities.Info{Name: "write", Description: "d", Provides: []string{"RAIN"}}, func(_ context.Context, c *capabilities.Call) error {
		n++
		d, err := c.Approve(agent.ApprovalRequest{Type: "code", Data: fmt.Appendf(nil, `"version %d"`, n)})
		if err != nil {
			return err
		}
		return c.Store(Rain{Column: string(d.Args)})
	})
	g := compile(t, turn.Config{Manager: manager(t), Capabilities: registry(t, write)}, &checkpoint.Memory{})
	res := resume(t, g, graph.Answer(paused(t, say(t, g, "t1", "write"), 1)[0].ID, approve))
	contains(t, answer(t, res.State), "version 1")
}

func TestDecision_CountsForItsStepOnly(t *testing.T) {
	runs := 0
	c := approving(t, "", &runs)
	step := func(key string, after ...string) agent.Step {
		return agent.Step{Capability: "write", ContextKey: key, DependsOn: after}
	}
	c.Plan = script[turn.PlanRequest](t, gives(plans(step("a"), step("b"), agent.Step{Capability: agent.ToRespond, DependsOn: []string{"a"}})))
	g := compile(t, c, &checkpoint.Memory{})
	both := paused(t, say(t, g, "t1", "write both"), 2)
	if both[0].ID == both[1].ID {
		t.Fatal("two requests have one id")
	}
	left := paused(t, resume(t, g, graph.Answer(both[0].ID, approve)), 1)
	same(t, "what is left", left[0].ID, both[1].ID)
	res := resume(t, g, graph.Answer(left[0].ID, reject))
	same(t, "runs", runs, 0) // a still has to ask for its value, and b was rejected
	same(t, "status", res.Status, graph.Done)
	contains(t, answer(t, res.State), "not today")
}

func TestApproval_IgnoredDecisionFailsTheStep(t *testing.T) {
	ignoring := capabilities.Func(capabilities.Info{Name: "ignoring", Description: "d"}, func(context.Context, *capabilities.Call) error {
		return &capabilities.ApprovalNeeded{ID: "x", Request: agent.ApprovalRequest{Type: "x", Capability: "ignoring"}}
	})
	g := compile(t, turn.Config{Manager: manager(t), Capabilities: registry(t, ignoring)}, &checkpoint.Memory{})
	res := resume(t, g, graph.Answer(paused(t, say(t, g, "t1", "go"), 1)[0].ID, approve))
	same(t, "status", res.Status, graph.Done)
	contains(t, answer(t, res.State), "ignores the decision")
}

func TestApproval_HoldsWhileItsStepIsRetried(t *testing.T) {
	runs := 0
	flaky := capabilities.Func(capabilities.Info{
		Name: "write", Description: "d", Approval: capabilities.AlwaysApproval, Retry: graph.Retry{Attempts: 3, Initial: graph.NoWait},
	}, func(_ context.Context, c *capabilities.Call) error {
		if runs++; c.Attempt < 3 {
			return agent.Failed(agent.Retriable, errors.New("busy"))
		}
		return nil
	})
	g := compile(t, turn.Config{Manager: manager(t), Capabilities: registry(t, flaky)}, &checkpoint.Memory{})
	res := resume(t, g, graph.Answer(paused(t, say(t, g, "t1", "go"), 1)[0].ID, approve))
	same(t, "status", res.Status, graph.Done)
	same(t, "runs", runs, 3)
	same(t, "requests left", len(asking(res.State)), 0)
}

// erasing is a capability that asks about each file, all with one type, and then erases the
// approved ones.
func erasing(erased *[]string, files ...string) capabilities.Capability {
	return capabilities.Func(capabilities.Info{Name: "erase", Description: "erases files"}, func(_ context.Context, c *capabilities.Call) error {
		for _, file := range files {
			_, err := c.Approve(agent.ApprovalRequest{Type: "erase", Message: "Erase " + file + "?", Data: fmt.Appendf(nil, "%q", file)})
			if err != nil {
				return err
			}
		}
		*erased = append(*erased, files...)
		return nil
	})
}

func TestApproval_TwoRequestsOfOneTypeInOneCapability(t *testing.T) {
	for _, last := range []graph.Decision{approve, reject} {
		var erased []string
		c := turn.Config{Manager: manager(t), Capabilities: registry(t, erasing(&erased, "a", "b"))}
		g := compile(t, c, &checkpoint.Memory{})
		first := paused(t, say(t, g, "t1", "erase"), 1)[0]
		contains(t, first.Detail, "Erase a?")
		second := paused(t, resume(t, g, graph.Answer(first.ID, approve)), 1)[0]
		contains(t, second.Detail, "Erase b?")
		if first.ID == second.ID {
			t.Fatal("two requests have one question")
		}
		same(t, "erased before the second answer", len(erased), 0)
		res := resume(t, g, graph.Answer(second.ID, last))
		same(t, "status", res.Status, graph.Done)
		want := []string{"a", "b"}
		if last.Type == graph.DecisionReject {
			want = nil
			contains(t, answer(t, res.State), "not today")
		}
		sameList(t, "erased", erased, want)
		same(t, "requests left", len(asking(res.State)), 0)
	}
}

// A decision about a step does not count for the step of another plan, even if that one has the
// same key, capability and request.
func TestApproval_DecisionCountsForOnePlan(t *testing.T) {
	var erased []string
	fail := capabilities.Func(capabilities.Info{Name: "fail", Description: "fails"}, func(context.Context, *capabilities.Call) error {
		return agent.Failed(agent.Replanning, errors.New("another plan"))
	})
	c := turn.Config{Manager: manager(t), Capabilities: registry(t, erasing(&erased, "a"), fail)}
	erase := agent.Step{Capability: "erase", ContextKey: "k"}
	c.Plan = script[turn.PlanRequest](t, gives(plans(erase, agent.Step{Capability: "fail", DependsOn: []string{"k"}})), gives(plans(erase)))
	g := compile(t, c, &checkpoint.Memory{})
	first := paused(t, say(t, g, "t1", "erase"), 1)[0]
	second := paused(t, resume(t, g, graph.Answer(first.ID, approve)), 1)[0]
	sameList(t, "erased by one yes", erased, []string{"a"})
	res := resume(t, g, graph.Answer(second.ID, reject))
	same(t, "status", res.Status, graph.Done)
	sameList(t, "erased after a no", erased, []string{"a"})
}

// A decision stays valid while its step is tried again. If a parallel step causes another plan, the
// decision does not count for the step of that plan.
func TestApproval_DecisionOfARetriedStepEndsWithItsPlan(t *testing.T) {
	erased := 0
	erase := capabilities.Func(capabilities.Info{Name: "erase", Description: "erases", Approval: capabilities.AlwaysApproval, Retry: graph.Retry{Attempts: 3, Initial: graph.NoWait}},
		func(context.Context, *capabilities.Call) error {
			erased++
			return agent.Failed(agent.Retriable, errors.New("the reply was lost"))
		})
	fail := capabilities.Func(capabilities.Info{Name: "fail", Description: "fails", Approval: capabilities.AlwaysApproval}, func(context.Context, *capabilities.Call) error {
		return agent.Failed(agent.Replanning, errors.New("another plan"))
	})
	c := turn.Config{Manager: manager(t), Capabilities: registry(t, erase, fail)}
	step := agent.Step{Capability: "erase", ContextKey: "k"}
	respond := agent.Step{Capability: agent.ToRespond, DependsOn: []string{"k"}}
	beside := agent.Step{Capability: "fail", ContextKey: "f"}
	c.Plan = script[turn.PlanRequest](t, gives(plans(step, beside, respond)), gives(plans(step, respond)))
	g := compile(t, c, &checkpoint.Memory{})
	both := paused(t, say(t, g, "t1", "erase"), 2)
	res := resume(t, g, graph.Answer(both[0].ID, approve).Answer(both[1].ID, approve))
	if len(res.Interrupts) != 1 {
		t.Errorf("rule: a decision counts for the step of one plan\n got: %d questions about the second plan\nwant: 1", len(res.Interrupts))
	}
	same(t, "erased by one yes", erased, 1)
}

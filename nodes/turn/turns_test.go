package turn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

func TestInput_MissingIsAClassifiedFailure(t *testing.T) {
	c := config(t)
	var previous []string
	c.Plan = func(ctx context.Context, r turn.PlanRequest) (agent.Plan, error) {
		previous = append(previous, r.Previous)
		return plans(agent.Step{Capability: "find", ContextKey: "a"}, agent.Step{Capability: "plot", ContextKey: "p", Inputs: agent.InputList{{Type: "RAIN", Key: "a"}}}), nil
	}
	c.Capabilities = registry(t, plot(), capabilities.Func(capabilities.Info{Name: "find", Description: "d", Provides: []string{"RAIN"}, OnReject: capabilities.SkipStep, Approval: capabilities.AlwaysApproval},
		func(context.Context, *capabilities.Call) error { return nil }))
	g := compile(t, c, &checkpoint.Memory{})
	q := paused(t, say(t, g, "t1", "draw"), 1)[0]
	q = paused(t, resume(t, g, graph.Answer(q.ID, reject)), 1)[0] // skipped: plot lacks its input, so another plan is made
	same(t, "plans", len(previous), 2)
	contains(t, previous[1], "RAIN.a", "required context is missing")
	contains(t, answer(t, resume(t, g, graph.Answer(q.ID, reject)).State), "2 of 2 plans")
}

// Requirement: nothing counts the attempts of a step
func TestCapability_FallsBackAfterItsFailures(t *testing.T) {
	c := config(t)
	c.Capabilities = registry(t, capabilities.Func(capabilities.Info{Name: "find", Description: "d", Provides: []string{"RAIN"}, Retry: graph.Retry{Attempts: 5, Initial: graph.NoWait}},
		func(_ context.Context, c *capabilities.Call) error {
			if c.State.Control.CurrentStepRetryCount.Get() != c.Attempt-1 {
				return fmt.Errorf("attempt %d of a step that failed %d times", c.Attempt, c.State.Control.CurrentStepRetryCount.Get())
			}
			if c.Attempt <= 3 {
				return agent.Failed(agent.Retriable, errors.New("busy"))
			}
			return c.Store(Rain{"the other source"})
		}))
	contains(t, answer(t, say(t, compile(t, c, &checkpoint.Memory{}), "t1", "find").State), "the other source")
}

func TestTurn_FromTheGatewayToAllContextsOfAType(t *testing.T) {
	g, _ := newAgent(t, config(t), &checkpoint.Memory{})
	a, err := g.Read(t.Context(), "demo", "find the rain")
	must(t, err)
	res, err := g.Graph.Invoke(t.Context(), a.Input, graph.RunOptions{Thread: a.Thread})
	must(t, err)
	all, err := agent.All[Rain](g.Manager.LoadContexts(&res.State))
	must(t, err)
	same(t, "rain", all["find"].Column, "column find")
}

func TestCapability_AsksForAnotherChoice(t *testing.T) {
	c, asked := config(t), 0
	c.Capabilities = registry(t, capabilities.Func(capabilities.Info{Name: "find", Description: "d"}, func(_ context.Context, c *capabilities.Call) error {
		c.State.Control.NeedsReclassification.Set(true)
		c.State.Control.ReclassificationReason.Set("find is the wrong one")
		return nil
	}))
	c.Match = func(_ context.Context, r turn.MatchRequest) (bool, error) {
		if asked++; asked == 2 {
			contains(t, r.Previous, "the wrong one")
		}
		return asked == 1, nil
	}
	res := say(t, compile(t, c, &checkpoint.Memory{}), "t1", "find")
	same(t, "asked", asked, 2)
	same(t, "reclassifications", res.State.Control.ReclassificationCount.Get(), 1)
	contains(t, answer(t, res.State), "I found nothing")
}

func TestTurn_ReadsTheContextOfAnEarlierOne(t *testing.T) {
	c := config(t)
	c.Plan = script[turn.PlanRequest](t,
		gives(plans(agent.Step{Capability: "find", ContextKey: "those"})),
		gives(plans(agent.Step{Capability: "plot", ContextKey: "p", Inputs: agent.InputList{{Type: "RAIN", Key: "those"}}})))
	store := &checkpoint.Memory{}
	say(t, compile(t, c, store), "t1", "find the rain")
	contains(t, answer(t, say(t, compile(t, c, store), "t1", "draw those").State), `{"of":["column those"]}`)
}

// A turn ends soon, with one message, under any repeated failure.
func TestTurn_EndsUnderAnyMixOfFailures(t *testing.T) {
	ways := append(agent.Severities(), "", "sulking")
	fail := func(s agent.Severity) error {
		if s == "" {
			return nil
		}
		return agent.Failed(s, errors.New("always"))
	}
	for _, extract := range ways {
		for _, plan := range ways {
			for _, step := range ways {
				c := config(t)
				once := graph.Retry{Attempts: 2, Initial: graph.NoWait}
				c.Retry = map[string]graph.Retry{agent.ToExtraction: once, agent.ToClassifier: once, agent.ToOrchestrator: once, agent.ToRespond: once}
				c.Extract = func(context.Context, turn.ExtractRequest) (turn.Task, error) {
					return turn.Task{Text: "x"}, fail(extract)
				}
				c.Plan = func(ctx context.Context, r turn.PlanRequest) (agent.Plan, error) {
					p, _ := turn.Chain(ctx, r)
					return p, fail(plan)
				}
				c.Capabilities = registry(t, capabilities.Func(capabilities.Info{Name: "find", Description: "d", Retry: once}, func(context.Context, *capabilities.Call) error { return fail(step) }))
				c.Answer = func(context.Context, turn.AnswerRequest) (string, error) { return "", fail(step) }
				g, err := turn.Graph("agent", c, graph.Config{MaxSteps: 60})
				must(t, err)
				res, err := g.Invoke(t.Context(), agent.State{Messages: message.LogOf(message.User("x"))}, graph.RunOptions{})
				fatal := extract == agent.Fatal || extract == "" && (plan == agent.Fatal || plan == "" && step == agent.Fatal)
				what := fmt.Sprintf("%q %q %q", extract, plan, step)
				if fatal {
					if err == nil || errors.Is(err, graph.ErrSteps) {
						t.Errorf("%s: got %v, want the fatal failure", what, err)
					}
					continue
				}
				must(t, err)
				same(t, what, res.Status, graph.Done)
				answer(t, res.State)
			}
		}
	}
}

// A message that is no command is text, and reading it never fails.
func FuzzMessages(f *testing.F) {
	for _, text := range []string{"hello", "/etc/hosts", "-- /x", "/planning!:on x", "/?", "/approve:all", "//", "/a:b/c", "/help\n\nx", "--"} {
		f.Add(text)
	}
	types, err := agent.NewTypes()
	must(f, err)
	c := turn.Config{Manager: agent.StateManager{Types: types}}
	g := turn.NewAgent(compile(f, c, nil), c.Manager)
	f.Fuzz(func(t *testing.T, text string) {
		a, err := g.Read(t.Context(), "", text)
		var notText *message.InvalidError
		if !utf8.ValidString(text) && errors.As(err, &notText) && notText.Problems[0].Rule == message.RuleText {
			return
		}
		var wrong *turn.CommandError
		if err != nil && !errors.As(err, &wrong) {
			t.Fatalf("%q: %v", text, err)
		}
		trimmed := strings.TrimSpace(text)
		if strings.HasPrefix(trimmed, "/") || strings.HasPrefix(trimmed, "--") {
			return
		}
		query, _ := a.Input.UserQuery()
		if err != nil || query != trimmed || (a.Kind == turn.Begin) != (trimmed != "") {
			t.Errorf("%q: got %s of %q, %v", text, a.Kind, query, err)
		}
	})
}

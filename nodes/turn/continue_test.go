package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

// slow is a capability whose first run waits for the end of its context. ran counts the runs.
func slow(cut func(), ran map[string]int) capabilities.Capability {
	return capabilities.Func(capabilities.Info{Name: "slow", Description: "takes its time", Provides: []string{"RAIN"}},
		func(ctx context.Context, c *capabilities.Call) error {
			if ran["slow"]++; ran["slow"] == 1 {
				cut()
				<-ctx.Done()
				return ctx.Err()
			}
			return c.Store(Rain{"at last"})
		})
}

// cutOff returns an agent with a turn that was stopped in its step.
func cutOff(t *testing.T) (g *turn.Agent[agent.State], ran map[string]int) {
	t.Helper()
	ran = map[string]int{}
	ctx, cancel := context.WithCancel(t.Context())
	c := turn.Config{Manager: manager(t), Capabilities: registry(t, slow(cancel, ran)), Plan: func(ctx context.Context, r turn.PlanRequest) (agent.Plan, error) {
		ran["plan"]++
		return turn.Chain(ctx, r)
	}}
	g = turn.NewAgent(compile(t, c, &checkpoint.Memory{}), c.Manager)
	if _, err := g.Say(ctx, "t1", "rain?"); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want context.Canceled", err)
	}
	return g, ran
}

func TestContinue_ResumesACutOffTurn(t *testing.T) {
	for name, goOn := range map[string]func(*turn.Agent[agent.State]) (turn.Reply[agent.State], error){
		"call": func(g *turn.Agent[agent.State]) (turn.Reply[agent.State], error) {
			return g.Continue(t.Context(), "t1")
		},
		"command": func(g *turn.Agent[agent.State]) (turn.Reply[agent.State], error) {
			return g.Say(t.Context(), "t1", "/continue")
		},
	} {
		g, ran := cutOff(t)
		r, err := goOn(g)
		must(t, err)
		same(t, name, r.Text, "RAIN.slow: rain in at last")
		same(t, name+": plans", ran["plan"], 1)
		same(t, name+": runs of the step", ran["slow"], 2)
		same(t, name+": messages", r.State.Messages.Len(), 2)
		refuses(t, g, "/continue", "no turn was cut off")
		again, err := g.Continue(t.Context(), "t1") // there is nothing left
		must(t, err)
		same(t, name+": again", again.Text, r.Text)
		same(t, name+": runs of the step after that", ran["slow"], 2)
	}
}

func TestContinueCommand_NeedsACutOffTurn(t *testing.T) {
	g, ran := cutOff(t)
	refuses(t, g, "/continue and draw", "takes no text", "and draw")
	refuses(t, g, "/planning:on /continue", `with "!"`)
	_, err := g.Continue(t.Context(), "unknown")
	if !errors.Is(err, graph.ErrUnknownThread) {
		t.Errorf("got %v, want an ErrUnknownThread", err)
	}
	if _, err := g.Say(t.Context(), "unknown", "/continue"); err == nil {
		t.Error("a thread that does not exist was continued")
	}
	same(t, "runs", ran["slow"], 1)
	send(t, g, "/continue")
	r := send(t, g, "/planning:on rain?")
	same(t, "status", r.Status, graph.Interrupted)
	refuses(t, g, "/continue", "waits for an answer")
	open, err := g.Continue(t.Context(), "t1")
	must(t, err)
	same(t, "the question", "/planning:on is set for this turn.\n\n"+open.Text, r.Text)
}

func TestUntyped_ReportsEventsAndHistory(t *testing.T) {
	c := config(t)
	p := turn.NewAgent(compile(t, c, &checkpoint.Memory{}), c.Manager).Untyped()
	same(t, "name", p.Name(), "agent")
	sameList(t, "completions", p.Complete("/stat"), []string{"/status"})
	past, err := p.History(t.Context(), "t1", 5)
	must(t, err)
	same(t, "status of a thread that is not there", past.Status, "")
	nodes := map[string]bool{}
	r, err := p.Say(t.Context(), "t1", "/planning:on rain?", func(ev graph.Event) { nodes[ev.Node] = true })
	must(t, err)
	same(t, "status", r.Status, graph.Interrupted)
	same(t, "saw the planner", nodes[agent.ToOrchestrator], true)
	past, err = p.History(t.Context(), "t1", 0)
	must(t, err)
	same(t, "open questions", len(past.Questions), 1)
	same(t, "messages", len(past.Messages), 0)
	r, err = p.Say(t.Context(), "t1", "yes", nil)
	must(t, err)
	same(t, "status", r.Status, graph.Done)
	same(t, "the state is JSON", json.Valid(r.State), true)
	past, err = p.History(t.Context(), "t1", 1)
	must(t, err)
	same(t, "messages", len(past.Messages), 1)
	same(t, "the last one's role", past.Messages[0].Role, message.RoleAssistant)
	same(t, "the last one", past.Messages[0].Text(), r.Text)
	again, err := p.Continue(t.Context(), "t1", nil)
	must(t, err)
	same(t, "again", again.Text, r.Text)
	if _, err := p.Say(t.Context(), "t1", "/nonsense", nil); err == nil {
		t.Error("an unknown command was taken")
	}
}

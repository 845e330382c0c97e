package turn_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

// Every input of one type reaches the step, not only the last.
func TestStep_GetsSeveralInputsOfOneType(t *testing.T) {
	c := config(t)
	in := agent.InputList{{Type: "RAIN", Key: "b"}, {Type: "RAIN", Key: "a"}}
	c.Plan = script[turn.PlanRequest](t, gives(plans(
		agent.Step{Capability: "find", ContextKey: "a"}, agent.Step{Capability: "find", ContextKey: "b"}, agent.Step{Capability: "plot", ContextKey: "p", Inputs: in},
	)))
	contains(t, answer(t, say(t, compile(t, c, &checkpoint.Memory{}), "t1", "draw").State), `{"of":["column b","column a"]}`)
}

// A planner gets the objective for which each context was made.
func TestPlanRequest_DescribesTheContexts(t *testing.T) {
	c, known := config(t), ""
	c.Plan = func(_ context.Context, r turn.PlanRequest) (agent.Plan, error) {
		known = r.Known
		return plans(agent.Step{Capability: "find", ContextKey: fmt.Sprint("k", len(r.Have)), Objective: "the rain of " + r.Task.Text}), nil
	}
	g := compile(t, c, &checkpoint.Memory{})
	say(t, g, "t1", "May")
	say(t, g, "t1", "June")
	say(t, g, "t1", "July")
	contains(t, known, "k0 (the rain of May)", "k1 (the rain of June)")
}

// A conversation with one capability, over several turns.
func TestPin_LimitsTheChoiceToOneCapability(t *testing.T) {
	c, asked := config(t), 0
	c.Manager.Config = func() (agent.Settings, error) { return agent.Settings{MaxConcurrentClassifications: new(1)}, nil }
	c.Match = func(context.Context, turn.MatchRequest) (bool, error) {
		asked++
		return true, nil
	}
	d := turn.NewAgent(compile(t, c, &checkpoint.Memory{}), c.Manager)
	ask := func(text string) turn.Reply[agent.State] {
		r, err := d.Say(t.Context(), "t1", text)
		must(t, err)
		return r
	}
	active := func(r turn.Reply[agent.State]) string {
		return strings.Join(r.State.Planning.ActiveCapabilities.Slice(), " ")
	}
	ask("/pin!:find")
	same(t, "active", active(ask("look")), "respond clarify find")
	same(t, "active", active(ask("look again")), "respond clarify find")
	same(t, "active for a turn", active(ask("/pin:plot draw")), "respond clarify plot")
	same(t, "active", active(ask("and again")), "respond clarify find")
	same(t, "questions of the classifier", asked, 0)
	refuses(t, d, "/pin:launch go", `there is no capability "launch"; there are find, plot`)
	refuses(t, d, "/pin!:plots", "did you mean /pin!:plot?")
	sameList(t, "completed", d.Complete("/pin!:p"), []string{"/pin!:plot"})
	same(t, "a pin that is lifted", ask("/pin!").Text, "All capabilities are there for this conversation.")
	// A program may pin a capability that no longer exists.
	var in agent.State
	in.Messages = message.LogOf(message.User("go"))
	in.AgentControl.Update(agent.Settings{PinnedCapability: new("launch")})
	res, err := d.Graph.Invoke(t.Context(), in, graph.RunOptions{Thread: "t2"})
	must(t, err)
	contains(t, answer(t, res.State), `"launch" is pinned; there are find, plot`)
	asked = 0
	ask("look")
	same(t, "questions of the classifier", asked, 2)
}

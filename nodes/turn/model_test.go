package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

// guided returns find and plot with guides, which a model needs, and a capability without.
func guided(t testing.TB) turn.Config {
	guide := func(c capabilities.Capability, name string) capabilities.Capability {
		info := c.Info()
		info.Plan = &capabilities.PlanGuide{Instructions: "plan " + name, Examples: []capabilities.PlanExample{{Step: agent.Step{Capability: name}, Scenario: "often"}}}
		info.Match = &capabilities.MatchGuide{Instructions: "match " + name, Examples: []capabilities.MatchExample{{Query: "q", Wanted: true, Reason: "r"}}}
		return capabilities.Func(info, c.Run)
	}
	mute := capabilities.Func(capabilities.Info{Name: "mute", Description: "d"}, func(context.Context, *capabilities.Call) error { return nil })
	return turn.Config{Manager: manager(t), Capabilities: registry(t, guide(find(), "find"), guide(plot(), "plot"), mute)}
}

const planned = `{"steps":[{"capability":"find","context_key":"a","task_objective":"look","expected_output":"RAIN"},
	{"capability":"plot","context_key":"p","task_objective":"draw","inputs":[{"type":"RAIN","key":"a"}]}]}`

// replies answers each request by its role.
func replies(t testing.TB, by map[string]model.Answer) *model.Scripted {
	return model.ScriptFunc(func(_ context.Context, r model.Request) model.Answer {
		for part, a := range by {
			if strings.Contains(r.Messages[0].Text(), part) {
				return a
			}
		}
		t.Errorf("unexpected request %q", r.Messages[0].Text())
		return model.Fail(errors.New("no script"))
	})
}

func TestTurn_WithAModel(t *testing.T) {
	m := replies(t, map[string]model.Answer{
		"one task":             model.Say(`{"task":"draw the rain of May","depends_on_chat_history":true,"depends_on_user_memory":false}`),
		"needs one capability": model.Say(`{"wanted":true,"reason":"so"}`), "You plan": model.Say(planned), "You answer": model.Say("Here it is."),
	})
	g := compile(t, turn.WithModel(guided(t), m), &checkpoint.Memory{})
	var streamed, final string
	var end agent.State
	for ev, err := range g.Stream(t.Context(), agent.State{Messages: message.LogOf(message.User("draw it"))}, graph.RunOptions{Thread: "t1", Modes: graph.Messages | graph.Ended}) {
		must(t, err)
		if ev.Mode == graph.Ended {
			end = *ev.State.(*agent.State)
			continue
		}
		streamed += ev.Token.Delta
		if ev.Token.Final {
			final = ev.Token.ID
		}
	}
	same(t, "answer", answer(t, end), "Here it is.")
	same(t, "streamed", streamed, "Here it is.")
	last, _ := end.Messages.Last()
	same(t, "id of the message", last.ID, final)
	sameList(t, "active", end.Planning.ActiveCapabilities.Slice(), []string{"respond", "clarify", "find", "plot"})
	all := ""
	for _, r := range m.Requests() {
		all += r.Messages[1].Text() + "\n"
	}
	contains(t, all, "1. USER (12:00:00): draw it", "match find", "plan plot", "use the contexts that there are", `"of":["column a"]`, "draw the rain of May")
}

func TestModel_TemporaryFailureIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := guided(t)
		c.Manager.Clock = nil
		c.Extract = func(_ context.Context, r turn.ExtractRequest) (turn.Task, error) {
			return turn.Task{Text: r.Query}, nil
		}
		c.Match = func(context.Context, turn.MatchRequest) (bool, error) { return true, nil }
		m := model.Script(model.Fail(&model.Error{Kind: model.Overloaded}), model.Say("what?"), model.Say("no"),
			model.Say(`{"steps":[{"capability":"ghost","task_objective":"x"}]}`), model.Say(planned), model.Say("There."))
		res := say(t, compile(t, turn.WithModel(c, m), &checkpoint.Memory{}), "t1", "draw")
		same(t, "answer", answer(t, res.State), "There.")
		same(t, "answers left", m.Left(), 0)
		last := m.Requests()[4].Messages[1].Text()
		contains(t, last, "mend all of this", `there is no capability "ghost"`)
	})
}

func TestModel_ClarifiesAndExplains(t *testing.T) {
	m := replies(t, map[string]model.Answer{"Ask the user": model.Say(`{"questions":["Which May?"],"reason":"There are many."}`), "You explain": model.Say("The printer is out of paper.")})
	c := guided(t)
	c.Clarify, c.Explain = turn.ModelClarify(m), turn.ModelExplain(m)
	c.Plan = script[turn.PlanRequest](t, gives(plans(agent.Step{Capability: agent.ToClarify})), fails[agent.Plan](agent.Critical, "no paper"))
	g := compile(t, c, &checkpoint.Memory{})
	same(t, "questions", answer(t, say(t, g, "t1", "draw").State), "There are many.\n\n1. Which May?")
	contains(t, answer(t, say(t, g, "t1", "draw").State), "no paper", "The printer is out of paper.")
}

func TestModelDecide_ApprovesOnlyWithoutDoubt(t *testing.T) {
	for said, want := range map[string]string{
		`{"decision":"approve"}`: "approve", `{"decision":"reject","feedback":"too slow"}`: "reject", `{"decision":"unclear"}`: "", `{"decision":"Approve"}`: "", `{"decision":"edit"}`: "",
	} {
		d, clear, err := turn.ModelDecide(model.Script(model.Say(said)))(t.Context(), graph.Interrupt{Prompt: "Write?"}, "well then")
		must(t, err)
		same(t, said, string(d.Type), want)
		same(t, said, clear, want != "")
	}
	if _, clear, err := turn.ModelDecide(model.Script(model.Fail(errors.New("down"))))(t.Context(), graph.Interrupt{}, "x"); clear || err == nil {
		t.Errorf("got %v, %v of a model that fails", clear, err)
	}
}

func TestConversation_ThatFitsNoPromptIsCut(t *testing.T) {
	m := model.Script(model.Say(`{"task":"x","depends_on_chat_history":false,"depends_on_user_memory":false}`))
	long := message.User(strings.Repeat("word ", 50_000))
	_, err := turn.ModelExtract(m)(t.Context(), turn.ExtractRequest{Messages: []message.Message{long, message.User("the last")}})
	must(t, err)
	text := m.Requests()[0].Messages[1].Text()
	contains(t, text, "the last")
	if len(text) > 1000 {
		t.Errorf("the prompt has %d bytes", len(text))
	}
	if _, err := json.Marshal(m.Requests()); err != nil {
		t.Error(err)
	}
}

package pes_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/pes"
	"github.com/weftrun/weft/nodes/react"
	"github.com/weftrun/weft/state/message"
)

// roles answers each request by its role, one answer after the other.
func roles(t testing.TB, by map[string][]model.Answer) *model.Scripted {
	return model.ScriptFunc(func(_ context.Context, r model.Request) model.Answer {
		for role, answers := range by {
			if strings.HasPrefix(r.Messages[0].Text(), role) && len(answers) > 0 {
				by[role] = answers[1:]
				return answers[0]
			}
		}
		t.Errorf("unexpected request %q", r.Messages[0].Text())
		return model.Fail(errors.New("no script"))
	})
}

func TestModel_PlansExecutesAndSynthesises(t *testing.T) {
	m := roles(t, map[string][]model.Answer{
		"You plan": {
			model.Say("Let me think.</think> ```json\n{\"items\":[{\"id\":\"a\",\"description\":\"find offers\"}]}\n```"),
			model.Say("no plan"), model.Say(`{"items":[{"id":"b","description":"choose","depends_on":["a"]}]}`),
		},
		"You do one item": {model.Say("two offers"), model.Say("the second")}, "You answer": {model.Say("There are two."), model.Say("Take the second.")},
	})
	g := compile(t, pes.WithModel(pes.Config{}, m), &checkpoint.Memory{})
	same(t, "answer", say(t, g, "which offers?").Answer.Get(), "There are two.")
	var streamed, final string
	for ev, err := range g.Stream(t.Context(), pes.Input("which one?"), graph.RunOptions{Thread: "t", Modes: graph.Messages}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Mode == graph.Messages {
			streamed += ev.Token.Delta
			if ev.Token.Final {
				final = ev.Token.ID
			}
		}
	}
	same(t, "streamed", streamed, "Take the second.")
	s, _, err := g.Thread("t").State(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	last, _ := s.Messages.Last()
	same(t, "id of the message", last.ID, final)
	asked := m.Requests()
	text := func(r model.Request) string { return r.Messages[len(r.Messages)-1].Text() }
	for i, want := range map[int]string{1: "find offers", 3: `"status":"completed"`, 5: "two offers", 6: "the second"} {
		if !strings.Contains(text(asked[i]), want) {
			t.Errorf("request %d is %q, want %q", i+1, text(asked[i]), want)
		}
	}
	for i, r := range asked {
		if strings.Contains(r.Messages[0].Text(), "You plan") && r.Output == nil {
			t.Errorf("request %d asks for no structured output", i+1)
		}
	}
}

func TestModelFailure_ResumeContinues(t *testing.T) {
	down := model.Fail(&model.Error{Kind: model.Auth})
	by := map[string][]model.Answer{"You plan": {down}, "You do one item": {model.Say("x")}, "You answer": {down, model.Say("There.")}}
	store := &checkpoint.Memory{}
	g := compile(t, pes.WithModel(pes.Config{}, roles(t, by)), store)
	if _, err := g.Invoke(t.Context(), pes.Input("go"), run); model.KindOf(err) != model.Auth {
		t.Fatalf("got %v", err)
	}
	by["You plan"] = []model.Answer{model.Say(`{"items":[{"id":"a","description":"x"}]}`)}
	if _, err := g.Resume(t.Context(), graph.Answers{}, run); model.KindOf(err) != model.Auth {
		t.Fatalf("got %v", err)
	}
	res, err := g.Resume(t.Context(), graph.Answers{}, run)
	if err != nil || res.State.Answer.Get() != "There." || statusText(&res.State) != "a=completed" {
		t.Errorf("got %s, %v", statusText(&res.State), err)
	}
}

// Two parallel items need a person: one a permission for its tool, the other an answer.
func TestItems_AskPeopleInBothModes(t *testing.T) {
	wiped := 0
	wipe := tool.Func(tool.Info{Name: "wipe", Mode: tool.Permit}, func(_ context.Context, a struct {
		Path string `json:"path"`
	}) (string, error) {
		wiped++
		return "wiped " + a.Path, nil
	})
	ask := tool.Func(tool.Info{Name: "ask", Mode: tool.Answer}, func(context.Context, struct {
		Text string `json:"text"`
	}) (string, error) {
		t.Error("a tool that a person answers ran")
		return "", nil
	})
	set, err := tool.NewSet(wipe, ask)
	if err != nil {
		t.Fatal(err)
	}
	m := model.ScriptFunc(func(_ context.Context, r model.Request) model.Answer {
		last := r.Messages[len(r.Messages)-1]
		switch {
		case last.Role == message.RoleTool:
			return model.Say("result: " + last.Text())
		case strings.Contains(last.Text(), "do a"):
			return model.Ask(message.Call{ID: "1", Name: "wipe", Arguments: json.RawMessage(`{"path":"/a"}`)})
		}
		return model.Ask(message.Call{ID: "1", Name: "ask", Arguments: json.RawMessage(`{"text":"which?"}`)})
	})
	config := func() pes.Config {
		do, err := pes.AgentExecute(react.Config{Model: m, Tools: set})
		if err != nil {
			t.Fatal(err)
		}
		return pes.Config{Execute: do, Plan: func(context.Context, pes.PlanRequest) (pes.Plan, error) { return items("a", "b", "c<a,b"), nil }}
	}
	c := config()
	items := c.Execute
	withLast := func(ctx context.Context, r pes.ExecuteRequest) (string, error) {
		if r.Item.ID == "c" {
			return r.Needs[0].Result.Text + "; " + r.Needs[1].Result.Text, nil
		}
		return items(ctx, r)
	}
	c.Execute = withLast
	store := &checkpoint.Memory{}
	res, err := compile(t, c, store).Invoke(t.Context(), pes.Input("go"), run)
	if err != nil || len(res.Interrupts) != 2 {
		t.Fatalf("got %s, %d questions, %v", res.Status, len(res.Interrupts), err)
	}
	for len(res.Interrupts) > 0 { // one by one, each in another process
		q := res.Interrupts[0]
		a := graph.Answer(q.ID, "the blue one")
		if strings.Contains(q.Prompt, "wipe") {
			a = graph.Answer(q.ID, graph.Decision{Type: graph.DecisionApprove})
		}
		if res, err = compile(t, c, store).Resume(t.Context(), a, run); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "wiped", wiped, 1)
	same(t, "result", res.State.Results.Get("c").Text, "result: wiped /a; result: the blue one")
}

package react_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/thread"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/react"
	"github.com/weftrun/weft/nodes/turn"
	agents "github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

// toolAgent is an agent whose turns are a loop of tools.
type toolAgent struct {
	*turn.Agent[agents.State]
	services *turn.Services
	requests []model.Request
	paid     []string
}

func newToolAgent(t *testing.T, c turn.Config, answers ...func(r model.Request) model.Answer) *toolAgent {
	t.Helper()
	return toolAgentOver(t, &checkpoint.Memory{}, &document.Map{}, c, answers...)
}

func toolAgentOver(t *testing.T, store checkpoint.Store, docs document.Store, c turn.Config, answers ...func(r model.Request) model.Answer) *toolAgent {
	t.Helper()
	d := &toolAgent{}
	look := tool.Func(tool.Info{Name: "look"}, func(_ context.Context, in struct {
		City string `json:"city"`
	}) (string, error) {
		return "rain in " + in.City, nil
	})
	pay := tool.Func(tool.Info{Name: "pay", Mode: tool.Permit}, func(_ context.Context, in struct {
		Sum int `json:"sum"`
	}) (string, error) {
		d.paid = append(d.paid, fmt.Sprint(in.Sum))
		return "paid", nil
	})
	set, err := tool.NewSet(look, pay)
	if err != nil {
		t.Fatal(err)
	}
	m := model.ScriptFunc(func(_ context.Context, r model.Request) model.Answer {
		d.requests = append(d.requests, r)
		return answers[min(len(d.requests), len(answers))-1](r)
	})
	if c.Work, err = react.Work(react.Config{Model: m, Tools: set, Policy: graph.Policy{Retry: graph.Retry{Attempts: 1}}}); err != nil {
		t.Fatal(err)
	}
	if d.services, err = turn.NewServices(docs); err != nil {
		t.Fatal(err)
	}
	c.Services = d.services
	g, err := turn.Graph("toolAgent", c, graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	d.Agent = turn.NewAgent(g, c.Manager)
	d.Agent.Services = c.Services
	return d
}

func answerOf(text string) func(model.Request) model.Answer {
	return func(model.Request) model.Answer { return model.Say(text) }
}

func calls(id, name, args string) func(model.Request) model.Answer {
	return func(model.Request) model.Answer {
		return model.Ask(message.Call{ID: id, Name: name, Arguments: json.RawMessage(args)})
	}
}

func (d *toolAgent) say(t *testing.T, text string) turn.Reply[agents.State] {
	t.Helper()
	r, err := d.Say(t.Context(), "t1", text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestWork_CallsToolsAndAsks(t *testing.T) {
	t.Parallel()
	d := newToolAgent(t, turn.Config{}, calls("1", "look", `{"city":"Oslo"}`), calls("2", "pay", `{"sum":9}`), answerOf("It rains, and 9 is paid."), answerOf("You are welcome."))
	r := d.say(t, "How is Oslo, and pay 9.")
	if r.Status != graph.Interrupted || !strings.Contains(r.Text, "pay") || len(d.paid) > 0 {
		t.Fatalf("got %s: %s", r.Status, r.Text)
	}
	r = d.say(t, "yes")
	if r.Text != "It rains, and 9 is paid." || strings.Join(d.paid, " ") != "9" || len(d.requests) != 3 {
		t.Errorf("got %q, paid %v in %d requests", r.Text, d.paid, len(d.requests))
	}
	if n := r.State.Messages.Len(); n != 6 { // the question, two calls with results, the answer
		t.Errorf("the conversation has %d messages: %s", n, r.State.Messages)
	}
	r = d.say(t, "Thanks.")
	if r.Text != "You are welcome." || len(d.requests[3].Messages) != 7 {
		t.Errorf("got %q for %d messages", r.Text, len(d.requests[3].Messages))
	}
	log, err := d.services.Sessions.Log(t.Context(), "t1")
	if err != nil || len(log) != r.State.Messages.Len() {
		t.Errorf("the session has %d messages of %d: %v", len(log), r.State.Messages.Len(), err)
	}
}

func TestWork_FollowsTheConfigurationOfTheThread(t *testing.T) {
	t.Parallel()
	d := newToolAgent(t, turn.Config{}, calls("1", "look", `{"city":"Oslo"}`), answerOf("one"), answerOf("two"))
	d.say(t, "first")
	err := d.services.Threads.SetConfig(t.Context(), "t1", thread.Config{"enabledTools": []string{"look"}, "historyLimit": 3, "model": "small"})
	if err != nil {
		t.Fatal(err)
	}
	d.say(t, "second")
	last := d.requests[len(d.requests)-1]
	if last.Model != "small" || len(last.Tools) != 1 || last.Tools[0].Name != "look" {
		t.Errorf("the model is %q with the tools %+v", last.Model, last.Tools)
	}
	if first := last.Messages[0]; len(last.Messages) != 2 || first.Role != message.RoleAssistant || first.Text() != "one" {
		t.Errorf("got %+v, want no result without its call", last.Messages)
	}
}

func TestWork_FailsWithAReport(t *testing.T) {
	t.Parallel()
	down := func(model.Request) model.Answer { return model.Fail(&model.Error{Kind: model.Auth, Message: "no key"}) }
	d := newToolAgent(t, turn.Config{}, down, answerOf("again"))
	r := d.say(t, "hello")
	if r.Status != graph.Done || r.Failure == nil || r.Failure.Node != turn.ToWork || !strings.Contains(r.Text, "no key") {
		t.Errorf("got %s %+v: %s", r.Status, r.Failure, r.Text)
	}
	if r = d.say(t, "hello again"); r.Text != "again" {
		t.Errorf("got %q", r.Text)
	}
}

func TestWork_RetriesWhatIsRetriable(t *testing.T) {
	t.Parallel()
	tries := 0
	c := turn.Config{Retry: map[string]graph.Retry{turn.ToWork: {Attempts: 3, Initial: graph.NoWait}}, Work: func(context.Context, turn.WorkRequest) ([]message.Message, error) {
		if tries++; tries < 3 {
			return nil, agents.Failed(agents.Retriable, errors.New("busy"))
		}
		return []message.Message{message.Assistant("done")}, nil
	}}
	g, err := turn.Graph("work", c, graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Invoke(t.Context(), agents.State{Messages: message.LogOf(message.User("go"))}, graph.RunOptions{})
	if last, _ := res.State.Messages.Last(); err != nil || last.Text() != "done" || tries != 3 {
		t.Errorf("got %q after %d attempts, %v", last.Text(), tries, err)
	}
}

// The question of a tool is answered in another process: neither the model nor a tool that has run
// is called again.
func TestWork_AnswerInAnotherProcess(t *testing.T) {
	t.Parallel()
	store, docs := &checkpoint.Memory{}, &document.Map{}
	first := toolAgentOver(t, store, docs, turn.Config{}, calls("1", "look", `{"city":"Oslo"}`), calls("2", "pay", `{"sum":9}`))
	if r := first.say(t, "How is Oslo, and pay 9."); r.Status != graph.Interrupted {
		t.Fatalf("got %s: %s", r.Status, r.Text)
	}
	second := toolAgentOver(t, store, docs, turn.Config{}, answerOf("done"))
	r := second.say(t, "yes")
	if r.Text != "done" || len(second.requests) != 1 || strings.Join(second.paid, " ") != "9" || len(first.paid) > 0 {
		t.Errorf("got %q after %d requests, paid %v", r.Text, len(second.requests), second.paid)
	}
	if n := len(second.requests[0].Messages); n != 5 {
		t.Errorf("the model got %d messages, want the question, and two calls with their results", n)
	}
	third := toolAgentOver(t, store, docs, turn.Config{}, calls("3", "pay", `{"sum":5}`), answerOf("again"))
	if r := third.say(t, "pay 5"); r.Status != graph.Interrupted {
		t.Errorf("got %s: %s", r.Status, r.Text)
	}
	if r := third.say(t, "/reset"); r.Text != "The conversation is empty." {
		t.Errorf("got %s", r.Text)
	}
	if r := third.say(t, "hello"); r.Text != "again" || len(third.paid) > 0 || len(third.requests[1].Messages) != 1 {
		t.Errorf("after the reset: got %q, paid %v", r.Text, third.paid)
	}
}

package react_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/model/openai"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/recordedhttp"
	"github.com/weftrun/weft/nodes/react"
	"github.com/weftrun/weft/state/message"
)

// behind returns a model with a server inside the process, so that synctest can control time.
func behind(t *testing.T, cases ...recordedhttp.Case) (model.Model, *recordedhttp.Server) {
	t.Helper()
	s := recordedhttp.NewServer(cases...)
	dial := func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go s.Serve(there)
		return here, nil
	}
	m, err := openai.New(openai.Config{
		Model: "m", BaseURL: "http://server.test/v1", Key: "sk-secret-123",
		Client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m, s
}

// TestRecordedAnswers_LeaveTheThreadIntact sends each recorded answer to an agent that has a
// conversation. A failure is a typed error, and the next attempt finds the conversation unchanged.
func TestRecordedAnswers_LeaveTheThreadIntact(t *testing.T) {
	corpus := filepath.Join("..", "..", "capabilities", "model", "openai", "testdata", "answers")
	if _, err := os.Stat(corpus); err != nil {
		t.Fatal(err)
	}
	cases, err := recordedhttp.Load(corpus)
	if err != nil {
		t.Fatal(err)
	}
	fine := recordedhttp.Stream(`{"choices":[{"index":0,"delta":{"content":"I am back."},"finish_reason":"stop"}]}`)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { survives(t, c, fine) })
		})
	}
}

func survives(t *testing.T, c, fine recordedhttp.Case) {
	store := &checkpoint.Memory{}
	var r ran
	set := tools(t, r.find(tool.Info{Name: "find"}), r.find(tool.Info{Name: "list"}))
	once := graph.Policy{Timeout: time.Hour}
	before, err := agent(t, react.Config{Model: model.Script(model.Say("hello")), Tools: set}, store).Invoke(t.Context(), react.Input("hi"), run)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := behind(t, c, fine)
	g := agent(t, react.Config{Model: m, Tools: set, Policy: once}, store)
	res, err := g.Invoke(t.Context(), react.Input("go on"), run)
	if err != nil {
		if c.Want == "ok" && c.Name != "cut-at-its-tokens" {
			t.Fatal(err)
		}
		if model.KindOf(err) == "" {
			t.Fatalf("the failure has no type: %v", err)
		}
		if strings.Contains(err.Error(), "sk-secret") {
			t.Errorf("the failure holds the key: %v", err)
		}
		if d := cmp.Diff(said(before.State)+"user: go on\n", said(res.State)); d != "" {
			t.Error("the conversation was changed:", d)
		}
		res, err = g.Resume(t.Context(), graph.Answers{}, run)
	} else if c.Want != "ok" {
		t.Fatalf("%s is taken for an answer:\n%s", c.Name, said(res.State))
	}
	if err != nil || res.Status != graph.Done {
		t.Fatalf("the thread does not go on: %s, %v", res.Status, err)
	}
	if err := message.Validate(res.State.Messages.Slice()); err != nil {
		t.Error("no provider takes the conversation:", err)
	}
}

func TestTools_MistakesAreResults(t *testing.T) {
	var r ran
	m := model.Script(
		model.Ask(call("launch", `{}`), call("find", `{"q":`), call("find", `{"x":1}`)),
		model.Say("sorry"),
	)
	g := agent(t, react.Config{Model: m, Tools: tools(t, r.find(tool.Info{Name: "find"}))}, &checkpoint.Memory{})
	res, err := g.Invoke(t.Context(), react.Input("go"), run)
	if err != nil || res.State.Answer.Get() != "sorry" || r.count("find") != 0 {
		t.Fatal(res.Status, err)
	}
	sent := m.Requests()[1].Messages
	for i, want := range []string{`there is no tool "launch"; there are: find`, "must be JSON", "do not fit"} {
		result := sent[len(sent)-3+i].Results[0]
		if !result.IsError || !strings.Contains(result.Text(), want) {
			t.Errorf("the model got %q, want %q", result.Text(), want)
		}
	}
}

func TestAnswer_CallOfAMissingToolIsBad(t *testing.T) {
	m := model.Script(model.Ask(call("find", `{}`)))
	_, err := agent(t, react.Config{Model: m, Policy: graph.Policy{Timeout: time.Hour}}, nil).Invoke(t.Context(), react.Input("go"), graph.RunOptions{})
	if model.KindOf(err) != model.BadAnswer {
		t.Errorf("got %v", err)
	}
}

// loops always calls a tool.
func loops() *model.Scripted {
	return model.ScriptFunc(func(context.Context, model.Request) model.Answer {
		return model.Answer{Calls: []message.Call{call("find", `{"q":"x"}`)}, Usage: &message.Usage{Input: 40, Output: 10}}
	})
}

func TestFold_StopsAnEndlessAnswer(t *testing.T) {
	prices := model.Prices{"": {Input: 100, Output: 100}}
	for name, tt := range map[string]struct {
		c     react.Config
		limit model.Limit // "" is that of turns
		asked int
	}{
		"turns":  {react.Config{MaxTurns: 3}, "", 3},
		"calls":  {react.Config{Budget: model.Budget{Calls: 2}}, model.LimitCalls, 2},
		"tokens": {react.Config{Budget: model.Budget{Tokens: 60}}, model.LimitTokens, 2},
		"money":  {react.Config{Budget: model.Budget{Money: 0.012}, Prices: prices}, model.LimitMoney, 3},
	} {
		t.Run(name, func(t *testing.T) {
			m := loops()
			var r ran
			tt.c.Model, tt.c.Tools = m, tools(t, r.find(tool.Info{Name: "find"}))
			store := &checkpoint.Memory{}
			res, err := agent(t, tt.c, store).Invoke(t.Context(), react.Input("go"), run)
			var turns *react.TurnsError
			var over *model.BudgetError
			switch {
			case tt.limit == "" && (!errors.As(err, &turns) || turns.Turns != 3):
				t.Errorf("got %v", err)
			case tt.limit != "" && (!errors.As(err, &over) || over.Limit != tt.limit):
				t.Errorf("got %v", err)
			}
			if len(m.Requests()) != tt.asked || r.count("find") != tt.asked {
				t.Errorf("asked %d times, want %d", len(m.Requests()), tt.asked)
			}
			if err := message.Validate(res.State.Messages.Slice()); err != nil {
				t.Error(err)
			}
			// Another process continues the count; the next turn of the user starts at 0.
			if _, err := agent(t, tt.c, store).Resume(t.Context(), graph.Answers{}, run); err == nil || len(m.Requests()) != tt.asked {
				t.Errorf("a resume asked %d times more, %v", len(m.Requests())-tt.asked, err)
			}
			tt.c.Model = model.Script(model.Say("enough"))
			res, err = agent(t, tt.c, store).Invoke(t.Context(), react.Input("stop"), run)
			if err != nil || res.State.Answer.Get() != "enough" {
				t.Errorf("the thread does not go on: %v", err)
			}
		})
	}
}

func TestDiscardedTurn_ConversationStaysValid(t *testing.T) {
	var r ran
	m := model.Script(model.Ask(call("find", `{"q":"1"}`), call("wipe", `{"q":"x"}`)), model.Say("fine"))
	c := react.Config{Model: m, Tools: tools(t, r.find(tool.Info{Name: "find"}), r.find(tool.Info{Name: "wipe", Mode: tool.Permit}))}
	g, _ := paused(t, c, 1)
	res, err := g.Invoke(t.Context(), react.Input("never mind"), graph.RunOptions{Thread: "t", OnOpenQuestions: graph.Discard})
	if err != nil || res.State.Answer.Get() != "fine" {
		t.Fatal(res.Status, err)
	}
	sent := m.Requests()[1].Messages
	for i := range sent {
		if sent[i].ID == "" {
			sent[i].ID = "made up"
		}
	}
	if err := message.Validate(sent); err != nil {
		t.Errorf("no provider takes the request: %v", err)
	}
	if text := sent[2].Text(); !strings.Contains(text, "discarded") {
		t.Errorf("the model got %q", text)
	}
	if r.count("wipe") != 0 {
		t.Error("what was not permitted ran")
	}
}

func TestAnswer_CutOffIsNoAnswer(t *testing.T) {
	m := model.Script(model.Answer{Text: "the first half", Stop: model.StopLength})
	res, err := agent(t, react.Config{Model: m}, &checkpoint.Memory{}).Invoke(t.Context(), react.Input("go"), run)
	if model.KindOf(err) != model.Truncated || res.State.Messages.Len() != 1 || len(m.Requests()) != 1 {
		t.Errorf("got %v\n%s", err, said(res.State))
	}
}

func TestOutput_SecondInvalidAnswerFails(t *testing.T) {
	m := model.Script(model.Say("no"), model.Say("still no"), model.Say("no"), model.Say("never"))
	form := &model.Schema{JSON: json.RawMessage(`{"type":"object"}`)}
	c := react.Config{Model: m, Output: form, Policy: graph.Policy{Retry: graph.Retry{Attempts: 2, Initial: time.Nanosecond}}}
	res, err := agent(t, c, &checkpoint.Memory{}).Invoke(t.Context(), react.Input("go"), run)
	var out *model.OutputError
	if !errors.As(err, &out) || out.Raw != "never" || res.State.Messages.Len() != 1 {
		t.Errorf("got %v\n%s", err, said(res.State))
	}
}

func TestModel_ThatCannotAnswerIsNotAskedAgain(t *testing.T) {
	for _, k := range []model.Kind{model.Auth, model.Invalid, model.Refused, model.ContextTooLong, model.Quota} {
		m := model.Script(model.Fail(&model.Error{Kind: k}), model.Say("x"))
		_, err := agent(t, react.Config{Model: m}, nil).Invoke(t.Context(), react.Input("go"), graph.RunOptions{})
		if model.KindOf(err) != k || len(m.Requests()) != 1 {
			t.Errorf("%s: got %v after %d requests", k, err, len(m.Requests()))
		}
	}
}

func TestWindow_CutsTheConversationOrFails(t *testing.T) {
	m := model.Script(model.Say("one"), model.Say("two"), model.Say("three"))
	g := agent(t, react.Config{Model: m, Window: message.Window{MaxMessages: 2}, System: "s"}, &checkpoint.Memory{})
	for _, text := range []string{"a", "b"} {
		if _, err := g.Invoke(t.Context(), react.Input(text), run); err != nil {
			t.Fatal(err)
		}
	}
	if got := m.Requests()[1].Messages; len(got) != 2 || got[1].Text() != "b" {
		t.Errorf("the model was sent %v", got)
	}
	g = agent(t, react.Config{Model: m, Window: message.Window{MaxTokens: 5}}, &checkpoint.Memory{})
	var large *message.TooLargeError
	if _, err := g.Invoke(t.Context(), react.Input(strings.Repeat("long ", 100)), run); !errors.As(err, &large) {
		t.Errorf("got %v", err)
	}
}

package react_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/react"
)

// A tool that needs permission must not run if Enable failed when the question was to be raised,
// and succeeds later.
func TestEnable_FailureIsNoPermission(t *testing.T) {
	var r ran
	var asked atomic.Int32
	set := tools(t, r.find(tool.Info{Name: "pay", Mode: tool.Permit})).Enable(func(context.Context, string) (bool, error) {
		if asked.Add(1) == 2 { // the first is Specs, the second Needs, the third Do
			return false, errors.New("the settings cannot be read now")
		}
		return true, nil
	})
	m := model.Script(model.Ask(call("pay", `{"q":"all"}`)), model.Say("done"))
	g := agent(t, react.Config{Model: m, Tools: set}, &checkpoint.Memory{})
	res, err := g.Invoke(t.Context(), react.Input("pay"), run)
	if r.count("pay") != 0 {
		t.Errorf("%s, %v: the tool ran without permission", res.Status, err)
	}
}

func (r *ran) pay(seen *string) tool.Tool {
	type pay struct {
		Order int64  `json:"order,omitempty"`
		Note  string `json:"note,omitempty"`
	}
	return tool.Func(tool.Info{Name: "pay", Mode: tool.Permit}, func(_ context.Context, a pay) (string, error) {
		r.add("pay", "")
		data, _ := json.Marshal(a)
		*seen = string(data)
		return "paid", nil
	})
}

func breakDecide(t *testing.T, decision string) (seen string, open bool) {
	var r ran
	m := model.Script(model.Ask(call("pay", `{"order":1}`)), model.Say("done"))
	g := agent(t, react.Config{Model: m, Tools: tools(t, r.pay(&seen))}, &checkpoint.Memory{})
	res, err := g.Invoke(t.Context(), react.Input("pay"), run)
	if err != nil || res.Status != graph.Interrupted {
		t.Fatal(res.Status, err)
	}
	res, err = g.Resume(t.Context(), graph.Answer(res.Interrupts[0].ID, json.RawMessage(decision)), run)
	return seen, err != nil || res.Status == graph.Interrupted
}

// An edit must have arguments, and an approval must not.
func TestDecision_MustNotContradictItself(t *testing.T) {
	for _, d := range []string{`{"action":"edit"}`, `{"action":"edit","arguments":null}`, `{"action":"approve","arguments":{"order":2}}`} {
		if seen, open := breakDecide(t, d); seen != "" || !open {
			t.Errorf("%s: it ran with %s", d, seen)
		}
	}
}

func TestEditedArguments_NumbersAreNotChanged(t *testing.T) {
	seen, _ := breakDecide(t, `{"action":"edit","arguments":{"order":9007199254740993}}`)
	if seen != `{"order":9007199254740993}` {
		t.Errorf("a person permitted order 9007199254740993, and it ran with %s", seen)
	}
}

func TestAnswer_NumbersAreNotChanged(t *testing.T) {
	set := tools(t, tool.Ask[struct{}, int64](tool.Info{Name: "which"}))
	m := model.Script(model.Ask(call("which", `{}`)), model.Say("done"))
	g := agent(t, react.Config{Model: m, Tools: set}, &checkpoint.Memory{})
	res, err := g.Invoke(t.Context(), react.Input("x"), run)
	if err != nil || res.Status != graph.Interrupted {
		t.Fatal(res.Status, err)
	}
	if _, err = g.Resume(t.Context(), graph.Answer(res.Interrupts[0].ID, json.RawMessage(`9007199254740993`)), run); err != nil {
		t.Fatal(err)
	}
	last := m.Requests()[1].Messages
	if got := last[len(last)-1].Results[0].Text(); got != "9007199254740993" {
		t.Errorf("a person answered 9007199254740993, and the model got %s", got)
	}
}

package recording_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/capabilities/recording"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/agent"
)

type page struct {
	Text string `json:"text"`
}

func (page) ContextType() string { return "PAGE" }

// writer writes a page, by the parameter "do" of its step.
func writer(t *testing.T, called func()) *capabilities.Registry {
	t.Helper()
	info := capabilities.Info{Name: "write", Description: "writes", Provides: []string{"PAGE"}, OnReject: capabilities.SkipStep}
	reg, err := capabilities.NewRegistry(capabilities.Func(info, func(ctx context.Context, c *capabilities.Call) error {
		called()
		switch c.Step.Parameters["do"] {
		case "retry":
			return agent.Failed(agent.Retriable, errors.New("the printer is busy"))
		case "code":
			return final{}
		case "ask":
			if _, err := c.Approve(agent.ApprovalRequest{Type: "print", Data: json.RawMessage(`{"n":1}`)}); err != nil {
				return err
			}
		case "interrupt":
			return graph.ErrInterrupted
		case "settings":
			c.State.Task.Current.Set("another")
		}
		c.Manager.Display(c.State).Figure(agent.Figure{Capability: "write", Path: "a.png"})
		c.State.UI.LaunchableCommands.Append(agent.Command{URI: "doc:1"})
		if err := agent.Remember(c.State, "pages", 1); err != nil {
			return err
		}
		c.State.Context.Delete("PAGE", "old")
		return c.Store(page{"of " + c.Step.Objective})
	}))
	if err != nil {
		t.Fatal(err)
	}
	reg, err = recording.Capabilities(reg)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// write runs the capability, and returns what the state has then.
func write(t *testing.T, ctx context.Context, reg *capabilities.Registry, do string, decisions map[string]graph.Decision) (shown string, err error) {
	t.Helper()
	types, err := agent.NewTypes(agent.TypeOf[page]())
	if err != nil {
		t.Fatal(err)
	}
	var s agent.State
	s.UI.CapturedFigures.Append(agent.Figure{Path: "first.png"})
	if err := s.Context.Put("PAGE", "old", state.ContextEntry{Fields: `{"text":"old"}`}); err != nil {
		t.Fatal(err)
	}
	err = reg.Run(ctx, "write", capabilities.Call{Manager: agent.StateManager{Types: types}, State: &s, Decisions: decisions, Step: agent.Step{
		ContextKey: "new", Capability: "write", Objective: "tea", Parameters: map[string]any{"do": do},
		Inputs: agent.InputList{{Type: "PAGE", Key: "old"}},
	}})
	data, jerr := json.Marshal(s)
	if jerr != nil {
		t.Fatal(jerr)
	}
	return string(data), err
}

// A replay writes what the capability wrote, and fails and asks as it did.
func TestCapabilities_ReplayWhatWasWritten(t *testing.T) {
	no := map[string]graph.Decision{"print:write:new": {Type: graph.DecisionReject, Message: "too much", By: "ann"}}
	yes := map[string]graph.Decision{"print:write:new": {Type: graph.DecisionApprove}}
	type run struct {
		do        string
		decisions map[string]graph.Decision
	}
	runs := []run{{do: ""}, {do: "retry"}, {do: "code"}, {do: "ask"}, {"ask", no}, {"ask", yes}}
	var states []string
	var errs []error
	file := twice(t, recording.Options{}, func(ctx context.Context, replay bool) {
		reg := writer(t, func() {
			if replay {
				t.Error("a replay ran the capability")
			}
		})
		for i, r := range runs {
			state, err := write(t, ctx, reg, r.do, r.decisions)
			if !replay {
				states, errs = append(states, state), append(errs, err)
				continue
			}
			if state != states[i] || fmt.Sprint(err) != fmt.Sprint(errs[i]) || agent.SeverityOf(err) != agent.SeverityOf(errs[i]) {
				t.Errorf("%v: got %s, %v, want %s, %v", r, state, err, states[i], errs[i])
			}
			var need, needed *capabilities.ApprovalNeeded
			if errors.As(errs[i], &needed) && (!errors.As(err, &need) || asJSON(t, need) != asJSON(t, needed)) {
				t.Errorf("%v: got the question %+v, want %+v", r, need, needed)
			}
			var refuse, refused *capabilities.Rejected
			if errors.As(errs[i], &refused) && (!errors.As(err, &refuse) || asJSON(t, refuse) != asJSON(t, refused)) {
				t.Errorf("%v: got the rejection %+v, want %+v", r, refuse, refused)
			}
		}
	})
	if errs[0] != nil || errs[5] != nil || states[0] != states[5] {
		t.Fatalf("the errors are %v", errs)
	}
	for _, want := range []string{`"PAGE":{"new":{`, `"text":"of tea"`, `first.png`, `a.png`, `doc:1`, `"pages":1`} {
		if !strings.Contains(states[0], want) {
			t.Errorf("the state lacks %s: %s", want, states[0])
		}
	}
	if agent.SeverityOf(errs[1]) != agent.Retriable || !errors.As(errs[3], new(*capabilities.ApprovalNeeded)) || !errors.As(errs[4], new(*capabilities.Rejected)) {
		t.Errorf("the errors are %v", errs)
	}
	for _, want := range []string{
		"capability: write\n", "old: null", "error: {text: the printer is busy, severity: retriable}", "error: {text: it does not work, code: \"exec:3\", final: true}",
		"contexts:\n        PAGE:\n          old: {text: old}",
	} {
		if !strings.Contains(file, want) {
			t.Errorf("the file lacks\n%s\nIt is\n%s", want, file)
		}
	}
	if strings.Contains(file, "ann") {
		t.Errorf("the file has the name of a person:\n%s", file)
	}
}

// A capability that asks by itself, or writes elsewhere, cannot be recorded.
func TestCapabilities_ThatCannotBeRecorded(t *testing.T) {
	for do, want := range map[string]string{
		"interrupt": "recording: the capability write asks a person by itself, which cannot be recorded",
		"settings":  "recording: the capability write cannot be recorded: it writes task.current_task of the state, which a recording does not have",
	} {
		r, err := recording.Open(filepath.Join(t.TempDir(), "calls.yaml"), recording.Options{Record: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := write(t, r.Context(t.Context()), writer(t, func() {}), do, nil); err == nil {
			t.Errorf("%s: no error", do)
		}
		if err := r.Close(nil); fmt.Sprint(err) != want {
			t.Errorf("%s: Close returns %v, want %s", do, err, want)
		}
	}
}

func TestFunction_IsReplayed(t *testing.T) {
	type task struct{ Text string }
	calls := 0
	twice(t, recording.Options{}, func(ctx context.Context, _ bool) {
		got, err := recording.Function(ctx, "extract", map[string]int{"n": 1}, func(context.Context) (task, error) { calls++; return task{"tea"}, nil })
		if err != nil || got.Text != "tea" {
			t.Errorf("got %+v, %v", got, err)
		}
		_, err = recording.Function(ctx, "extract", nil, func(context.Context) (task, error) {
			calls++
			return task{}, agent.Failed(agent.Fatal, errors.New("no"))
		})
		if agent.SeverityOf(err) != agent.Fatal || err.Error() != "no" {
			t.Errorf("got %v with the severity %s", err, agent.SeverityOf(err))
		}
	})
	if calls != 2 {
		t.Errorf("the function was called %d times, want 2", calls)
	}
}

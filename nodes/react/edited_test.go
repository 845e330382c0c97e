package react_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/react"
	"github.com/weftrun/weft/state/message"
)

// edit is the decision to run a call with another q.
func edit(q string) any {
	return graph.EditTo(map[string]any{"q": q})
}

// sent formats the messages of a request, one on each line.
func sent(r model.Request) string {
	var s react.State
	s.Messages = message.LogOf(r.Messages...)
	return said(s)
}

// After an edit, the model, the store and the readers get the call that ran.
func TestEditedCall_IsInTheLog(t *testing.T) {
	var r ran
	m := model.Script(model.Ask(call("pay", `{"q":"500 EUR"}`)), model.Say("done"))
	c := react.Config{Model: m, Tools: tools(t, r.find(tool.Info{Name: "pay", Mode: tool.Permit}))}
	store := &checkpoint.Memory{}
	res, err := agent(t, c, store).Invoke(t.Context(), react.Input("go"), run)
	if err != nil || res.Status != graph.Interrupted {
		t.Fatal(res.Status, err)
	}
	g := agent(t, c, store)
	streamed, labels := "", ""
	for ev, err := range g.StreamResume(t.Context(), graph.Reply(edit("5 EUR")),
		graph.RunOptions{Thread: "t", By: "anna", Modes: graph.Updates | graph.Tasks | graph.Values}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Mode == graph.Updates && ev.Node == react.ToolNode {
			streamed += string(ev.Writes)
		}
		if ev.Mode == graph.Tasks && ev.Node == react.ToolNode && ev.ParentTask == "" && ev.Phase == graph.Finished {
			labels += ev.Label
		}
		if s, ok := ev.State.(*react.State); ok && s.Messages.Len() > 2 && !strings.Contains(said(*s), `[pay {"q":"5 EUR"}]`) {
			t.Errorf("readers see a conversation in which another call ran:\n%s", said(*s))
		}
	}
	want := "user: go\nassistant: [pay {\"q\":\"5 EUR\"}]\ntool: found 5 EUR\n"
	if d := cmp.Diff(want, sent(m.Requests()[1])); d != "" {
		t.Errorf("the model was sent (-want +got):\n%s", d)
	}
	if err := message.Validate(m.Requests()[1].Messages); err != nil {
		t.Error("no provider takes the conversation:", err)
	}
	s, _, err := g.Thread("t").State(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want+"assistant: done\n", said(s)); d != "" {
		t.Errorf("the store holds (-want +got):\n%s", d)
	}
	data, err := json.Marshal(s.Messages)
	if err != nil || !strings.Contains(string(data), `"edited":{"by":"anna","arguments":{"q":"500 EUR"}}`) {
		t.Errorf("the log does not say what the model had asked for: %s, %v", data, err)
	}
	if !strings.Contains(streamed, `"q":"5 EUR"`) || !strings.Contains(labels, "5 EUR") || strings.Contains(labels, "500") {
		t.Errorf("streamed were %s, with the labels %s", streamed, labels)
	}
}

// Two calls of one message are edited, one after the other in two processes.
func TestEditedCalls_OfOneMessageAllStay(t *testing.T) {
	for name, together := range map[string]bool{"together": true, "one by one": false} {
		t.Run(name, func(t *testing.T) {
			var r ran
			m := model.Script(model.Ask(call("pay", `{"q":"1"}`), call("pay", `{"q":"2"}`), call("pay", `{"q":"3"}`)), model.Say("done"))
			c := react.Config{Model: m, Tools: tools(t, r.find(tool.Info{Name: "pay", Mode: tool.Permit}))}
			store := &checkpoint.Memory{}
			res, err := agent(t, c, store).Invoke(t.Context(), react.Input("go"), run)
			if err != nil || len(res.Interrupts) != 3 {
				t.Fatal(res.Status, err)
			}
			open := res.Interrupts
			all := []graph.Answers{graph.Answer(open[0].ID, edit("10")),
				graph.Answer(open[2].ID, edit("30")), graph.Answer(open[1].ID, graph.Decision{Type: graph.DecisionApprove})}
			if together {
				all = []graph.Answers{graph.Answer(open[0].ID, edit("10")).Answer(open[2].ID, edit("30")).
					Answer(open[1].ID, graph.Decision{Type: graph.DecisionApprove})}
			}
			for _, a := range all {
				if res, err = agent(t, c, store).Resume(t.Context(), a, run); err != nil {
					t.Fatal(err)
				}
			}
			want := "user: go\nassistant: [pay {\"q\":\"10\"}][pay {\"q\":\"2\"}][pay {\"q\":\"30\"}]\n" +
				"tool: found 10\ntool: found 2\ntool: found 30\n"
			if d := cmp.Diff(want, sent(m.Requests()[1])); d != "" {
				t.Errorf("the model was sent (-want +got):\n%s", d)
			}
			if res.Status != graph.Done || r.count("pay") != 3 {
				t.Errorf("%s, ran %v", res.Status, r.ids)
			}
		})
	}
}

// An edit that changes nothing is an approval.
func TestEditedCall_WithTheSameArgumentsIsNotMarked(t *testing.T) {
	var r ran
	c := react.Config{
		Model: model.Script(model.Ask(call("pay", `{ "q" : "1" }`)), model.Say("done")),
		Tools: tools(t, r.find(tool.Info{Name: "pay", Mode: tool.Permit})),
	}
	g, _ := paused(t, c, 1)
	res, err := g.Resume(t.Context(), graph.Reply(edit("1")), run)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := json.Marshal(res.State.Messages); err != nil || strings.Contains(string(data), "edited") {
		t.Errorf("the log has %s, %v", data, err)
	}
}

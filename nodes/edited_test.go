package nodes_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes"
	"github.com/weftrun/weft/state/message"
)

// edited is a decision to refund another order.
func edited(graph.Interrupt) any {
	return map[string]any{"action": "edit", "arguments": map[string]any{"id": "B-2"}}
}

func TestEditedCallOfAnAgentOfAFile_IsInItsMessages(t *testing.T) {
	paid := 0
	m := model.Script(
		model.Ask(message.Call{ID: "c2", Name: "refund", Arguments: []byte(`{"id":"A-17"}`)}), model.Say("It is done."), model.Say(`{"good": true}`),
	)
	w, g := program(t, agentFile, nodes.Program{Models: map[string]model.Model{"small": m}, Tools: toolsOf(t, &paid)})
	got, err := answer(t, w, g, edited)
	if err != nil || paid != 1 {
		t.Fatal(got, paid, err)
	}
	for i, r := range m.Requests()[1:] {
		sent, err := json.Marshal(r.Messages)
		if err != nil || !strings.Contains(string(sent), `"arguments":{"id":"B-2"}`) || !strings.Contains(string(sent), "paid back B-2") {
			t.Errorf("request %d: the model was sent %s, want the call that ran; %v", i+2, sent, err)
		}
	}
	if said, err := json.Marshal(got["said"]); err != nil || !strings.Contains(string(said), `"arguments":{"id":"B-2"}`) {
		t.Errorf("the output holds %s, want the call that ran; %v", said, err)
	}
}

func TestEditedCallOfAToolNode_IsInItsResult(t *testing.T) {
	const file = `
version: 1
state: {text: string, args: any, edited: bool, by: string}
nodes:
  pay:
    tool: {name: refund, args: {id: A-17}}
    output: {text: "${{ result.text }}", args: "${{ result.args }}", edited: "${{ result.edited }}", by: "${{ result.edited_by }}"}
    next: END
`
	for name, c := range map[string]struct {
		say  func(graph.Interrupt) any
		want string
	}{
		"edited":   {edited, `{"args":{"id":"B-2"},"by":"anna","edited":true,"text":"paid back B-2"}`},
		"approved": {func(graph.Interrupt) any { return map[string]any{"action": "approve"} }, `{"args":{"id":"A-17"},"by":"","edited":false,"text":"paid back A-17"}`},
	} {
		paid := 0
		w, g := program(t, file, nodes.Program{Tools: toolsOf(t, &paid)})
		got, err := answer(t, w, g, c.say)
		if data, _ := json.Marshal(got); err != nil || string(data) != c.want {
			t.Errorf("%s: got %s, %v, want %s", name, data, err, c.want)
		}
	}
}

package turn_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
)

func TestParseDecision_QuestionIsNoYes(t *testing.T) {
	for _, text := range []string{"ok?", "yes?", "approve?", "sure ?", "go ahead?!", "yes, ok?", "OK？"} {
		if d, clear := turn.ParseDecision(text); clear {
			t.Errorf("%q: %s", text, d.Type)
		}
	}
}

// Numbers above 2^53 in an edit are not changed.
func TestEdit_NumbersAreNotChanged(t *testing.T) {
	for name, say := range map[string]func(*turn.Agent[agent.State], string) graph.Result[agent.State]{
		"answer": func(g *turn.Agent[agent.State], id string) graph.Result[agent.State] {
			return resume(t, g.Graph, graph.Answer(id, json.RawMessage(`{"decision":"edit","edited":9007199254740993}`)))
		},
		"/edit": func(g *turn.Agent[agent.State], id string) graph.Result[agent.State] {
			send(t, g, "/edit 9007199254740993")
			return graph.Result[agent.State]{}
		},
	} {
		got := ""
		cp := capabilities.Func(capabilities.Info{Name: "write", Description: "writes a value", Provides: []string{"RAIN"}}, func(_ context.Context, c *capabilities.Call) error {
			d, err := c.Approve(agent.ApprovalRequest{Type: "value", Data: []byte(`7`)})
			if err != nil {
				return err
			}
			got = string(d.Args)
			return c.Store(Rain{Column: got})
		})
		g, _ := newAgent(t, turn.Config{Manager: manager(t), Capabilities: registry(t, cp)}, &checkpoint.Memory{})
		res := send(t, g, "write it")
		if len(res.Questions) != 1 {
			t.Fatal(res.Status, res.Text)
		}
		say(g, res.Questions[0].ID)
		if got != "9007199254740993" {
			t.Errorf("%s: a person approved 9007199254740993, and it ran with %s", name, got)
		}
	}
}

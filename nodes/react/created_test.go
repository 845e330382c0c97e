package react_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/react"
	"github.com/weftrun/weft/state/message"
)

func TestMessages_HaveTheTimeOfTheGraphsClock(t *testing.T) {
	now := time.Date(2026, 5, 6, 12, 0, 0, 0, time.UTC)
	wait := tool.Func(tool.Info{Name: "wait", Mode: tool.Permit}, func(context.Context, struct{}) (string, error) {
		now = now.Add(time.Hour)
		return "waited", nil
	})
	m := model.Script(model.Ask(message.Call{ID: "1", Name: "wait", Arguments: json.RawMessage(`{}`)}), model.Say("Done."))
	b, err := react.New(react.Config{Model: m, Tools: tools(t, wait)})
	if err != nil {
		t.Fatal(err)
	}
	g, err := b.Compile(graph.Config{Store: &checkpoint.Memory{}, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Invoke(t.Context(), react.Input("wait"), graph.RunOptions{Thread: "t"})
	if err != nil || res.Status != graph.Interrupted {
		t.Fatalf("%s, %v", res.Status, err)
	}
	now = now.Add(time.Hour) // a person thinks
	if res, err = g.Resume(t.Context(), graph.Reply(graph.Decision{Type: graph.DecisionApprove}), graph.RunOptions{Thread: "t"}); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, m := range res.State.Messages.All() {
		got += string(m.Role) + " " + m.Created.Format("15:04") + "\n"
	}
	if want := "user 12:00\nassistant 12:00\ntool 14:00\nassistant 14:00\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

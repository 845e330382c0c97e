package react_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/react"
	"github.com/weftrun/weft/state/message"
)

// An agent that needs a person's permission for one of its tools.
func Example() {
	wipe := tool.Func(tool.Info{Name: "wipe", Mode: tool.Permit},
		func(_ context.Context, a struct {
			Path string `json:"path"`
		}) (string, error) {
			return "wiped " + a.Path, nil
		})
	set, _ := tool.NewSet(wipe)
	m := model.Script(
		model.Ask(message.Call{ID: "1", Name: "wipe", Arguments: json.RawMessage(`{"path":"/tmp/a"}`)}),
		model.Say("It is gone."),
	)
	b, _ := react.New(react.Config{Model: m, Tools: set})
	g, err := b.Compile(graph.Config{Store: &checkpoint.Memory{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	thread := graph.RunOptions{Thread: "t1"}
	res, _ := g.Invoke(context.Background(), react.Input("clean up"), thread)
	fmt.Println(res.Status, res.Interrupts[0].Prompt)

	edited := graph.EditTo(map[string]any{"path": "/tmp/b"})
	res, err = g.Resume(context.Background(), graph.Reply(edited), thread)
	last := res.State.Messages.At(res.State.Messages.Len() - 2)
	fmt.Println(last.Text(), "-", res.State.Answer.Get(), err)
	// Output:
	// interrupted May the tool "wipe" run?
	// wiped /tmp/b - It is gone. <nil>
}

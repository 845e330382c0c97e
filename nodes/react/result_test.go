package react_test

import (
	"context"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/react"
	"github.com/weftrun/weft/state/message"
)

// A server may send an image without its media type. The run goes on, and does not fail in each
// attempt with the stored result.
func TestTools_InvalidResultDoesNotFailTheRun(t *testing.T) {
	shot := tool.Func(tool.Info{Name: "shot"}, func(context.Context, struct{}) (tool.Output, error) {
		return tool.Output{message.ImageBytes("", []byte("PNG"))}, nil
	})
	m := model.Script(model.Ask(call("shot", `{}`)), model.Say("no picture"))
	res, err := agent(t, react.Config{Model: m, Tools: tools(t, shot)}, &checkpoint.Memory{}).Invoke(t.Context(), react.Input("look"), run)
	if err != nil || res.Status != graph.Done || res.State.Answer.Get() != "no picture" {
		t.Errorf("got %s, %q, %v", res.Status, res.State.Answer.Get(), err)
	}
}

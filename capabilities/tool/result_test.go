package tool_test

import (
	"context"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/state/message"
)

// A part that no message can have is left out of a result, and the model gets the others.
func TestTool_InvalidPartIsLeftOut(t *testing.T) {
	for name, part := range map[string]message.Part{
		"an image without a type": message.ImageBytes("", []byte("PNG")),
		"an image without bytes":  message.ImageBytes("image/png", nil),
		"no type":                 {Text: "x"},
		"data that is no JSON":    {Type: message.TypeData, Data: []byte("{")},
		"text with data":          {Type: message.TypeText, Text: "x", Data: []byte("1")},
	} {
		t.Run(name, func(t *testing.T) {
			shot := tool.Func(tool.Info{Name: "shot"}, func(context.Context, struct{}) (tool.Output, error) {
				return tool.Output{message.Text("before "), part, message.Text(" after")}, nil
			})
			got := set(t, shot).Do(t.Context(), ask("shot", `{}`), "exec-1", tool.Limits{})
			if text := got.Text(); got.IsError || !strings.HasPrefix(text, "before (") || !strings.HasSuffix(text, ") after") {
				t.Errorf("got %+v, want the valid parts and a note", got)
			}
			if err := new(message.Log).Add(message.Tool(got)); err != nil {
				t.Errorf("the conversation refuses the result: %v", err)
			}
		})
	}
}

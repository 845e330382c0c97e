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
		"data that is not JSON":   {Type: message.TypeData, Data: []byte("{")},
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

// A part that is left out does not use up the limit of the result.
func TestTool_PartsLeftOutDoNotCount(t *testing.T) {
	large := make([]byte, 1<<20)
	for name, part := range map[string]message.Part{
		"an invalid image": message.ImageBytes("", large),
		"a large image":    message.ImageBytes("image/png", large),
		"large data":       {Type: message.TypeData, Data: append([]byte("{"), large...)},
	} {
		t.Run(name, func(t *testing.T) {
			shot := tool.Func(tool.Info{Name: "shot"}, func(context.Context, struct{}) (tool.Output, error) {
				return tool.Output{part, message.Text("the text"), message.Text(" after it"), message.Text(strings.Repeat("x", 50_000))}, nil
			})
			got := set(t, shot).Do(t.Context(), ask("shot", `{}`), "exec-1", tool.Limits{MaxResult: 50_000})
			text := got.Text()
			if got.IsError || !strings.Contains(text, ")the text after it") || !strings.Contains(text, "(cut: 49983 of 50000 bytes are shown)") {
				t.Errorf("got %d bytes, %.300q; want a note, the text after it, and the rest of the limit", len(text), text)
			}
		})
	}
}

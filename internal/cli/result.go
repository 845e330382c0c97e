package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

// ended is how run and resume end, as JSON.
type ended struct {
	Thread     string            `json:"thread"`
	Workflow   string            `json:"workflow"`
	Status     graph.Status      `json:"status"`
	Output     *workflow.Values  `json:"output,omitempty"`
	Interrupts []graph.Interrupt `json:"interrupts,omitempty"`
	Next       []string          `json:"next,omitempty"` // commands that go on
}

// result prints what the graph gives back.
func (s *session) result(ctx context.Context, end json.RawMessage) error {
	output, err := s.graph.output(ctx, s.thread, end)
	if err != nil {
		return err
	}
	if s.json {
		return s.printJSON(ended{Thread: s.thread, Workflow: s.graph.Name(), Status: graph.Done, Output: &output})
	}
	if len(output) == 0 {
		s.note("thread %q is done; the workflow has no output", s.thread)
	}
	return printValues(s.Stdout, output)
}

// printValues prints values to be read: a short value behind its name, a text of
// several lines below it as it is, anything else as indented JSON.
func printValues(out io.Writer, values workflow.Values) error {
	var b strings.Builder
	for _, v := range values {
		text, err := readable(v.Value)
		if err != nil {
			return fmt.Errorf("field %q: %w", v.Name, err)
		}
		if strings.Contains(text, "\n") {
			fmt.Fprintf(&b, "%s:\n%s\n", v.Name, strings.TrimSuffix(text, "\n"))
			continue
		}
		fmt.Fprintf(&b, "%s: %s\n", v.Name, text)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// jsonText returns JSON as it is, or indented if it is long.
func jsonText(data []byte) string {
	text, err := readable(json.RawMessage(data))
	if err != nil || len(data) > 0 && data[0] == '"' {
		return string(data)
	}
	return text
}

// readable returns a value as a person reads it.
func readable(v any) (string, error) {
	if data, ok := v.(json.RawMessage); ok && len(data) > 0 && data[0] == '"' {
		var text string
		err := json.Unmarshal(data, &text)
		return text, err
	}
	if text, ok := v.(string); ok {
		return text, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	short := strings.TrimSpace(b.String())
	if len(short) <= 80 {
		return short, nil
	}
	b.Reset()
	err := json.Indent(&b, []byte(short), "", "  ")
	return b.String(), err
}

package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/weftrun/weft/graph/workflow"
)

// PrintValues prints values for people: a short value behind its name, a text of several lines
// below its name, and any other value as indented JSON.
func PrintValues(out io.Writer, values workflow.Values) error {
	var b strings.Builder
	for _, v := range values {
		text, err := Readable(v.Value)
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

// JSONText returns JSON as it is, or indented if it is long.
func JSONText(data []byte) string {
	text, err := Readable(json.RawMessage(data))
	if err != nil || len(data) > 0 && data[0] == '"' {
		return string(data)
	}
	return text
}

// Readable returns a value as text for people: a string as it is, JSON on one line or indented.
func Readable(v any) (string, error) {
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

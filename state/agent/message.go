package agent

import (
	"fmt"
	"strings"

	"github.com/weftrun/weft/state/message"
)

// FormatMessages returns the conversation as numbered lines for a prompt, such as
// "1. USER (14:03:59): hello". It indents the lines of a message after the first.
func FormatMessages(messages []message.Message) string {
	if len(messages) == 0 {
		return "No conversation history available"
	}
	var b strings.Builder
	for i, m := range messages {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%d. %s", i+1, strings.ToUpper(string(m.Role)))
		if !m.Created.IsZero() {
			b.WriteString(m.Created.Format(" (15:04:05)"))
		}
		b.WriteString(": " + strings.ReplaceAll(m.Text(), "\n", "\n   "))
	}
	return b.String()
}

package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Message is one message of the conversation.
type Message struct {
	ID      string    `json:"id,omitempty"` // a message replaces an earlier one with its id
	Role    Role      `json:"role"`
	Content string    `json:"content"`
	Time    time.Time `json:"timestamp,omitzero"`
}

// Role says who speaks.
type Role string

// The roles.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// upsert returns the messages in order, each in the place of the first with its id.
func upsert(log []Message) []Message {
	at := map[string]int{}
	out := make([]Message, 0, len(log))
	for _, m := range log {
		i, seen := at[m.ID]
		if m.ID != "" && seen {
			out[i] = m
			continue
		}
		at[m.ID] = len(out)
		out = append(out, m)
	}
	return out
}

// LatestUser returns the content of the last message of a user.
func LatestUser(messages []Message) (string, bool) {
	for _, m := range slices.Backward(messages) {
		if m.Role == User {
			return m.Content, true
		}
	}
	return "", false
}

// FormatMessages returns the conversation as numbered lines for a prompt, such as
// "1. USER (14:03:59): hello"; the lines of one message after its first are indented.
func FormatMessages(messages []Message) string {
	if len(messages) == 0 {
		return "No conversation history available"
	}
	var b strings.Builder
	for i, m := range messages {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%d. %s", i+1, strings.ToUpper(string(m.Role)))
		if !m.Time.IsZero() {
			b.WriteString(m.Time.Format(" (15:04:05)"))
		}
		b.WriteString(": " + strings.ReplaceAll(m.Content, "\n", "\n   "))
	}
	return b.String()
}

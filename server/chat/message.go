package chat

import (
	"encoding/json"
	"strings"

	"github.com/weftrun/weft/server/wire"
)

// Message is a message on the wire, as far as chats show it.
type Message struct {
	Type       string // human, ai, system or tool
	ID         string
	Name       string
	Text       string
	Calls      []ToolCall // of an ai
	ToolCallID string     // of a tool
	Status     string     // of a tool: success or error
	Usage      *wire.Usage
}

// ToolCall is a complete call of a tool.
type ToolCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// ReadMessages reads a list of messages on the wire. It leaves out what it cannot read.
func ReadMessages(data json.RawMessage) (all []Message) {
	var list []json.RawMessage
	if json.Unmarshal(data, &list) != nil {
		list = []json.RawMessage{data}
	}
	for _, raw := range list {
		var m struct {
			Type       string          `json:"type"`
			ID         string          `json:"id"`
			Name       string          `json:"name"`
			Content    json.RawMessage `json:"content"`
			Calls      []ToolCall      `json:"tool_calls"`
			ToolCallID string          `json:"tool_call_id"`
			Status     string          `json:"status"`
			Usage      *wire.Usage     `json:"usage_metadata"`
		}
		if json.Unmarshal(raw, &m) != nil || m.Type == "" || m.Type == "remove" {
			continue
		}
		all = append(all, Message{m.Type, m.ID, m.Name, textOf(m.Content), m.Calls, m.ToolCallID, m.Status, m.Usage})
	}
	return all
}

// textOf returns the text of a message's content.
func textOf(content json.RawMessage) (text string) {
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	_ = json.Unmarshal(content, &blocks) // other blocks have no text
	var b strings.Builder
	for _, block := range blocks {
		if block.Type == "text" {
			b.WriteString(block.Text)
		}
	}
	return b.String()
}

package agui

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Input is what a client asks for, of type RunAgentInput.
type Input struct {
	Thread   string                     `json:"threadId"`
	Run      string                     `json:"runId"`
	State    map[string]json.RawMessage `json:"-"`
	RawState json.RawMessage            `json:"state"`
	Messages []Message                  `json:"messages"`
	Tools    json.RawMessage            `json:"tools"`
	Context  json.RawMessage            `json:"context"`
	Props    json.RawMessage            `json:"forwardedProps"`
	Resume   []Resume                   `json:"resume"`
}

// Resume answers a question.
type Resume struct {
	ID      string          `json:"interruptId"`
	Status  string          `json:"status"` // resolved or cancelled
	Payload json.RawMessage `json:"payload"`
}

// Message is a message of a client.
type Message struct {
	ID      string          `json:"id"`
	Role    string          `json:"role"`
	Name    string          `json:"name"`
	Content json.RawMessage `json:"content"`
	Calls   []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"toolCalls"`
	CallID string `json:"toolCallId"`
	Error  string `json:"error"`
}

// Read reads a request.
func Read(data []byte) (in Input, err error) {
	if err := json.Unmarshal(data, &in); err != nil {
		return in, err
	}
	if in.Thread == "" || in.Run == "" {
		return in, fmt.Errorf("threadId and runId must be set")
	}
	_ = json.Unmarshal(in.RawState, &in.State) // a state that is no object has no fields
	return in, nil
}

// Wire returns a message as servers read it; nil for what is not part of the conversation.
func (m Message) Wire() (json.RawMessage, error) {
	out := map[string]any{"id": m.ID}
	if m.Name != "" {
		out["name"] = m.Name
	}
	content, err := m.content()
	if err != nil {
		return nil, err
	}
	out["content"] = content
	switch m.Role {
	case "user":
		out["type"] = "human"
	case "system", "developer":
		out["type"] = "system"
	case "assistant":
		out["type"] = "ai"
		calls := []any{}
		for _, c := range m.Calls {
			if !json.Valid([]byte(c.Function.Arguments)) {
				return nil, fmt.Errorf("the arguments of call %.100q must be JSON", c.ID)
			}
			calls = append(calls, map[string]any{"id": c.ID, "name": c.Function.Name, "args": json.RawMessage(c.Function.Arguments), "type": "tool_call"})
		}
		out["tool_calls"] = calls
	case "tool":
		out["type"], out["tool_call_id"], out["status"] = "tool", m.CallID, "success"
		if m.Error != "" {
			out["status"] = "error"
		}
	case "reasoning", "activity":
		return nil, nil
	default:
		return nil, fmt.Errorf("the role of a message must be one of the protocol (got %.40q)", m.Role)
	}
	return json.Marshal(out)
}

// content returns the content of a message on the wire: a text, or blocks.
func (m Message) content() (any, error) {
	if len(m.Content) == 0 || bytes.Equal(m.Content, []byte("null")) {
		return "", nil
	}
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return text, nil
	}
	var parts []struct {
		Type   string `json:"type"`
		Text   string `json:"text"`
		Source struct {
			Type  string `json:"type"`
			Value string `json:"value"`
			Media string `json:"mimeType"`
		} `json:"source"`
	}
	if json.Unmarshal(m.Content, &parts) != nil {
		return nil, fmt.Errorf("the content of message %.100q must be a text or parts", m.ID)
	}
	blocks := []any{}
	for _, p := range parts {
		url := p.Source.Value
		if p.Source.Type == "data" {
			url = "data:" + p.Source.Media + ";base64," + url
		}
		switch {
		case p.Type == "text":
			blocks = append(blocks, map[string]any{"type": "text", "text": p.Text})
		case p.Type == "image" && url != "":
			blocks = append(blocks, map[string]any{"type": "image_url", "image_url": map[string]string{"url": url}})
		default:
			return nil, fmt.Errorf("a part of message %.100q must be a text or an image (got %.40q)", m.ID, p.Type)
		}
	}
	return blocks, nil
}

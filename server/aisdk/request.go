package aisdk

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Request is the body of a request of a chat.
type Request struct {
	ID       string                     `json:"id"` // of the chat
	Messages []Message                  `json:"messages"`
	Trigger  string                     `json:"trigger"` // submit-message or regenerate-message
	Resume   json.RawMessage            `json:"resume"`
	Input    map[string]json.RawMessage `json:"input"` // more fields of the input
	Leave    string                     `json:"on_disconnect"`
}

// Message is a message of a chat.
type Message struct {
	ID    string `json:"id"`
	Role  string `json:"role"`
	Parts []struct {
		Type  string `json:"type"`
		Text  string `json:"text"`
		URL   string `json:"url"`
		Media string `json:"mediaType"`
	} `json:"parts"`
}

// Regenerates reports whether the last answer of the assistant is to be made again.
func (r Request) Regenerates() bool { return r.Trigger == "regenerate-message" }

// Read reads a request.
func Read(data []byte) (r Request, err error) {
	if err := json.Unmarshal(data, &r); err != nil {
		return r, err
	}
	if r.ID == "" {
		return r, fmt.Errorf("id must be set")
	}
	return r, nil
}

// Wire returns a message as servers read it. Of an assistant it has only the texts.
func (m Message) Wire() (json.RawMessage, error) {
	out := map[string]any{"id": m.ID}
	switch m.Role {
	case "user":
		out["type"] = "human"
	case "assistant":
		out["type"] = "ai"
	case "system":
		out["type"] = "system"
	default:
		return nil, fmt.Errorf("the role of a message must be user, assistant or system (got %.40q)", m.Role)
	}
	blocks, texts, images := []any{}, []string{}, false
	for _, p := range m.Parts {
		switch {
		case p.Type == "text":
			texts = append(texts, p.Text)
			blocks = append(blocks, map[string]any{"type": "text", "text": p.Text})
		case p.Type == "file" && strings.HasPrefix(p.Media, "image/"):
			images = true
			blocks = append(blocks, map[string]any{"type": "image_url", "image_url": map[string]string{"url": p.URL}})
		case p.Type == "file":
			return nil, fmt.Errorf("a file of message %.100q must be an image (got %.100q)", m.ID, p.Media)
		}
	}
	if out["content"] = any(strings.Join(texts, "\n")); images {
		out["content"] = blocks
	}
	return json.Marshal(out)
}

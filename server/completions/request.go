package completions

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
)

// Request asks for the answer to a conversation.
type Request struct {
	Model    string            `json:"model"` // an assistant, or a graph
	Messages []json.RawMessage `json:"messages"`
	Stream   bool              `json:"stream"`
	Options  *StreamOptions    `json:"stream_options"`
	N        *int              `json:"n"`
	// Thread is the id of a thread that has the conversation; "" means that the messages are all of
	// it.
	Thread string `json:"thread_id"`
	Leave  string `json:"on_disconnect"` // continue or cancel

	// Settings are the other fields, such as temperature and tools.
	Settings map[string]json.RawMessage `json:"-"`
}

// StreamOptions are those of a streamed answer.
type StreamOptions struct {
	Usage bool `json:"include_usage"`
}

// Read reads a request. Its errors are for the client.
func Read(data []byte) (r Request, err error) {
	if err := json.Unmarshal(data, &r); err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r.Settings); err != nil {
		return r, err
	}
	for _, name := range []string{"model", "messages", "stream", "stream_options", "n", "thread_id", "on_disconnect"} {
		delete(r.Settings, name)
	}
	maps.DeleteFunc(r.Settings, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	switch {
	case r.Model == "":
		return r, errors.New("model must be the id of an assistant, or the name of a graph")
	case len(r.Messages) == 0:
		return r, errors.New("messages must have at least one message")
	case r.N != nil && *r.N != 1:
		return r, fmt.Errorf("n must be 1 (got %d)", *r.N)
	case r.Leave != "" && r.Leave != "continue" && r.Leave != "cancel":
		return r, fmt.Errorf("on_disconnect must be continue or cancel (got %.100q)", r.Leave)
	}
	for i, m := range r.Messages {
		if role(m) == "" {
			return r, fmt.Errorf("messages[%d] must be an object with a role", i)
		}
	}
	return r, nil
}

// role returns the role of a message, or "".
func role(m json.RawMessage) string {
	var of struct {
		Role string `json:"role"`
	}
	_ = json.Unmarshal(m, &of) // one that has none is refused
	return of.Role
}

// Added returns the messages that a thread with messages lacks: those after the last one of the
// assistant. The thread has its instructions already.
func (r Request) Added() (added []json.RawMessage) {
	for _, m := range r.Messages {
		switch role(m) {
		case "assistant":
			added = nil
		case "system", "developer":
		default:
			added = append(added, m)
		}
	}
	return added
}

// Answer returns the text of the last message, which answers an open question; false if it is not a
// text of the user.
func (r Request) Answer() (text string, ok bool) {
	last := r.Messages[len(r.Messages)-1]
	var m struct {
		Content json.RawMessage `json:"content"`
	}
	if role(last) != "user" || json.Unmarshal(last, &m) != nil {
		return "", false
	}
	if json.Unmarshal(m.Content, &text) == nil {
		return text, true
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(m.Content, &parts) != nil || len(parts) != 1 || parts[0].Type != "text" {
		return "", false
	}
	return parts[0].Text, true
}

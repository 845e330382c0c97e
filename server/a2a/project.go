package a2a

import (
	"encoding/json"
	"time"

	"github.com/weftrun/weft/server/chat"
	"github.com/weftrun/weft/server/wire"
)

// Projector makes the events of a stream from those of a conversation.
type Projector struct {
	Task    Task
	Version Version
	// AsState is true for a graph without messages: its state is the artifact.
	AsState bool

	grown map[string]bool // the messages that have an artifact
	state json.RawMessage // the newest
}

// Project returns the events of an event.
func (p *Projector) Project(e chat.Event, at time.Time) (out []any) {
	t := &p.Task
	t.At = at
	switch e.Kind {
	case chat.Begin:
		t.State = Working
		out = append(out, t.StatusUpdate(p.Version))
	case chat.Text:
		if p.grown == nil {
			p.grown = map[string]bool{}
		}
		out = append(out, t.ArtifactUpdate(p.Version, Artifact{ID: e.Message, Parts: []Part{{Text: e.Delta}}}, p.grown[e.Message], false))
		p.grown[e.Message] = true
	case chat.End:
		if p.grown[e.Message] {
			out = append(out, t.ArtifactUpdate(p.Version, Artifact{ID: e.Message, Parts: []Part{{}}}, true, true))
		}
	case chat.Result:
		out = append(out, t.ArtifactUpdate(p.Version, toolArtifact(e.CallID, e.Name, e.Delta, e.Failed), false, true))
	case chat.Asked:
		t.State, t.Status = InputRequired, asked(t.ID, e.Questions)
	case chat.State:
		p.state = e.Data
	case chat.Ended:
		if p.AsState && p.state != nil && e.Error == nil {
			out = append(out, t.ArtifactUpdate(p.Version, StateArtifact(p.state), false, true))
		}
		t.end(e)
		out = append(out, t.StatusUpdate(p.Version))
	}
	return out
}

// end sets the state of a task at the end of its run.
func (t *Task) end(e chat.Event) {
	switch {
	case e.Cancelled:
		t.State, t.Status = Canceled, nil
	case e.Error != nil:
		t.State, t.Status = Failed, &Said{ID: t.ID + ":error", Parts: []Part{{Text: e.Error.Error + ": " + e.Error.Message}}}
	case t.State != InputRequired:
		t.State = Completed
	}
}

// SetEnd sets the state, the artifacts and the history of a task whose run has ended. messages are
// the names of the fields that are lists of messages; a graph without any has its state as the
// artifact.
func (t *Task) SetEnd(o wire.Outcome, cancelled bool, messages []string, history int) {
	if o.Waiting {
		t.State, t.Status = InputRequired, asked(t.ID, o.Interrupts)
	}
	t.end(chat.Event{Cancelled: cancelled, Error: o.Error})
	if len(messages) == 0 {
		if len(o.Values) > 0 {
			t.Artifacts = []Artifact{StateArtifact(o.Values)}
		}
		return
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(o.Values, &fields) != nil {
		return
	}
	list := chat.ReadMessages(fields[messages[0]])
	for _, m := range list {
		switch {
		case m.Type == "human":
			t.Artifacts = nil // of an earlier run
		case m.Type == "ai" && m.Text != "":
			t.Artifacts = append(t.Artifacts, Artifact{ID: m.ID, Parts: []Part{{Text: m.Text}}})
		case m.Type == "tool":
			t.Artifacts = append(t.Artifacts, toolArtifact(m.ToolCallID, m.Name, m.Text, m.Status == "error"))
		}
		if m.Text != "" && (m.Type == "human" || m.Type == "ai") {
			t.History = append(t.History, Said{ID: m.ID, User: m.Type == "human", Parts: []Part{{Text: m.Text}}})
		}
	}
	t.History = t.History[len(t.History)-min(history, len(t.History)):]
}

// StateArtifact is the artifact of a graph without messages.
func StateArtifact(values json.RawMessage) Artifact {
	return Artifact{ID: "state", Name: "state", Parts: []Part{{Data: values}}}
}

func toolArtifact(call, name, content string, failed bool) Artifact {
	status := "success"
	if failed {
		status = "error"
	}
	data, _ := json.Marshal(struct { // of strings
		Call    string `json:"tool_call_id"`
		Name    string `json:"name,omitempty"`
		Content string `json:"content"`
		Status  string `json:"status"`
	}{call, name, content, status})
	return Artifact{ID: "tool:" + call, Name: name, Parts: []Part{{Data: data}}}
}

// asked returns the message of a status that asks.
func asked(id string, questions []wire.Interrupt) *Said {
	if len(questions) == 0 {
		return &Said{ID: id + ":breakpoint", Parts: []Part{{Text: "The run waits at a breakpoint."}}}
	}
	s := &Said{ID: id + ":" + questions[0].ID}
	for _, q := range questions {
		data := struct {
			ID     string          `json:"question_id"`
			Value  json.RawMessage `json:"value"`
			Schema json.RawMessage `json:"schema,omitempty"`
		}{ID: q.ID, Value: q.Value}
		if q.Weft != nil {
			data.Schema = q.Weft.Schema
			s.Parts = append(s.Parts, Part{Text: q.Weft.Prompt})
		}
		raw, err := json.Marshal(data)
		if err == nil {
			s.Parts = append(s.Parts, Part{Data: raw})
		}
	}
	return s
}

// Card describes an assistant to other agents, in both forms at once.
type Card struct {
	URL, ID, Name, Description, Version string
	Messages                            bool // it takes texts
}

// JSON returns the card.
func (c Card) JSON() ([]byte, error) {
	modes := []string{"application/json"}
	if c.Messages {
		modes = []string{"text/plain", "application/json"}
	}
	type address struct {
		URL     string `json:"url"`
		Binding string `json:"protocolBinding"`
		Version string `json:"protocolVersion"`
	}
	type skill struct {
		ID          string   `json:"id"`
		Name        string   `json:"name"`
		Description string   `json:"description"`
		Tags        []string `json:"tags"`
	}
	return json.Marshal(struct {
		Protocol     string          `json:"protocolVersion"`
		Name         string          `json:"name"`
		Description  string          `json:"description"`
		Version      string          `json:"version"`
		URL          string          `json:"url"`
		Transport    string          `json:"preferredTransport"`
		Interfaces   []address       `json:"supportedInterfaces"`
		Capabilities map[string]bool `json:"capabilities"`
		In           []string        `json:"defaultInputModes"`
		Out          []string        `json:"defaultOutputModes"`
		Skills       []skill         `json:"skills"`
	}{
		"0.3.0", c.Name, c.Description, c.Version, c.URL, "JSONRPC", []address{{c.URL, "JSONRPC", "1.0"}, {c.URL, "JSONRPC", "0.3"}},
		map[string]bool{"streaming": true, "pushNotifications": false}, modes, modes,
		[]skill{{c.ID, c.Name, c.Description, []string{"graph"}}},
	})
}

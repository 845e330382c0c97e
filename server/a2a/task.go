package a2a

import (
	"encoding/json"
	"time"
)

// State is what a task does, in the form of version 0.3.
type State string

const (
	Submitted     State = "submitted"
	Working       State = "working"
	Completed     State = "completed"
	InputRequired State = "input-required"
	Failed        State = "failed"
	Canceled      State = "canceled"
)

// statesV10 are the states in the form of version 1.0.
var statesV10 = map[State]string{
	Submitted: "TASK_STATE_SUBMITTED", Working: "TASK_STATE_WORKING", Completed: "TASK_STATE_COMPLETED",
	InputRequired: "TASK_STATE_INPUT_REQUIRED", Failed: "TASK_STATE_FAILED", Canceled: "TASK_STATE_CANCELED",
}

// Final reports whether a stream of the task ends with the state.
func (s State) Final() bool { return s != Submitted && s != Working }

// Ended reports whether the task does not go on.
func (s State) Ended() bool { return s.Final() && s != InputRequired }

// Part is a text, or a value.
type Part struct {
	Text string
	Data json.RawMessage // nil for a text
}

func (p Part) form(v Version) any {
	switch {
	case p.Data == nil && v == V03:
		return struct {
			Kind string `json:"kind"`
			Text string `json:"text"`
		}{"text", p.Text}
	case p.Data == nil:
		return struct {
			Text string `json:"text"`
		}{p.Text}
	case v == V03:
		return struct {
			Kind string          `json:"kind"`
			Data json.RawMessage `json:"data"`
		}{"data", p.Data}
	}
	return struct {
		Data json.RawMessage `json:"data"`
	}{p.Data}
}

func forms(parts []Part, v Version) []any {
	all := make([]any, len(parts))
	for i, p := range parts {
		all[i] = p.form(v)
	}
	return all
}

// Artifact is what a task has made.
type Artifact struct {
	ID    string
	Name  string
	Parts []Part
}

type artifactForm struct {
	ID    string `json:"artifactId"`
	Name  string `json:"name,omitempty"`
	Parts []any  `json:"parts"`
}

func (a Artifact) form(v Version) artifactForm { return artifactForm{a.ID, a.Name, forms(a.Parts, v)} }

// Said is a message in the history of a task, or that of a status.
type Said struct {
	ID    string
	User  bool // a person or the client has said it, and not the agent
	Parts []Part
}

type saidForm struct {
	Kind    string `json:"kind,omitempty"`
	ID      string `json:"messageId"`
	Role    string `json:"role"`
	Parts   []any  `json:"parts"`
	Context string `json:"contextId"`
	Task    string `json:"taskId"`
}

// Task is a task as clients see it.
type Task struct {
	ID, Context string
	State       State
	At          time.Time
	Status      *Said // a question or a failure
	Artifacts   []Artifact
	History     []Said
}

type statusForm struct {
	State   string    `json:"state"`
	Message *saidForm `json:"message,omitempty"`
	At      string    `json:"timestamp"`
}

type taskForm struct {
	Kind      string         `json:"kind,omitempty"`
	ID        string         `json:"id"`
	Context   string         `json:"contextId"`
	Status    statusForm     `json:"status"`
	Artifacts []artifactForm `json:"artifacts,omitempty"`
	History   []saidForm     `json:"history,omitempty"`
}

// kind returns the discriminator of version 0.3.
func kind(v Version, name string) string {
	if v == V03 {
		return name
	}
	return ""
}

func (t Task) said(m Said, v Version) saidForm {
	f := saidForm{kind(v, "message"), m.ID, "agent", forms(m.Parts, v), t.Context, t.ID}
	switch {
	case m.User && v == V03:
		f.Role = "user"
	case m.User:
		f.Role = "ROLE_USER"
	case v == V10:
		f.Role = "ROLE_AGENT"
	}
	return f
}

func (t Task) status(v Version) statusForm {
	f := statusForm{State: string(t.State), At: t.At.UTC().Format("2006-01-02T15:04:05.000Z")}
	if v == V10 {
		f.State = statesV10[t.State]
	}
	if t.Status != nil {
		said := t.said(*t.Status, v)
		f.Message = &said
	}
	return f
}

func (t Task) form(v Version) taskForm {
	f := taskForm{Kind: kind(v, "task"), ID: t.ID, Context: t.Context, Status: t.status(v)}
	for _, a := range t.Artifacts {
		f.Artifacts = append(f.Artifacts, a.form(v))
	}
	for _, m := range t.History {
		f.History = append(f.History, t.said(m, v))
	}
	return f
}

// Result returns the task as the result of a request.
func (t Task) Result(v Version) any { return t.form(v) }

// Payload returns the task as the result of Send, or as the first event of a stream.
func (t Task) Payload(v Version) any {
	if v == V03 {
		return t.form(v)
	}
	return map[string]any{"task": t.form(v)}
}

// StatusUpdate returns the event of the state of the task.
func (t Task) StatusUpdate(v Version) any {
	type update struct {
		Kind    string     `json:"kind,omitempty"`
		Task    string     `json:"taskId"`
		Context string     `json:"contextId"`
		Status  statusForm `json:"status"`
		Final   *bool      `json:"final,omitempty"`
	}
	u := update{Kind: kind(v, "status-update"), Task: t.ID, Context: t.Context, Status: t.status(v)}
	if v == V03 {
		u.Final = new(t.State.Final())
		return u
	}
	return map[string]any{"statusUpdate": u}
}

// ArtifactUpdate returns the event of a part of an artifact. grows is true unless it is the first,
// and last if it is the last.
func (t Task) ArtifactUpdate(v Version, a Artifact, grows, last bool) any {
	type update struct {
		Kind     string       `json:"kind,omitempty"`
		Task     string       `json:"taskId"`
		Context  string       `json:"contextId"`
		Artifact artifactForm `json:"artifact"`
		Append   bool         `json:"append"`
		Last     bool         `json:"lastChunk"`
	}
	u := update{kind(v, "artifact-update"), t.ID, t.Context, a.form(v), grows, last}
	if v == V03 {
		return u
	}
	return map[string]any{"artifactUpdate": u}
}

// Reply returns the answer to a request, with a result or an error.
func Reply(id json.RawMessage, result any, e *Error) ([]byte, error) {
	return json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result,omitempty"`
		Error   *Error          `json:"error,omitempty"`
	}{"2.0", id, result, e})
}

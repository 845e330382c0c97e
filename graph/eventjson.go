package graph

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// eventJSON is an Event on the wire. The order of its fields is part of the format.
type eventJSON struct {
	eventOrigin
	eventContent
}

// eventOrigin is what an event comes from.
type eventOrigin struct {
	Seq        uint64    `json:"seq"`
	Mode       string    `json:"mode"`
	Time       time.Time `json:"time,omitzero"`
	Namespace  string    `json:"namespace,omitempty"`
	Step       int       `json:"step,omitempty"`
	Node       string    `json:"node,omitempty"`
	Task       string    `json:"task,omitempty"`
	Label      string    `json:"label,omitempty"`
	Sends      int       `json:"sends,omitempty"`
	ParentTask string    `json:"within,omitempty"`
	Phase      Phase     `json:"phase,omitempty"`
	Attempt    int       `json:"attempt,omitempty"`
	Cached     bool      `json:"cached,omitempty"`
	Limit      string    `json:"limit,omitempty"`
}

// eventContent is what an event reports.
type eventContent struct {
	Writes     json.RawMessage `json:"writes,omitempty"`
	State      json.RawMessage `json:"state,omitempty"`
	Payload    json.RawMessage `json:"payload,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	Token      Token           `json:"token,omitzero"`
	Checkpoint uint64          `json:"checkpoint,omitempty"`
	Commit     *CommitInfo     `json:"point,omitempty"`
	Due        []DueTask       `json:"due,omitempty"` // of Commit
	Error      string          `json:"error,omitempty"`
	Interrupts []Interrupt     `json:"interrupts,omitempty"`
	Decision   *DecisionRecord `json:"decision,omitempty"`
	Status     Status          `json:"status,omitempty"`
	Drained    string          `json:"drained,omitempty"`
	Starved    []string        `json:"starved,omitempty"`
	Steps      int             `json:"steps,omitempty"`
	Missed     uint64          `json:"missed,omitempty"`
}

// MarshalJSON returns the event for a program that passes it on: the mode by name,
// the error as text, the state as Graph.EncodeState has it. It fails if Payload cannot
// be JSON.
func (e Event) MarshalJSON() ([]byte, error) {
	j := eventJSON{eventOrigin{
		Seq: e.Seq, Mode: e.Mode.String(), Time: e.Time, Namespace: e.Namespace, Step: e.Step,
		Node: e.Node, Task: e.Task, Label: e.Label, Sends: e.Sends, ParentTask: e.ParentTask, Phase: e.Phase, Attempt: e.Attempt, Cached: e.Cached, Limit: e.Limit,
	}, eventContent{
		Writes: e.Writes, Input: e.Input, Token: e.Token, Checkpoint: e.Checkpoint, Commit: e.Commit,
		Interrupts: e.Interrupts, Decision: e.Decision, Status: e.Status, Drained: e.Drained, Starved: e.Starved,
		Steps: e.Steps, Missed: e.Missed,
	}}
	if e.Commit != nil {
		j.Due = e.Commit.Due
	}
	if e.Err != nil {
		j.Error = textOf(e.Err)
	}
	var err error
	if j.State, err = e.stateJSON(); err != nil {
		return nil, err
	}
	if e.Mode == Custom { // null is a payload too
		if j.Payload, err = json.Marshal(e.Payload); err != nil {
			return nil, err
		}
	}
	return json.Marshal(j)
}

func (e Event) stateJSON() ([]byte, error) {
	switch {
	case e.State == nil:
		return nil, nil
	case e.schema == nil: // the event was not made by a run
		return json.Marshal(e.State)
	}
	return e.schema.Encode(e.schema.Over(e.State))
}

// UnmarshalJSON reads what MarshalJSON writes, in another process: State and Payload are a
// json.RawMessage, and Err is an error with the text alone.
func (e *Event) UnmarshalJSON(data []byte) error {
	var j eventJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	mode, ok := modeOf(j.Mode)
	if !ok {
		return fmt.Errorf("%w %q", ErrMode, j.Mode)
	}
	*e = Event{
		Seq: j.Seq, Mode: mode, Time: j.Time, Namespace: j.Namespace, Step: j.Step,
		Node: j.Node, Task: j.Task, Label: j.Label, Sends: j.Sends, ParentTask: j.ParentTask, Phase: j.Phase, Attempt: j.Attempt, Cached: j.Cached, Limit: j.Limit,
		Writes: j.Writes, Input: j.Input, Token: j.Token, Checkpoint: j.Checkpoint, Commit: j.Commit,
		Interrupts: j.Interrupts, Decision: j.Decision, Status: j.Status, Drained: j.Drained, Starved: j.Starved,
		Steps: j.Steps, Missed: j.Missed,
	}
	if e.Commit != nil {
		e.Commit.Due = j.Due
	}
	if j.Error != "" {
		e.Err = errors.New(j.Error)
	}
	if j.State != nil {
		e.State = j.State
	}
	if mode == Custom {
		e.Payload = j.Payload
	}
	return nil
}

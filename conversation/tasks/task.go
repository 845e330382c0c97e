package tasks

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Status is the status of a task.
type Status string

const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Waiting    Status = "waiting" // for an answer to Task.Question
	Review     Status = "review"  // for a review of Task.Result
	Completed  Status = "completed"
	Failed     Status = "failed"
	Cancelled  Status = "cancelled"
)

var transitions = map[Status][]Status{
	Pending:    {InProgress, Failed, Cancelled},
	InProgress: {Waiting, Review, Completed, Failed, Cancelled},
	Waiting:    {InProgress, Completed, Failed, Cancelled},
	Review:     {InProgress, Completed, Failed, Cancelled},
}

// May reports whether the status of a task may change to another one.
func (s Status) May(to Status) bool { return slices.Contains(transitions[s], to) }

// Ended reports whether the status is final.
func (s Status) Ended() bool { return s == Completed || s == Failed || s == Cancelled }

// Task is a request of one agent to another.
type Task struct {
	ID       string          `json:"id"`
	Thread   string          `json:"thread,omitempty"`
	Type     string          `json:"type,omitempty"`
	Source   string          `json:"source,omitempty"` // the agent that requests the task
	Target   string          `json:"target,omitempty"` // the agent that runs the task
	Priority int             `json:"priority,omitempty"`
	Tags     []string        `json:"tags,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`
	Timeout  time.Duration   `json:"timeout,omitempty"` // of each attempt, in nanoseconds; 0 for none

	// The board sets the fields below. Create rejects a task that has them.
	Status   Status          `json:"status,omitempty"`
	Attempt  int             `json:"attempt,omitempty"`  // the number of attempts
	Question json.RawMessage `json:"question,omitempty"` // of a waiting task
	Answer   json.RawMessage `json:"answer,omitempty"`   // of the last Resume
	Result   json.RawMessage `json:"result,omitempty"`
	Reason   string          `json:"reason,omitempty"` // of a failed or cancelled task
	Created  time.Time       `json:"created,omitzero"`
	Updated  time.Time       `json:"updated,omitzero"`
	Started  time.Time       `json:"started,omitzero"` // the start of the first attempt
	Ended    time.Time       `json:"ended,omitzero"`
	Deadline time.Time       `json:"deadline,omitzero"` // of the current attempt

	claim string // identifies the last attempt
}

// stored is a task in the store.
type stored struct {
	Task
	Claim string `json:"claim,omitempty"`
}

// decode reads a task from the store.
func (t *Task) decode(value json.RawMessage) error {
	var s stored
	err := json.Unmarshal(value, &s)
	*t, t.claim = s.Task, s.Claim
	return err
}

// check returns an ErrTask if a new task is invalid.
func (t Task) check() error {
	why := ""
	switch {
	case t.ID == "":
		why = "it has no id"
	case t.Timeout < 0:
		why = fmt.Sprintf("its timeout must not be negative (got %v)", t.Timeout)
	case t.Status != "" || t.Attempt != 0 || t.Result != nil || t.Reason != "" || t.Question != nil || t.Answer != nil,
		!t.Created.IsZero() || !t.Updated.IsZero() || !t.Started.IsZero() || !t.Ended.IsZero() || !t.Deadline.IsZero():
		why = "the board sets its status, attempt, question, answer, result, reason and times"
	case t.Input != nil && !json.Valid(t.Input):
		why = "its input is not JSON"
	default:
		return nil
	}
	return fmt.Errorf("%w: %.200q: %s", ErrTask, t.ID, why)
}

// move changes the status of a task, or returns a *TransitionError.
func (t *Task) move(to Status, now time.Time) error {
	if !t.Status.May(to) {
		return &TransitionError{t.ID, t.Status, to}
	}
	t.Status, t.Deadline = to, time.Time{}
	switch {
	case to == InProgress:
		t.Attempt++
		if t.Started.IsZero() {
			t.Started = now
		}
		if t.Timeout > 0 {
			t.Deadline = now.Add(t.Timeout)
		}
	case to.Ended():
		t.Ended = now
	}
	return nil
}

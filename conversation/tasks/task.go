package tasks

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Status is where a task stands.
type Status string

const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Waiting    Status = "waiting" // for an answer to Task.Question
	Review     Status = "review"  // for somebody to look at Task.Result
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

// May reports whether a task may go from one status to another.
func (s Status) May(to Status) bool { return slices.Contains(transitions[s], to) }

// Ended reports whether a task of this status stays as it is.
func (s Status) Ended() bool { return s == Completed || s == Failed || s == Cancelled }

// Task is what one agent asks of another. What is set by the board is not set by callers.
type Task struct {
	ID       string          `json:"id"`
	Thread   string          `json:"thread,omitempty"`
	Type     string          `json:"type,omitempty"`
	Source   string          `json:"source,omitempty"` // the agent that asks
	Target   string          `json:"target,omitempty"` // the agent that is asked
	Priority int             `json:"priority,omitempty"`
	Tags     []string        `json:"tags,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`
	Timeout  time.Duration   `json:"timeout,omitempty"` // of each time that a worker works, in nanoseconds; 0 for none

	// Set by the board.
	Status   Status          `json:"status,omitempty"`
	Attempt  int             `json:"attempt,omitempty"`  // how often a worker began
	Question json.RawMessage `json:"question,omitempty"` // that a worker waits with
	Answer   json.RawMessage `json:"answer,omitempty"`   // that it was resumed with
	Result   json.RawMessage `json:"result,omitempty"`
	Reason   string          `json:"reason,omitempty"` // why it failed or was cancelled
	Created  time.Time       `json:"created,omitzero"`
	Updated  time.Time       `json:"updated,omitzero"`
	Started  time.Time       `json:"started,omitzero"` // when a worker began first
	Ended    time.Time       `json:"ended,omitzero"`
	Deadline time.Time       `json:"deadline,omitzero"` // of the work under way
}

// check returns an ErrTask that says what is wrong with a new task.
func (t Task) check() error {
	why := ""
	switch {
	case t.ID == "":
		why = "it has no id"
	case t.Timeout < 0:
		why = fmt.Sprintf("its timeout is %v", t.Timeout)
	case t.Status != "" || t.Attempt != 0 || t.Result != nil || t.Reason != "" || t.Question != nil || t.Answer != nil:
		why = "its status, result and reason are set by the board"
	case t.Input != nil && !json.Valid(t.Input):
		why = "its input is no JSON"
	default:
		return nil
	}
	return fmt.Errorf("%w: %.200q: %s", ErrTask, t.ID, why)
}

// move puts a task into another status, or returns a *TransitionError.
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

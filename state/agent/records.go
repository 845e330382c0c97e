package agent

import (
	"encoding/json"
	"time"
)

// StepResult is the result of one step.
type StepResult struct {
	StepIndex  int       `json:"step_index"` // from 0
	Capability string    `json:"capability"`
	Objective  string    `json:"task_objective,omitempty"`
	Success    bool      `json:"success"`
	Skipped    bool      `json:"skipped,omitempty"` // the step did not run, and the turn continues
	Error      string    `json:"error,omitempty"`
	Failure    *Failure  `json:"failure,omitempty"`  // of the last attempt, unless it succeeded
	Attempts   int       `json:"attempts,omitempty"` // attempts made so far
	Plan       int       `json:"plan,omitempty"`     // number of the plan in the turn: see Control.PlansCreatedCount
	Seconds    float64   `json:"execution_time"`     // of the last attempt
	Time       time.Time `json:"timestamp"`          // end of the last attempt
	// Edits are the changes that a person made before the step ran.
	Edits []Edit `json:"edits,omitempty"`
}

// Edit is a request that a person approved with changes.
type Edit struct {
	Type     string          `json:"approval_type"`
	By       string          `json:"by,omitempty"` // approver, as claimed by the answer
	Asked    json.RawMessage `json:"asked"`
	Approved json.RawMessage `json:"approved"`
}

// Done reports whether the step succeeded or was skipped.
func (r StepResult) Done() bool { return r.Success || r.Skipped }

// ApprovalRequest is a request for approval by a person. The requesting step sets Type, Objective,
// Message and Data; the runtime sets the other fields.
type ApprovalRequest struct {
	// Type is the kind of decision, such as orchestrator_plan. An answer to one type does not apply
	// to another.
	Type       string          `json:"approval_type"`
	Objective  string          `json:"step_objective,omitempty"`
	Capability string          `json:"capability,omitempty"`
	Message    string          `json:"user_message,omitempty"` // text for the person, in Markdown
	Time       time.Time       `json:"timestamp,omitzero"`
	Approved   bool            `json:"approved"`
	Data       json.RawMessage `json:"data,omitempty"` // value to approve; after the decision the approved value, which may be edited
	// Schema is the JSON Schema that an edited Data must match; it is optional.
	Schema   json.RawMessage `json:"schema,omitempty"`
	Asked    json.RawMessage `json:"asked,omitempty"` // original Data, if a person edited it
	By       string          `json:"by,omitempty"`    // approver or rejecter, as claimed by the answer
	Step     string          `json:"step,omitempty"`  // [Step.ResultKey] of the requesting step; "" means none
	Decided  bool            `json:"decided,omitempty"`
	Feedback string          `json:"feedback,omitempty"` // comment of the person on a rejection
}

// Severity determines what follows a failure.
type Severity string

// The severities.
const (
	Critical         Severity = "critical"         // end the turn and explain
	Retriable        Severity = "retriable"        // run the same node again
	Replanning       Severity = "replanning"       // make another plan
	Reclassification Severity = "reclassification" // choose capabilities again
	Fatal            Severity = "fatal"            // abort
)

// Severities returns all severities.
func Severities() []Severity {
	return []Severity{Critical, Retriable, Replanning, Reclassification, Fatal}
}

// Failure is a failure of a node as plain data.
type Failure struct {
	Node     string   `json:"node"` // failed node: a capability or another node
	Severity Severity `json:"severity"`
	// Rejected is true if a person rejected a request, and nothing is broken. UserMessage describes
	// the rejection.
	Rejected    bool              `json:"rejected,omitempty"`
	UserMessage string            `json:"user_message,omitempty"` // for people
	Error       string            `json:"error,omitempty"`        // for developers and operators
	Metadata    map[string]string `json:"metadata,omitempty"`
	// Attempts is the number of attempts that the node may make, including the first; 0 means 1.
	Attempts int `json:"max_attempts,omitempty"`
	// Delay is the wait before the next attempt, in seconds.
	Delay float64   `json:"retry_delay_seconds,omitempty"`
	Time  time.Time `json:"timestamp"`
}

// UnmarshalJSON reads a failure. It also reads the retry policy that earlier versions stored.
func (f *Failure) UnmarshalJSON(data []byte) error {
	type plain Failure
	var r struct {
		plain
		Retry struct {
			Attempts int     `json:"max_attempts"`
			Delay    float64 `json:"delay_seconds"`
		} `json:"retry_policy"`
		After float64 `json:"retry_after_seconds"`
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	*f = Failure(r.plain)
	if r.Retry.Attempts > 0 && f.Attempts == 0 {
		f.Attempts, f.Delay = r.Retry.Attempts, max(r.Retry.Delay, r.After)
	}
	return nil
}

// Wait returns the wait before the next attempt: Delay, at most an hour.
func (f Failure) Wait() time.Duration {
	if !(f.Delay > 0) {
		return 0
	}
	return time.Duration(min(f.Delay, time.Hour.Seconds()) * float64(time.Second))
}

// Figure is an image that a capability created.
type Figure struct {
	Capability  string            `json:"capability"`
	Path        string            `json:"figure_path"`
	CreatedAt   time.Time         `json:"created_at"`
	DisplayName string            `json:"display_name,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
}

// Command is a program or page that a user interface can launch. Type is a word of the application,
// such as notebook.
type Command struct {
	Capability  string            `json:"capability"`
	URI         string            `json:"launch_uri"`
	CreatedAt   time.Time         `json:"created_at"`
	DisplayName string            `json:"display_name,omitempty"`
	Type        string            `json:"command_type,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
}

// StatusUpdate is a status message for the user.
type StatusUpdate struct {
	Message  string            `json:"message"`
	Progress float64           `json:"progress"` // 0 to 1
	Complete bool              `json:"complete"`
	Node     string            `json:"node,omitempty"`
	Time     time.Time         `json:"timestamp"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// ProgressEvent reports the progress of an operation.
type ProgressEvent struct {
	Message  string            `json:"message,omitempty"`
	Current  int               `json:"current"`
	Total    int               `json:"total"`
	Progress float64           `json:"progress"` // Current / Total; 0 if Total is 0
	Time     time.Time         `json:"timestamp"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

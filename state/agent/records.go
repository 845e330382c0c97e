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
	Retry       RetryPolicy       `json:"retry_policy,omitzero"`
	After       float64           `json:"retry_after_seconds,omitempty"` // minimum wait that the error requests: see [RetryAfter]
	Time        time.Time         `json:"timestamp"`
}

// Wait returns the wait before the next attempt after this number of failures. It is the wait of
// the retry policy, or After if that is longer.
func (f Failure) Wait(failures int) time.Duration {
	return max(f.Retry.Wait(failures), time.Duration(f.After*float64(time.Second)))
}

// RetryPolicy is the number of attempts of a node and the waits between them. The zero RetryPolicy
// allows one attempt.
type RetryPolicy struct {
	Attempts int     `json:"max_attempts,omitempty"`  // including the first
	Delay    float64 `json:"delay_seconds,omitempty"` // before the second attempt
	Backoff  float64 `json:"backoff_factor,omitempty"`
}

// Wait returns the wait after this number of failures, 0 after none. A backoff below 1 counts as 1.
// The longest wait is an hour.
func (p RetryPolicy) Wait(failures int) time.Duration {
	const most = time.Hour
	wait, factor := p.Delay, max(p.Backoff, 1)
	for n := 1; n < failures && wait > 0 && wait < most.Seconds(); n++ {
		wait *= factor
	}
	if failures < 1 || !(wait > 0) {
		return 0
	}
	if wait >= most.Seconds() {
		return most
	}
	return time.Duration(wait * float64(time.Second))
}

// Figure is an image that a capability created.
type Figure struct {
	Capability  string            `json:"capability"`
	Path        string            `json:"figure_path"`
	CreatedAt   time.Time         `json:"created_at"`
	DisplayName string            `json:"display_name,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
}

// Command is a program or page that a user interface can launch.
type Command struct {
	Capability  string            `json:"capability"`
	URI         string            `json:"launch_uri"`
	CreatedAt   time.Time         `json:"created_at"`
	DisplayName string            `json:"display_name,omitempty"`
	Type        string            `json:"command_type,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
}

// Notebook is a notebook that a capability created.
type Notebook struct {
	Capability string            `json:"capability"`
	Path       string            `json:"notebook_path"`
	Link       string            `json:"notebook_link"`
	CreatedAt  time.Time         `json:"created_at"`
	Metadata   map[string]string `json:"metadata,omitempty"`
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

package agent

import (
	"encoding/json"
	"time"
)

// StepResult is what became of one step.
type StepResult struct {
	StepIndex  int       `json:"step_index"` // from 0
	Capability string    `json:"capability"`
	Objective  string    `json:"task_objective,omitempty"`
	Success    bool      `json:"success"`
	Skipped    bool      `json:"skipped,omitempty"` // it was left out, and the turn goes on
	Error      string    `json:"error,omitempty"`
	Failure    *Failure  `json:"failure,omitempty"`  // of the last attempt, unless it succeeded
	Attempts   int       `json:"attempts,omitempty"` // that were made at it
	Plan       int       `json:"plan,omitempty"`     // which plan of the turn it belongs to: see Control.PlansCreatedCount
	Seconds    float64   `json:"execution_time"`     // of the last attempt
	Time       time.Time `json:"timestamp"`          // when it ended
	// Edits are what a person changed before the step did it.
	Edits []Edit `json:"edits,omitempty"`
}

// Edit is a request that a person approved of with changes.
type Edit struct {
	Type     string          `json:"approval_type"`
	By       string          `json:"by,omitempty"` // who, as the answer claims
	Asked    json.RawMessage `json:"asked"`
	Approved json.RawMessage `json:"approved"`
}

// Done reports whether the step need not be done any more.
func (r StepResult) Done() bool { return r.Success || r.Skipped }

// ApprovalRequest is what a person is asked before something is done. Who asks sets Type, Objective,
// Message and Data; the runtime sets the rest.
type ApprovalRequest struct {
	// Type says what kind of decision it is, such as orchestrator_plan; an answer to one type
	// never counts for another.
	Type       string          `json:"approval_type"`
	Objective  string          `json:"step_objective,omitempty"`
	Capability string          `json:"capability,omitempty"`
	Message    string          `json:"user_message,omitempty"` // what the person reads, in Markdown
	Time       time.Time       `json:"timestamp,omitzero"`
	Approved   bool            `json:"approved"`
	Data       json.RawMessage `json:"data,omitempty"` // what is to be approved; after the decision what was, perhaps edited
	// Schema is the JSON Schema of what Data may be edited into; who asks may leave it open.
	Schema   json.RawMessage `json:"schema,omitempty"`
	Asked    json.RawMessage `json:"asked,omitempty"` // Data as it was asked about, if a person edited it
	By       string          `json:"by,omitempty"`    // who decided, as the answer claims
	Step     string          `json:"step,omitempty"`  // the [Step.ResultKey] of the step that asks; "" is none
	Decided  bool            `json:"decided,omitempty"`
	Feedback string          `json:"feedback,omitempty"` // what the person said beside a no
}

// Severity says what a failure calls for.
type Severity string

// The severities.
const (
	Critical         Severity = "critical"         // end the turn and explain
	Retriable        Severity = "retriable"        // the same node again
	Replanning       Severity = "replanning"       // another plan
	Reclassification Severity = "reclassification" // another choice of capabilities
	Fatal            Severity = "fatal"            // abort
)

// Severities returns all severities.
func Severities() []Severity {
	return []Severity{Critical, Retriable, Replanning, Reclassification, Fatal}
}

// Failure is a failure of a node as plain data.
type Failure struct {
	Node     string   `json:"node"` // where it happened: a capability or another node
	Severity Severity `json:"severity"`
	// Rejected says that nothing is broken: a person said no. UserMessage is what they did.
	Rejected    bool              `json:"rejected,omitempty"`
	UserMessage string            `json:"user_message,omitempty"` // for people
	Error       string            `json:"error,omitempty"`        // for those who mend it
	Metadata    map[string]string `json:"metadata,omitempty"`
	Retry       RetryPolicy       `json:"retry_policy,omitzero"`
	After       float64           `json:"retry_after_seconds,omitempty"` // how long it asks to wait at least: see [RetryAfter]
	Time        time.Time         `json:"timestamp"`
}

// Wait returns how long to wait before the node is tried again, after so many failures: as its policy says, and as
// long as the failure asks for.
func (f Failure) Wait(failures int) time.Duration {
	return max(f.Retry.Wait(failures), time.Duration(f.After*float64(time.Second)))
}

// RetryPolicy says how often and when a node is tried. The zero RetryPolicy tries once.
type RetryPolicy struct {
	Attempts int     `json:"max_attempts,omitempty"`  // all of them, the first included
	Delay    float64 `json:"delay_seconds,omitempty"` // before the second attempt
	Backoff  float64 `json:"backoff_factor,omitempty"`
}

// Wait returns how long to wait after so many failures: nothing after none. A backoff below 1
// counts as 1, and no wait is longer than an hour.
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

// Figure is a picture that a capability made.
type Figure struct {
	Capability  string            `json:"capability"`
	Path        string            `json:"figure_path"`
	CreatedAt   time.Time         `json:"created_at"`
	DisplayName string            `json:"display_name,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
}

// Command is something that a user interface can launch.
type Command struct {
	Capability  string            `json:"capability"`
	URI         string            `json:"launch_uri"`
	CreatedAt   time.Time         `json:"created_at"`
	DisplayName string            `json:"display_name,omitempty"`
	Type        string            `json:"command_type,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
}

// Notebook is a notebook that a capability made.
type Notebook struct {
	Capability string            `json:"capability"`
	Path       string            `json:"notebook_path"`
	Link       string            `json:"notebook_link"`
	CreatedAt  time.Time         `json:"created_at"`
	Metadata   map[string]string `json:"metadata,omitempty"`
}

// StatusUpdate tells a person what is going on.
type StatusUpdate struct {
	Message  string            `json:"message"`
	Progress float64           `json:"progress"` // 0 to 1
	Complete bool              `json:"complete"`
	Node     string            `json:"node,omitempty"`
	Time     time.Time         `json:"timestamp"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// ProgressEvent says how far something has come.
type ProgressEvent struct {
	Message  string            `json:"message,omitempty"`
	Current  int               `json:"current"`
	Total    int               `json:"total"`
	Progress float64           `json:"progress"` // Current of Total; 0 when there is no total
	Time     time.Time         `json:"timestamp"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

package wire

import "encoding/json"

// Object is a JSON object whose members are passed through. A nil Object is {} on the wire.
type Object map[string]json.RawMessage

// MarshalJSON returns the object with its members by name.
func (o Object) MarshalJSON() ([]byte, error) {
	if o == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]json.RawMessage(o))
}

// Names of metadata that the server sets.
const (
	MetadataGraph     = "graph_id"
	MetadataAssistant = "assistant_id"
	MetadataCreatedBy = "created_by"
	MetadataThread    = "weft_thread" // the name of a thread that is no UUID
)

// Config is the configuration of an assistant, a thread or a run.
type Config struct {
	Tags           []string `json:"tags,omitempty"`
	RecursionLimit int      `json:"recursion_limit,omitempty"`
	Configurable   Object   `json:"configurable,omitempty"`
}

// Assistant is a graph with a configuration.
type Assistant struct {
	AssistantID string  `json:"assistant_id"`
	GraphID     string  `json:"graph_id"`
	Config      Config  `json:"config"`
	Context     Object  `json:"context"`
	Metadata    Object  `json:"metadata"`
	Name        string  `json:"name"`
	Description *string `json:"description"`
	Version     int     `json:"version"`
	CreatedAt   Time    `json:"created_at"`
	UpdatedAt   Time    `json:"updated_at"`
}

// ThreadStatus is what a thread does.
type ThreadStatus string

const (
	ThreadIdle        ThreadStatus = "idle"
	ThreadBusy        ThreadStatus = "busy"        // a run of it is pending or running
	ThreadInterrupted ThreadStatus = "interrupted" // questions or a breakpoint are open
	ThreadError       ThreadStatus = "error"       // the last run failed
)

// Thread is a thread as lists show it.
type Thread struct {
	ThreadID       string       `json:"thread_id"`
	CreatedAt      Time         `json:"created_at"`
	UpdatedAt      Time         `json:"updated_at"`
	StateUpdatedAt Time         `json:"state_updated_at"`
	Metadata       Object       `json:"metadata"`
	Status         ThreadStatus `json:"status"`
	Config         Config       `json:"config"`
	// Values is the state; nil, which is null, if the thread never ran.
	Values json.RawMessage `json:"values"`
	// Interrupts are the open questions by the id of their task. A static breakpoint has none.
	Interrupts map[string][]Interrupt `json:"interrupts,omitzero"`
	Error      *RunError              `json:"error,omitempty"`
	Extracted  Object                 `json:"extracted,omitempty"`
}

// RunStatus is what a run does, or how it ended.
type RunStatus string

const (
	RunPending RunStatus = "pending"
	RunRunning RunStatus = "running"
	// RunSuccess is also the status of a run that waits for answers.
	RunSuccess RunStatus = "success"
	RunFailed  RunStatus = "error"
	RunTimeout RunStatus = "timeout"
	// RunInterrupted is the status of a run that was cancelled.
	RunInterrupted RunStatus = "interrupted"
)

// Final reports whether a run with the status has ended.
func (s RunStatus) Final() bool { return s != RunPending && s != RunRunning }

// MultitaskStrategy is what a new run does while another is on the thread.
type MultitaskStrategy string

const (
	MultitaskReject    MultitaskStrategy = "reject"
	MultitaskEnqueue   MultitaskStrategy = "enqueue" // the default
	MultitaskInterrupt MultitaskStrategy = "interrupt"
	MultitaskRollback  MultitaskStrategy = "rollback"
)

// Run is a run as lists show it.
type Run struct {
	RunID             string            `json:"run_id"`
	ThreadID          string            `json:"thread_id"`
	AssistantID       string            `json:"assistant_id"`
	Metadata          Object            `json:"metadata"`
	Status            RunStatus         `json:"status"`
	Kwargs            RunKwargs         `json:"kwargs"`
	MultitaskStrategy MultitaskStrategy `json:"multitask_strategy"`
	CreatedAt         Time              `json:"created_at"`
	UpdatedAt         Time              `json:"updated_at"`
}

// RunKwargs repeats what a run was created with.
type RunKwargs struct {
	Input           json.RawMessage `json:"input"`
	Command         json.RawMessage `json:"command,omitempty"`
	Config          Config          `json:"config"`
	Context         Object          `json:"context"`
	StreamMode      []string        `json:"stream_mode"`
	InterruptBefore json.RawMessage `json:"interrupt_before,omitempty"`
	InterruptAfter  json.RawMessage `json:"interrupt_after,omitempty"`
	Webhook         string          `json:"webhook,omitempty"`
	Subgraphs       bool            `json:"subgraphs"`
	Resumable       bool            `json:"resumable"`
	Temporary       bool            `json:"temporary"`
	Durability      string          `json:"durability,omitempty"`
	FeedbackKeys    []string        `json:"feedback_keys,omitempty"`
}

// RunError is why a run failed.
type RunError struct {
	Error   string `json:"error"`   // the name of the error
	Message string `json:"message"` // of the innermost cause
	// Weft is where it failed.
	Weft *ErrorPlace `json:"weft,omitempty"`
}

// ErrorPlace is where a run failed.
type ErrorPlace struct {
	Node string `json:"node,omitempty"`
	Step int    `json:"step,omitempty"`
}

// Cron is a schedule that creates runs.
type Cron struct {
	CronID         string          `json:"cron_id"`
	AssistantID    string          `json:"assistant_id"`
	ThreadID       *string         `json:"thread_id"`
	UserID         *string         `json:"user_id"`
	EndTime        Time            `json:"end_time"`
	Schedule       string          `json:"schedule"`
	Timezone       *string         `json:"timezone"`
	Payload        json.RawMessage `json:"payload"`
	NextRunDate    Time            `json:"next_run_date"`
	Metadata       Object          `json:"metadata"`
	OnRunCompleted string          `json:"on_run_completed"`
	Enabled        bool            `json:"enabled"`
	CreatedAt      Time            `json:"created_at"`
	UpdatedAt      Time            `json:"updated_at"`
}

// Item is an item of the store.
type Item struct {
	Namespace []string        `json:"namespace"`
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
	CreatedAt Time            `json:"created_at"`
	UpdatedAt Time            `json:"updated_at"`
}

// FoundItem is an item that a search found.
type FoundItem struct {
	Item
	Score *float64 `json:"score"` // nil, which is null, without a query
}

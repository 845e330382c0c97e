package turn

import (
	"context"
	"time"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

// ExtractRequest is the input of Config.Extract.
type ExtractRequest struct {
	Messages  []message.Message // the conversation, oldest first
	Query     string            // the user's last message
	Retrieved []Retrieved       // the results of the sources, in their order
	Previous  string            // why the last attempt failed; "" is none
}

// Task is what the agent has to do.
type Task struct {
	Text                 string `json:"task" jsonschema:"what is to be done, understandable without the conversation"`
	DependsOnChatHistory bool   `json:"depends_on_chat_history" jsonschema:"whether it refers to earlier messages"`
	DependsOnUserMemory  bool   `json:"depends_on_user_memory" jsonschema:"whether it refers to what is remembered about the user"`
}

// MatchRequest is the input of Config.Match.
type MatchRequest struct {
	Task       string
	Capability capabilities.Info
	Previous   string // why an earlier choice failed; "" is none
}

// PlanRequest is the input of Config.Plan.
type PlanRequest struct {
	Task     Task
	Messages []message.Message
	// Capabilities are the active ones, by the priority of their planning guides. A plan may also
	// use respond and clarify.
	Capabilities []capabilities.Info
	Have         agent.InputList // the contexts that exist
	Known        string          // the same, described for a prompt
	// Previous is why the last plan failed, was rejected or is invalid: all its problems.
	Previous string
}

// Mode is what an answer is based on.
type Mode string

// The modes.
const (
	Conversational Mode = "conversational" // nothing was looked up
	Specific       Mode = "specific"       // the inputs of the step
	General        Mode = "general"        // all that was found in this turn
)

// AnswerRequest is the input of Config.Answer and Config.Clarify.
type AnswerRequest struct {
	ID       string // the ID of the message with the answer; "" outside a run
	Mode     Mode
	Task     string
	Messages []message.Message
	Step     agent.Step
	Found    []agent.Summary // by Mode
	Missing  []string        // inputs of the step that are missing or unreadable, and why
	Done     []string        // the steps that have a result, one line each
	// These are shown next to the answer.
	Figures  []agent.Figure
	Commands []agent.Command
	Time     time.Time
}

// Clarification has questions to the user.
type Clarification struct {
	Questions []string `json:"questions" jsonschema:"one to four questions to the user"`
	Reason    string   `json:"reason,omitempty" jsonschema:"why they are asked"`
	Missing   []string `json:"missing_info,omitempty" jsonschema:"what is missing"`
}

// Report describes a turn that failed or that a person rejected.
type Report struct {
	Time       time.Time
	Rejected   bool // nothing failed: Message is the decision of a person
	Severity   agent.Severity
	Task       string
	Node       string // the node that failed
	Message    string // for the user
	Details    string // for developers
	Reason     string // why the turn ended: a limit, a kill, the failure itself
	Attempts   int
	Plans      int
	Elapsed    time.Duration
	Done, Left []string // the steps, one line each, without rejected ones and the final step
}

// Source returns text from outside that may matter for a task.
type Source struct {
	Name string
	// Wanted reports whether to call Retrieve; nil is always.
	Wanted func(ExtractRequest) bool
	// Retrieve returns text for a prompt. It must return when ctx ends.
	Retrieve func(context.Context, ExtractRequest) (string, error)
}

// Retrieved is the result of a source.
type Retrieved struct {
	Source string
	Text   string
	Err    error // nil if it returned in time
}

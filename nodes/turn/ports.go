package turn

import (
	"context"
	"time"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

// ExtractRequest is what a task is made of.
type ExtractRequest struct {
	Messages  []message.Message // the conversation, oldest first; the last of the user asks
	Query     string            // what the user said last
	Retrieved []Retrieved       // what the sources gave, in their order
	Previous  string            // why the last attempt failed; "" is none
}

// Task is what is to be done.
type Task struct {
	Text                 string `json:"task" jsonschema:"what is to be done, understandable without the conversation"`
	DependsOnChatHistory bool   `json:"depends_on_chat_history" jsonschema:"whether it refers to earlier messages"`
	DependsOnUserMemory  bool   `json:"depends_on_user_memory" jsonschema:"whether it refers to what is remembered about the user"`
}

// MatchRequest asks whether a task wants a capability.
type MatchRequest struct {
	Task       string
	Capability capabilities.Info
	Previous   string // why an earlier choice failed; "" is none
}

// PlanRequest is what a plan is made of.
type PlanRequest struct {
	Task     Task
	Messages []message.Message
	// Capabilities are the active ones, by the priority of their planning guides; respond and clarify are always
	// there beside them.
	Capabilities []capabilities.Info
	Have         agent.InputList // the contexts that there are
	Known        string          // the same, described for a prompt
	// Previous says why the last plan failed, was refused or is none: all its problems.
	Previous string
}

// Mode says what an answer is made of.
type Mode string

// The modes.
const (
	Conversational Mode = "conversational" // nothing was looked up
	Specific       Mode = "specific"       // the inputs of the step
	General        Mode = "general"        // all that was found in this turn
)

// AnswerRequest is what an answer is made of.
type AnswerRequest struct {
	ID       string // of the message that the answer will be; "" outside a run
	Mode     Mode
	Task     string
	Messages []message.Message
	Step     agent.Step
	Found    []agent.Summary // by Mode
	Missing  []string        // inputs of the step that are not there or cannot be read, and why
	Done     []string        // the steps that have a result, a line each
	// What is shown beside the answer.
	Figures   []agent.Figure
	Commands  []agent.Command
	Notebooks []agent.Notebook
	Time      time.Time
}

// Clarification is what the user is asked back.
type Clarification struct {
	Questions []string `json:"questions" jsonschema:"one to four questions to the user"`
	Reason    string   `json:"reason,omitempty" jsonschema:"why they are asked"`
	Missing   []string `json:"missing_info,omitempty" jsonschema:"what is missing"`
}

// Report says what went wrong in a turn, or that a person said no.
type Report struct {
	Time       time.Time
	Rejected   bool // nothing is broken: Message is what a person decided
	Severity   agent.Severity
	Task       string
	Node       string // where it went wrong; it is a capability or another node
	Message    string // for the user
	Details    string // for those who mend it
	Reason     string // why the turn ends: a limit, a kill, the failure itself
	Attempts   int
	Plans      int
	Elapsed    time.Duration
	Done, Left []string // the steps of the plan, a line each, without what was rejected and without the step that answers
}

// Source gives what may matter for a task, from outside.
type Source struct {
	Name string
	// Wanted reports whether it is to be asked at all; nil always asks.
	Wanted func(ExtractRequest) bool
	// Retrieve returns text for a prompt. It must return when ctx ends.
	Retrieve func(context.Context, ExtractRequest) (string, error)
}

// Retrieved is what a source gave.
type Retrieved struct {
	Source string
	Text   string
	Err    error // nil if it answered in time
}

package agent

import (
	"encoding/json"
	"time"

	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

// State is the state of an agent. Embed it in a state of your own, or use it as it is. Its
// groups carry their prefix on the wire: Task.Current is task_current_task.
//
// Messages, Context, Session and SessionControl belong to the thread. All else belongs to the
// turn: the runtime resets it when a new input starts one, and never when a pause ends.
// Keep large data in Context; everything else is small.
type State struct {
	// Messages is the conversation; a node adds the new ones alone. One with the id of an earlier
	// one takes its place.
	Messages message.Log `json:"messages"`
	// Context is what the agent knows: type → key → fields.
	Context state.ContextData `json:"capability_context_data"`
	// Session is whatever else must outlive a turn, by name. [Remember] and [Recall] know its types.
	Session state.Map[string, json.RawMessage] `json:"session_state"`
	// SessionControl are the settings of the thread; those of the turn come on top.
	SessionControl state.Reduced[Settings, Overlay] `json:"session_control"`

	// AgentControl are the settings of this turn: see [Manager.Settings].
	AgentControl state.Reduced[Settings, Overlay] `json:"agent_control" weft:"turn"`
	// StatusUpdates and ProgressEvents are what a person is told while it runs.
	StatusUpdates  state.List[StatusUpdate]  `json:"status_updates" weft:"turn"`
	ProgressEvents state.List[ProgressEvent] `json:"progress_events" weft:"turn"`

	Task      Task      `json:"task" weft:"turn"`
	Planning  Planning  `json:"planning" weft:"turn"`
	Execution Execution `json:"execution" weft:"turn"`
	Approval  Approval  `json:"approval" weft:"turn"`
	Control   Control   `json:"control" weft:"turn"`
	UI        UI        `json:"ui" weft:"turn"`

	// ApprovedPayload is what was approved, perhaps edited; it belongs to Approval and keeps
	// its name on the wire.
	ApprovedPayload state.Value[json.RawMessage] `json:"approved_payload" weft:"turn"`
}

// Task is what is to be done in this turn.
type Task struct {
	Current              state.Value[string] `json:"current_task"`
	DependsOnChatHistory state.Value[bool]   `json:"depends_on_chat_history" weft:"default=false"`
	DependsOnUserMemory  state.Value[bool]   `json:"depends_on_user_memory" weft:"default=false"`
}

// Planning is how it is to be done.
type Planning struct {
	// ActiveCapabilities are the names that classification chose: overwrite them.
	ActiveCapabilities state.List[string] `json:"active_capabilities"`
	ExecutionPlan      state.Value[Plan]  `json:"execution_plan"`
	// CurrentStepIndex counts from 0: the first step that is not done. [Manager.Settle] writes it;
	// two steps that run side by side must not both do so: that is an error.
	CurrentStepIndex state.Value[int] `json:"current_step_index" weft:"default=0"`
}

// Execution is what has been done.
type Execution struct {
	// StepResults are by the context key of the step; see [Step.ResultKey].
	StepResults state.Map[string, StepResult] `json:"step_results"`
	LastResult  state.Latest[StepResult]      `json:"last_result"`
	// RunningSteps are the indexes of the steps that were sent off together; see
	// [Manager.Settle].
	RunningSteps state.Value[[]int] `json:"running_steps"`
	// PendingApprovals are the requests that wait for a decision or, once it was made, for whoever
	// asked, by the id of the request.
	PendingApprovals state.Map[string, ApprovalRequest] `json:"pending_approvals"`
	StartTime        state.Value[time.Time]             `json:"start_time"`
	// WaitedSeconds is how long the turn waited for people; that does not count against its limit.
	WaitedSeconds state.Sum[float64] `json:"waited_seconds"`
}

// Approval is a person's decision, once it was made.
type Approval struct {
	// Approved is unset, true or false.
	Approved state.Value[bool] `json:"approved"`
}

// Control is where the turn stands.
type Control struct {
	// NeedsReclassification asks for another choice of capabilities; the reason says why.
	NeedsReclassification  state.Latest[bool]   `json:"needs_reclassification" weft:"default=false"`
	ReclassificationReason state.Latest[string] `json:"reclassification_reason"`
	ReclassificationCount  state.Sum[int]       `json:"reclassification_count" weft:"default=0"`
	PlansCreatedCount      state.Sum[int]       `json:"plans_created_count" weft:"default=0"`
	// RetryCount counts the failures of the node that failed last since it last
	// succeeded, and CurrentStepRetryCount those of the current step.
	RetryCount            state.Sum[int]        `json:"retry_count" weft:"default=0"`
	CurrentStepRetryCount state.Sum[int]        `json:"current_step_retry_count" weft:"default=0"`
	HasError              state.Latest[bool]    `json:"has_error" weft:"default=false"`
	ErrorInfo             state.Latest[Failure] `json:"error_info"`
	IsKilled              state.Latest[bool]    `json:"is_killed" weft:"default=false"`
	KillReason            state.Latest[string]  `json:"kill_reason"`
}

// UI is what a user interface shows beside the answer. Each list is appended to, so
// nodes that run side by side keep each other's entries.
type UI struct {
	CapturedNotebooks  state.List[Notebook]         `json:"captured_notebooks"`
	CapturedFigures    state.List[Figure]           `json:"captured_figures"`
	LaunchableCommands state.List[Command]          `json:"launchable_commands"`
	AgentContext       state.Value[json.RawMessage] `json:"agent_context"`
}

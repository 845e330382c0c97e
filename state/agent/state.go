package agent

import (
	"encoding/json"
	"time"

	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

// State is the state of an agent. Use it directly or embed it in another state. The stored name of
// a field has the prefix of its group: Task.Current is task_current_task.
//
// Messages, Context, Session and SessionControl belong to the thread. All other fields belong to
// the turn: the runtime resets them when a new input starts a turn, but not when a paused turn
// resumes. Store large data in Context; the other fields are small.
type State struct {
	// Messages is the conversation. A node adds only new messages. A message with the id of an
	// earlier one replaces it.
	Messages message.Log `json:"messages"`
	// Context holds what the agent knows: type → key → fields.
	Context state.ContextData `json:"capability_context_data"`
	// Session holds other values that outlive a turn, by name. [Remember] writes and [Recall] reads
	// typed values.
	Session state.Map[string, json.RawMessage] `json:"session_state"`
	// SessionControl holds the settings of the thread; those of the turn overlay them.
	SessionControl state.Reduced[Settings, Overlay] `json:"session_control"`

	// AgentControl holds the settings of this turn: see [StateManager.Settings].
	AgentControl state.Reduced[Settings, Overlay] `json:"agent_control" weft:"turn"`
	// StatusUpdates and ProgressEvents are messages for the user while the turn runs.
	StatusUpdates  state.List[StatusUpdate]  `json:"status_updates" weft:"turn"`
	ProgressEvents state.List[ProgressEvent] `json:"progress_events" weft:"turn"`

	Task      Task      `json:"task" weft:"turn"`
	Planning  Planning  `json:"planning" weft:"turn"`
	Execution Execution `json:"execution" weft:"turn"`
	Approval  Approval  `json:"approval" weft:"turn"`
	Control   Control   `json:"control" weft:"turn"`
	UI        UI        `json:"ui" weft:"turn"`

	// ApprovedPayload is the approved value, which may be edited. It belongs to Approval, but its
	// stored name has no prefix.
	ApprovedPayload state.Value[json.RawMessage] `json:"approved_payload" weft:"turn"`
}

// Task is the task of the turn.
type Task struct {
	Current              state.Value[string] `json:"current_task"`
	DependsOnChatHistory state.Value[bool]   `json:"depends_on_chat_history" weft:"default=false"`
	DependsOnUserMemory  state.Value[bool]   `json:"depends_on_user_memory" weft:"default=false"`
}

// Planning is the plan of the turn.
type Planning struct {
	// ActiveCapabilities are the names that the classifier chose. Overwrite the list, do not
	// append.
	ActiveCapabilities state.List[string] `json:"active_capabilities"`
	ExecutionPlan      state.Value[Plan]  `json:"execution_plan"`
	// CurrentStepIndex is the index of the first step that is not done. [Steps.Settle] writes it.
	// It is an error if two parallel steps write it.
	CurrentStepIndex state.Value[int] `json:"current_step_index" weft:"default=0"`
}

// Execution holds the results of the turn.
type Execution struct {
	// StepResults holds the results by [Step.ResultKey].
	StepResults state.Map[string, StepResult] `json:"step_results"`
	LastResult  state.Latest[StepResult]      `json:"last_result"`
	// RunningSteps are the indexes of the steps that run in parallel: see [Steps.Settle].
	RunningSteps state.Value[[]int] `json:"running_steps"`
	// PendingApprovals holds requests by id. They wait for a decision or, after it, for the
	// requesting step.
	PendingApprovals state.Map[string, ApprovalRequest] `json:"pending_approvals"`
	StartTime        state.Value[time.Time]             `json:"start_time"`
	// WaitedSeconds is the time that the turn waited for people. It does not count against the time
	// limit.
	WaitedSeconds state.Sum[float64] `json:"waited_seconds"`
}

// Approval is the decision of a person.
type Approval struct {
	// Approved is unset, true or false.
	Approved state.Value[bool] `json:"approved"`
}

// Control holds the data that [Route] uses.
type Control struct {
	// NeedsReclassification requests another choice of capabilities, for ReclassificationReason.
	NeedsReclassification  state.Latest[bool]   `json:"needs_reclassification" weft:"default=false"`
	ReclassificationReason state.Latest[string] `json:"reclassification_reason"`
	ReclassificationCount  state.Sum[int]       `json:"reclassification_count" weft:"default=0"`
	PlansCreatedCount      state.Sum[int]       `json:"plans_created_count" weft:"default=0"`
	// RetryCount is the number of consecutive failures of the node that failed last, and
	// CurrentStepRetryCount that of the current step.
	RetryCount            state.Sum[int]        `json:"retry_count" weft:"default=0"`
	CurrentStepRetryCount state.Sum[int]        `json:"current_step_retry_count" weft:"default=0"`
	HasError              state.Latest[bool]    `json:"has_error" weft:"default=false"`
	ErrorInfo             state.Latest[Failure] `json:"error_info"`
	IsKilled              state.Latest[bool]    `json:"is_killed" weft:"default=false"`
	KillReason            state.Latest[string]  `json:"kill_reason"`
}

// UI holds data that a user interface shows with the answer. Nodes append to the lists, so the
// entries of parallel nodes are all stored.
type UI struct {
	CapturedFigures    state.List[Figure]           `json:"captured_figures"`
	LaunchableCommands state.List[Command]          `json:"launchable_commands"`
	AgentContext       state.Value[json.RawMessage] `json:"agent_context"`
}

// UserQuery returns the latest message of the user; ok is false if there is none.
func (s *State) UserQuery() (text string, ok bool) {
	msg, ok := s.Messages.LastFrom(message.RoleUser)
	return msg.Text(), ok
}

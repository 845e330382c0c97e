package capabilities

import (
	"cmp"
	"fmt"

	"github.com/weftrun/weft/state/agent"
)

// Approval is what a person must approve before a capability runs.
type Approval string

// The kinds of approval.
const (
	NoApproval     Approval = ""       // nothing, unless all capabilities need approval
	AlwaysApproval Approval = "always" // each run, unless approval is disabled
	MemoryApproval Approval = "memory" // depends on the setting for memory
)

// Rejection is what happens to a turn when a person rejects a request. The same request is not
// shown again.
type Rejection string

// The rejections.
const (
	FailStep Rejection = ""         // the step fails and the turn ends with an explanation
	SkipStep Rejection = "skip"     // the turn continues with the next step
	Replan   Rejection = "replan"   // another plan is made, with the feedback
	EndTurn  Rejection = "end_turn" // the turn ends
)

// NeedsApproval reports whether a capability must be approved before it runs under these settings,
// and the reason. A setting that is not set is as in [agent.SafeSettings].
func NeedsApproval(i Info, s agent.Settings) (needs bool, reason string) {
	s = agent.Overlay{}.Reduce(agent.SafeSettings(), s)
	switch mode := *s.ApprovalMode; {
	case mode == agent.ApproveNothing:
		return false, "approval is disabled"
	case mode == agent.ApproveAll:
		return true, "all capabilities are approved"
	}
	if i.ApproveIf != nil {
		return i.ApproveIf(s)
	}
	switch i.Approval {
	case NoApproval:
		return false, fmt.Sprintf("%q needs no approval", i.Name)
	case MemoryApproval:
		return *s.MemoryApproval, "according to the approval of memory"
	}
	return true, fmt.Sprintf("%q is always approved", i.Name)
}

// ApprovalNeeded is returned when a person must decide first. It is not a failure. The caller asks
// the person, and runs the capability again with a [graph.Decision] under this ID.
type ApprovalNeeded struct {
	ID      string
	Request agent.ApprovalRequest
}

func (e *ApprovalNeeded) Error() string {
	return fmt.Sprintf("capabilities: %q waits for approval (%s)", e.Request.Capability, e.Request.Type)
}

// Rejected is returned when a person rejected a request.
type Rejected struct {
	Request  agent.ApprovalRequest
	Feedback string
	Then     Rejection
	// Ended is true if the person ended the turn instead of deciding. Feedback is then the reason.
	Ended bool
}

func (e *Rejected) Error() string {
	if e.Feedback == "" {
		return fmt.Sprintf("capabilities: %q was rejected", e.Request.Capability)
	}
	return fmt.Sprintf("capabilities: %q was rejected: %s", e.Request.Capability, e.Feedback)
}

// Text describes the rejection, for people and for planners.
func (e *Rejected) Text() string {
	what := cmp.Or(e.Request.Objective, e.Request.Type)
	if name := e.Request.Capability; name != "" && name != what {
		what = fmt.Sprintf("%s (%s)", what, name)
	}
	text := what + " was rejected"
	if e.Ended {
		text = "the turn was ended instead of deciding about " + what
	}
	if e.Feedback != "" {
		text += ": " + e.Feedback
	}
	return text
}

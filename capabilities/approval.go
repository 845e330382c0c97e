package capabilities

import (
	"cmp"
	"fmt"

	"github.com/weftrun/weft/state/agent"
)

// Approval says what of a capability a person must approve before it runs.
type Approval string

// The kinds of approval.
const (
	NoApproval     Approval = ""       // nothing, unless all capabilities are to be approved
	AlwaysApproval Approval = "always" // each run, unless approval is disabled
	CodeApproval   Approval = "code"   // as the settings of generated code have it
	MemoryApproval Approval = "memory" // as the setting of memory has it
)

// Rejection says what happens to a turn when a person says no. Nobody is asked again.
type Rejection string

// The rejections.
const (
	FailStep Rejection = ""         // the step fails and the turn ends with an explanation
	SkipStep Rejection = "skip"     // the turn goes on with the next step
	Replan   Rejection = "replan"   // another plan, with what the person said
	EndTurn  Rejection = "end_turn" // the turn ends
)

// NeedsApproval reports whether a capability must be approved before it runs under these
// settings, and why or why not. A setting that is open is as in [agent.SafeSettings].
func NeedsApproval(i Info, s agent.Settings) (needs bool, reason string) {
	s = agent.Overlay{}.Reduce(agent.SafeSettings(), s)
	switch mode := *s.ApprovalMode; {
	case mode == agent.ApproveNothing:
		return false, "approval is disabled"
	case mode == agent.ApproveAll:
		return true, "all capabilities are approved"
	}
	switch i.Approval {
	case NoApproval:
		return false, fmt.Sprintf("%q asks for none", i.Name)
	case CodeApproval:
		return codeApproval(s)
	case MemoryApproval:
		return *s.MemoryApproval, "as the approval of memory is set"
	}
	return true, fmt.Sprintf("%q is always approved", i.Name)
}

func codeApproval(s agent.Settings) (bool, string) {
	switch mode := *s.PythonApprovalMode; {
	case !*s.PythonApproval || mode == agent.ApproveNothing:
		return false, "generated code is not approved"
	case mode == agent.ApproveWrites:
		return *s.EpicsWrites, "generated code is approved where it may write"
	}
	return true, "all generated code is approved"
}

// ApprovalNeeded is returned when a person must decide first. It is not a failure: whoever hosts the
// capability asks, and runs it again with a [Decision] that has this ID.
type ApprovalNeeded struct {
	ID      string
	Request agent.ApprovalRequest
}

func (e *ApprovalNeeded) Error() string {
	return fmt.Sprintf("capabilities: %q waits for approval (%s)", e.Request.Capability, e.Request.Type)
}

// Rejected is returned when a person said no.
type Rejected struct {
	Request  agent.ApprovalRequest
	Feedback string
	Then     Rejection
	// Ended says that the person did not decide but ended the turn; Feedback is then why.
	Ended bool
}

func (e *Rejected) Error() string {
	if e.Feedback == "" {
		return fmt.Sprintf("capabilities: %q was rejected", e.Request.Capability)
	}
	return fmt.Sprintf("capabilities: %q was rejected: %s", e.Request.Capability, e.Feedback)
}

// Text says what the person did, to be read by people and by who plans anew.
func (e *Rejected) Text() string {
	what := cmp.Or(e.Request.Objective, e.Request.Type)
	if name := e.Request.Capability; name != "" && name != what {
		what = fmt.Sprintf("%s (%s)", what, name)
	}
	text := what + " was rejected"
	if e.Ended {
		text = "the turn was ended before: " + what
	}
	if e.Feedback != "" {
		text += ": " + e.Feedback
	}
	return text
}

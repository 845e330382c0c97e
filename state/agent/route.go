package agent

import (
	"fmt"
	"time"
)

// The targets of [Route] that are not capabilities.
const (
	ToError        = "error"
	ToExtraction   = "task_extraction"
	ToClassifier   = "classifier"
	ToOrchestrator = "orchestrator"
	ToRespond      = "respond"
)

// Turn is how long a turn has taken and what may run in it.
type Turn struct {
	Settings Settings               // those in force: see Manager.Settings
	Known    func(name string) bool // whether a node or a capability is registered; nil knows all
	Elapsed  time.Duration          // since the turn began
}

// Decision is where to go, after which wait, and why.
type Decision struct {
	Target string
	Delay  time.Duration
	Reason string
}

// Route returns where a turn goes on. It is a function of its arguments alone. In this order:
//
//  1. killed, or out of time: the error node;
//  2. after a failure, by its severity: the same node again while its retry policy and the limits
//     allow, another plan, another choice of capabilities, each while the limits allow, or
//     the error node;
//  3. no task: its extraction; no active capabilities: the classifier, within its limit; no
//     plan: the orchestrator, within its limit;
//  4. the capability of the current step; past the last step, the error node.
//
// The counts are kept by the nodes: the orchestrator adds one plan each time, the classifier
// one reclassification each time after the first. A classifier that chooses nothing and an orchestrator
// that makes no plan thus end; whatever succeeds for ever without coming further ends by the clock.
func Route(s *State, t Turn) Decision {
	limit := Overlay{}.Reduce(SafeSettings(), t.Settings)
	if s.Control.IsKilled.Get() {
		return give("killed: %s", s.Control.KillReason.Get())
	}
	if most := time.Duration(*limit.MaxExecutionSeconds) * time.Second; most > 0 && t.Elapsed >= most {
		return give("the turn took %s, and its limit is %s", t.Elapsed, most)
	}
	if s.Control.HasError.Get() {
		return t.afterFailure(s, limit)
	}
	return t.onward(s, limit)
}

func give(format string, args ...any) Decision {
	return Decision{ToError, 0, fmt.Sprintf(format, args...)}
}

func (t Turn) known(name string) bool { return t.Known == nil || t.Known(name) }

func (t Turn) afterFailure(s *State, limit Settings) Decision {
	f, ok := s.Control.ErrorInfo.Lookup()
	if !ok || f.Node == "" || f.Severity == "" {
		return give("something failed and nobody said what")
	}
	switch f.Severity {
	case Retriable:
		return t.again(s, f, limit)
	case Replanning:
		return within(s.Control.PlansCreatedCount.Get(), *limit.MaxPlanningAttempts, ToOrchestrator, "plans made after "+f.Node+" failed")
	case Reclassification:
		return within(s.Control.ReclassificationCount.Get(), *limit.MaxReclassifications, ToClassifier, "reclassifications after "+f.Node+" failed")
	case Critical, Fatal:
		return give("%s failed: %s", f.Node, f.Severity)
	}
	return give("%s failed with the unknown severity %q", f.Node, f.Severity)
}

// again tries the node that failed once more, or gives up.
func (t Turn) again(s *State, f Failure, limit Settings) Decision {
	failures, attempts := max(s.Control.RetryCount.Get(), 1), f.Retry.Attempts
	if most := *limit.MaxRetries; most > 0 {
		attempts = min(attempts, most)
	}
	if most := *limit.MaxStepRetries; most > 0 && s.Control.CurrentStepRetryCount.Get() > 0 {
		attempts = min(attempts, most+1)
		failures = max(failures, s.Control.CurrentStepRetryCount.Get())
	}
	switch {
	case !t.known(f.Node):
		return give("there is no node %q to try again", f.Node)
	case failures >= attempts:
		return give("%s failed %d times of %d", f.Node, failures, max(attempts, 1))
	}
	return Decision{f.Node, f.Retry.Wait(failures), fmt.Sprintf("%s failed %d times of %d", f.Node, failures, attempts)}
}

// within goes to a node while a count is below its limit.
func within(count, most int, target, what string) Decision {
	if count >= most {
		return give("%d of %d %s", count, most, what)
	}
	return Decision{target, 0, fmt.Sprintf("%d of %d %s", count, most, what)}
}

func (t Turn) onward(s *State, limit Settings) Decision {
	var m Manager
	switch {
	case s.Task.Current.Get() == "":
		return Decision{ToExtraction, 0, "there is no task yet"}
	case s.Control.NeedsReclassification.Get():
		return within(s.Control.ReclassificationCount.Get(), *limit.MaxReclassifications, ToClassifier, "reclassifications")
	case s.Planning.ActiveCapabilities.Len() == 0:
		return within(s.Control.ReclassificationCount.Get(), *limit.MaxReclassifications+1, ToClassifier, "classifications")
	}
	if _, ok := m.Plan(s); !ok {
		return within(s.Control.PlansCreatedCount.Get(), *limit.MaxPlanningAttempts, ToOrchestrator, "plans")
	}
	step, err := m.CurrentStep(s)
	switch {
	case err != nil:
		return give("%v", err)
	case step.Capability == "":
		step.Capability = ToRespond
	}
	if !t.known(step.Capability) {
		return give("step %d needs %q, which is not registered", m.StepIndex(s)+1, step.Capability)
	}
	return Decision{step.Capability, 0, fmt.Sprintf("step %d of the plan", m.StepIndex(s)+1)}
}

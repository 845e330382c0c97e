package agent

import (
	"cmp"
	"fmt"
	"time"
)

// The targets of [Route] that are not capabilities.
const (
	ToError        = "error"
	ToExtraction   = "task_extraction"
	ToClassifier   = "classifier"
	ToOrchestrator = "orchestrator"
	ToApproval     = "approval"
	ToRespond      = "respond"
	ToClarify      = "clarify"
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
//     allow and the wait before it ends within the turn and an hour, another plan, another choice of
//     capabilities, each while the limits allow, or the error node;
//  3. no task: its extraction; a request that waits for a decision: the approval node; no active
//     capabilities: the classifier, within its limit; no plan: the orchestrator, within its limit;
//  4. the capability of the first step that is due, see [Manager.Due]; where none is, the error node.
//
// The counts are kept by the nodes: the orchestrator adds one for each plan, the classifier
// one reclassification each time it runs after the first, even when it fails. A classifier that chooses
// nothing and an orchestrator that makes no plan thus end, and whoever wants himself once more, with
// another word for it, counts as one that is to be tried again; whatever succeeds for ever without coming
// further ends by the clock.
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
	case Replanning, Reclassification:
		if f.Node == map[Severity]string{Replanning: ToOrchestrator, Reclassification: ToClassifier}[f.Severity] {
			return t.again(s, f, limit)
		}
	}
	switch f.Severity {
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
	ofStep := s.Control.CurrentStepRetryCount.Get()
	failures, attempts := max(s.Control.RetryCount.Get(), 1), f.attempts(limit, ofStep > 0)
	if *limit.MaxStepRetries > 0 {
		failures = max(failures, ofStep)
	}
	switch {
	case !t.known(f.Node):
		return give("there is no node %q to try again", f.Node)
	case failures >= attempts:
		return give("%s failed %d times of %d", f.Node, failures, max(attempts, 1))
	}
	wait, most := f.Wait(failures), time.Duration(*limit.MaxExecutionSeconds)*time.Second
	if left := most - t.Elapsed; most > 0 && wait >= left || wait > time.Hour {
		return give("%s can be tried again in %s, which is too late", f.Node, wait)
	}
	return Decision{f.Node, wait, fmt.Sprintf("%s failed %d times of %d", f.Node, failures, attempts)}
}

// attempts returns how many attempts there may be.
func (f Failure) attempts(limit Settings, ofStep bool) int {
	n := f.Retry.Attempts
	if most := limit.MaxRetries; most != nil && *most > 0 {
		n = min(n, *most)
	}
	if most := limit.MaxStepRetries; ofStep && most != nil && *most > 0 {
		n = min(n, *most+1)
	}
	return n
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
	case m.asks(s, "*"):
		return Decision{ToApproval, 0, "somebody must decide"}
	case s.Control.NeedsReclassification.Get():
		return within(s.Control.ReclassificationCount.Get(), *limit.MaxReclassifications, ToClassifier, "reclassifications")
	case s.Planning.ActiveCapabilities.Len() == 0:
		return within(s.Control.ReclassificationCount.Get(), *limit.MaxReclassifications+1, ToClassifier, "classifications")
	}
	if _, ok := m.Plan(s); !ok {
		return within(s.Control.PlansCreatedCount.Get(), *limit.MaxPlanningAttempts, ToOrchestrator, "plans")
	}
	if _, err := m.CurrentStep(s); err != nil {
		return give("%v", err)
	}
	due := m.Due(s)
	if len(due) == 0 {
		return give("the steps that are left wait for each other")
	}
	var targets []string
	for _, i := range due {
		step, _ := m.StepAt(s, i)
		targets = append(targets, cmp.Or(step.Capability, ToRespond))
		if name := targets[len(targets)-1]; !t.known(name) {
			return give("step %d needs %q, which is not registered", i+1, name)
		}
	}
	return Decision{targets[0], 0, fmt.Sprintf("step %d of the plan", due[0]+1)}
}

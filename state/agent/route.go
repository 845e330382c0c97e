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

// Turn holds the facts about a turn that are not in its state.
type Turn struct {
	Settings Settings               // effective settings: see StateManager.Settings
	Known    func(name string) bool // whether a node or a capability is registered; nil means all are
	Elapsed  time.Duration          // since the turn began
}

// Destination is the next node of a turn, the wait before it, and the reason.
type Destination struct {
	Target string
	Delay  time.Duration
	Reason string
}

// Route returns the next node of a turn. The result depends only on the arguments. The first rule
// that applies decides:
//
//  1. If the turn is killed or out of time, the error node.
//  2. After a failure, the node that its severity requires. A retriable failure runs the same node
//     again, if its retry policy and the limits allow and the wait ends within the turn and an
//     hour. Other severities choose the orchestrator or the classifier, if their limits allow. In
//     all other cases the error node follows.
//  3. Without a task, task extraction. With an undecided request, the approval node. Without active
//     capabilities, the classifier, within its limit. Without a plan, the orchestrator, within its
//     limit.
//  4. The capability of the first step that is due: see [Steps.Due]. If no step is due, the error
//     node.
//
// The nodes maintain the counts. The orchestrator adds one for each plan. The classifier adds one
// for each of its runs after the first, even if it fails. A classifier that chooses nothing, or an
// orchestrator without a plan, thus cannot loop. A failure whose severity names the failed node
// itself counts as retriable. Only the time limit ends a turn whose nodes succeed without progress.
func Route(s *State, t Turn) Destination {
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

func give(format string, args ...any) Destination {
	return Destination{ToError, 0, fmt.Sprintf(format, args...)}
}

func (t Turn) known(name string) bool { return t.Known == nil || t.Known(name) }

func (t Turn) afterFailure(s *State, limit Settings) Destination {
	f, ok := s.Control.ErrorInfo.Lookup()
	if !ok || f.Node == "" || f.Severity == "" {
		return give("a node failed without a node name or a severity")
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

// again returns the failed node, or the error node if no attempt is left.
func (t Turn) again(s *State, f Failure, limit Settings) Destination {
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
	wait, most := f.Wait(), time.Duration(*limit.MaxExecutionSeconds)*time.Second
	if left := most - t.Elapsed; most > 0 && wait >= left || wait > time.Hour {
		return give("%s can be tried again in %s, which is too late", f.Node, wait)
	}
	return Destination{f.Node, wait, fmt.Sprintf("%s failed %d times of %d", f.Node, failures, attempts)}
}

// attempts returns the number of attempts that the policy and the limits allow.
func (f Failure) attempts(limit Settings, ofStep bool) int {
	n := f.Attempts
	if most := limit.MaxRetries; most != nil && *most > 0 {
		n = min(n, *most)
	}
	if most := limit.MaxStepRetries; ofStep && most != nil && *most > 0 {
		n = min(n, *most+1)
	}
	return n
}

// within returns target if count is below its limit, else the error node.
func within(count, most int, target, what string) Destination {
	if count >= most {
		return give("%d of %d %s", count, most, what)
	}
	return Destination{target, 0, fmt.Sprintf("%d of %d %s", count, most, what)}
}

func (t Turn) onward(s *State, limit Settings) Destination {
	steps := StateManager{}.Steps(s)
	switch {
	case s.Task.Current.Get() == "":
		return Destination{ToExtraction, 0, "there is no task yet"}
	case s.Execution.asks("*"):
		return Destination{ToApproval, 0, "a request waits for a decision"}
	case s.Control.NeedsReclassification.Get():
		return within(s.Control.ReclassificationCount.Get(), *limit.MaxReclassifications, ToClassifier, "reclassifications")
	case s.Planning.ActiveCapabilities.Len() == 0:
		return within(s.Control.ReclassificationCount.Get(), *limit.MaxReclassifications+1, ToClassifier, "classifications")
	}
	if _, ok := s.Planning.Plan(); !ok {
		return within(s.Control.PlansCreatedCount.Get(), *limit.MaxPlanningAttempts, ToOrchestrator, "plans")
	}
	if _, err := s.Planning.CurrentStep(); err != nil {
		return give("%v", err)
	}
	due := steps.Due()
	if len(due) == 0 {
		return give("the remaining steps wait for each other")
	}
	var targets []string
	for _, i := range due {
		step, _ := s.Planning.Step(i)
		targets = append(targets, cmp.Or(step.Capability, ToRespond))
		if name := targets[len(targets)-1]; !t.known(name) {
			return give("step %d needs %q, which is not registered", i+1, name)
		}
	}
	return Destination{targets[0], 0, fmt.Sprintf("step %d of the plan", due[0]+1)}
}

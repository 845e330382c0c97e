package agent

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Plan returns the plan; ok is false if there is none or it has no steps.
func (p *Planning) Plan() (_ Plan, ok bool) {
	plan := p.ExecutionPlan.Get()
	return plan, len(plan.Steps) > 0
}

// CurrentStep returns the step to run now. The error wraps ErrNoPlan or ErrStepIndex.
func (p *Planning) CurrentStep() (Step, error) { return p.Step(p.CurrentStepIndex.Get()) }

// Step returns step i of the plan. The error wraps ErrNoPlan or ErrStepIndex.
func (p *Planning) Step(i int) (Step, error) {
	plan, ok := p.Plan()
	if !ok {
		return Step{}, ErrNoPlan
	}
	if i < 0 || i >= len(plan.Steps) {
		return Step{}, fmt.Errorf("%w: index %d of %d steps", ErrStepIndex, i, len(plan.Steps))
	}
	return plan.Steps[i], nil
}

// Steps are the steps of a plan with their results: see [StateManager.Steps].
type Steps struct {
	m StateManager
	s *State
}

// Result returns the result of step i of the plan so far. It is zero if the step has not started.
func (t Steps) Result(i int) StepResult {
	step, err := t.s.Planning.Step(i)
	r, ok := t.s.Execution.StepResults.Lookup(step.ResultKey(i))
	if err != nil || !ok || r.Plan != t.s.Control.PlansCreatedCount.Get() || r.StepIndex != i {
		return StepResult{}
	}
	return r
}

// Record stores the result of an attempt at step i. It counts the attempt and sets the fields for
// the step, the plan and the time. It writes only this result, so steps may run in parallel. Call
// [Steps.Settle] after them.
func (t Steps) Record(i int, r StepResult) error {
	step, err := t.s.Planning.Step(i)
	if err != nil {
		return err
	}
	r.StepIndex, r.Capability, r.Objective, r.Time = i, step.Capability, step.Objective, t.m.now()
	r.Attempts, r.Plan = t.Result(i).Attempts+1, t.s.Control.PlansCreatedCount.Get()
	if r.Failure != nil {
		f := *r.Failure
		f.Time = t.m.stamp(f.Time)
		r.Failure, r.Error = &f, cmp.Or(r.Error, f.UserMessage, f.Error)
	}
	t.s.Execution.StepResults.Put(step.ResultKey(i), r)
	return nil
}

// Settle updates the state after the parallel steps in Execution.RunningSteps. The current step
// becomes the first that is not done. The most severe failure becomes the one that [Route] handles.
// The result does not depend on the order in which the steps ended.
func (t Steps) Settle() {
	ran, ok := t.s.Execution.RunningSteps.Lookup()
	if !ok {
		return
	}
	t.s.Execution.RunningSteps.Clear()
	t.settle(ran...)
}

func (t Steps) settle(ran ...int) {
	if i := t.firstOpen(); i != t.s.Planning.CurrentStepIndex.Get() {
		t.s.Planning.CurrentStepIndex.Set(i)
	}
	var failed []StepResult
	for _, i := range ran {
		if r := t.Result(i); r.Failure != nil && !r.Done() && !t.asksAt(i) {
			failed = append(failed, r)
		}
	}
	if len(failed) == 0 {
		t.s.Control.Succeed()
		if t.s.Control.CurrentStepRetryCount.Get() != 0 {
			t.s.Control.CurrentStepRetryCount.Overwrite(0)
		}
		return
	}
	worst := slices.MinFunc(failed, t.gravest(t.m.Settings(t.s)))
	t.s.Control.HasError.Set(true)
	t.s.Control.ErrorInfo.Set(*worst.Failure)
	t.s.Control.RetryCount.Overwrite(worst.Attempts)
	t.s.Control.CurrentStepRetryCount.Overwrite(worst.Attempts)
}

// firstOpen returns the index of the first step that is not done.
func (t Steps) firstOpen() int {
	i, p := t.s.Planning.CurrentStepIndex.Get(), t.s.Planning.ExecutionPlan.Get()
	for i >= 0 && i < len(p.Steps) && t.Result(i).Done() {
		i++
	}
	return i
}

// gravest orders failures by severity. Among retriable failures, those without attempts left come
// first, then those with the longest wait.
func (t Steps) gravest(limit Settings) func(a, b StepResult) int {
	order := []Severity{Fatal, Critical, Reclassification, Replanning, Retriable}
	rank := func(r StepResult) int {
		if i := slices.Index(order, r.Failure.Severity); i >= 0 {
			return i
		}
		return 1
	}
	left := func(r StepResult) int {
		return min(1, max(0, r.Failure.attempts(limit, true)-r.Attempts))
	}
	wait := func(r StepResult) time.Duration { return r.Failure.Wait() }
	return func(a, b StepResult) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(left(a), left(b)), cmp.Compare(wait(b), wait(a)), cmp.Compare(a.StepIndex, b.StepIndex))
	}
}

// Due returns the indexes of the steps that can run now, in ascending order. These steps are not
// done, the steps that they wait for are done, and none of their requests is undecided.
func (t Steps) Due() (steps []int) {
	p, _ := t.s.Planning.Plan()
	done := func(j int) bool { return j < t.s.Planning.CurrentStepIndex.Get() || t.Result(j).Done() }
	for i := range p.Steps {
		if !done(i) && !t.asksAt(i) && !slices.ContainsFunc(p.Before(i), func(j int) bool { return !done(j) }) {
			steps = append(steps, i)
		}
	}
	return steps
}

// asksAt reports whether step i waits for a decision.
func (t Steps) asksAt(i int) bool {
	step, err := t.s.Planning.Step(i)
	return err == nil && t.s.Execution.asks(step.ResultKey(i))
}

// asks reports whether a request of this step, or any request if key is "*", waits for a decision.
func (e *Execution) asks(key string) bool {
	for _, r := range e.PendingApprovals.All() {
		if !r.Decided && (key == "*" || r.Step == key) {
			return true
		}
	}
	return false
}

// Done records that the current step succeeded in the time took, and makes the next step
// current. It clears earlier failures.
func (t Steps) Done(took time.Duration) error {
	return t.current(StepResult{Success: true, Seconds: took.Seconds()})
}

// Skip records that the current step was skipped, and why, and makes the next step current.
func (t Steps) Skip(why string, took time.Duration) error {
	return t.current(StepResult{Skipped: true, Error: why, Seconds: took.Seconds()})
}

// Failed records that the current step failed after the time took. The step remains current.
func (t Steps) Failed(f Failure, took time.Duration) error {
	return t.current(StepResult{Failure: &f, Seconds: took.Seconds()})
}

func (t Steps) current(r StepResult) error {
	i := t.s.Planning.CurrentStepIndex.Get()
	if err := t.Record(i, r); err != nil {
		return err
	}
	t.settle(i)
	return nil
}

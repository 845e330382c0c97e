package agent

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// StepAt returns step i of the plan. The error wraps ErrNoPlan or ErrStepIndex.
func (m Manager) StepAt(s *State, i int) (Step, error) {
	p, ok := m.Plan(s)
	if !ok {
		return Step{}, ErrNoPlan
	}
	if i < 0 || i >= len(p.Steps) {
		return Step{}, fmt.Errorf("%w: index %d of %d steps", ErrStepIndex, i, len(p.Steps))
	}
	return p.Steps[i], nil
}

// Result returns the result of step i of the plan so far. It is zero if the step has not started.
func (m Manager) Result(s *State, i int) StepResult {
	step, err := m.StepAt(s, i)
	r, ok := s.Execution.StepResults.Lookup(step.ResultKey(i))
	if err != nil || !ok || r.Plan != s.Control.PlansCreatedCount.Get() || r.StepIndex != i {
		return StepResult{}
	}
	return r
}

// Note stores the result of an attempt at step i. It counts the attempt and sets the fields for the
// step, the plan and the time. It writes only this result, so steps may run in parallel. Call
// [Manager.Settle] after them.
func (m Manager) Note(s *State, i int, r StepResult) error {
	step, err := m.StepAt(s, i)
	if err != nil {
		return err
	}
	r.StepIndex, r.Capability, r.Objective, r.Time = i, step.Capability, step.Objective, m.now()
	r.Attempts, r.Plan = m.Result(s, i).Attempts+1, s.Control.PlansCreatedCount.Get()
	if r.Failure != nil {
		f := *r.Failure
		f.Time = m.stamp(f.Time)
		r.Failure, r.Error = &f, cmp.Or(r.Error, f.UserMessage, f.Error)
	}
	s.Execution.StepResults.Put(step.ResultKey(i), r)
	return nil
}

// Settle updates the state after the parallel steps in Execution.RunningSteps. The current step
// becomes the first that is not done. The most severe failure becomes the one that [Route] handles.
// The result does not depend on the order in which the steps ended.
func (m Manager) Settle(s *State) {
	ran, ok := s.Execution.RunningSteps.Lookup()
	if !ok {
		return
	}
	s.Execution.RunningSteps.Clear()
	m.settle(s, ran...)
}

func (m Manager) settle(s *State, ran ...int) {
	if i := m.firstOpen(s); i != m.StepIndex(s) {
		s.Planning.CurrentStepIndex.Set(i)
	}
	var failed []StepResult
	for _, i := range ran {
		if r := m.Result(s, i); r.Failure != nil && !r.Done() && !m.asksAt(s, i) {
			failed = append(failed, r)
		}
	}
	if len(failed) == 0 {
		m.NodeDone(s)
		if s.Control.CurrentStepRetryCount.Get() != 0 {
			s.Control.CurrentStepRetryCount.Overwrite(0)
		}
		return
	}
	worst := slices.MinFunc(failed, m.gravest(m.Settings(s)))
	s.Control.HasError.Set(true)
	s.Control.ErrorInfo.Set(*worst.Failure)
	s.Control.RetryCount.Overwrite(worst.Attempts)
	s.Control.CurrentStepRetryCount.Overwrite(worst.Attempts)
}

// firstOpen returns the index of the first step that is not done.
func (m Manager) firstOpen(s *State) int {
	i, p := m.StepIndex(s), s.Planning.ExecutionPlan.Get()
	for i >= 0 && i < len(p.Steps) && m.Result(s, i).Done() {
		i++
	}
	return i
}

// gravest orders failures by severity. Among retriable failures, those without attempts left come
// first, then those with the longest wait.
func (m Manager) gravest(limit Settings) func(a, b StepResult) int {
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
	wait := func(r StepResult) time.Duration { return r.Failure.Wait(r.Attempts) }
	return func(a, b StepResult) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(left(a), left(b)), cmp.Compare(wait(b), wait(a)), cmp.Compare(a.StepIndex, b.StepIndex))
	}
}

// Due returns the indexes of the steps that can run now, in ascending order. These steps are not
// done, the steps that they wait for are done, and none of their requests is undecided.
func (m Manager) Due(s *State) (steps []int) {
	p, _ := m.Plan(s)
	done := func(j int) bool { return j < m.StepIndex(s) || m.Result(s, j).Done() }
	for i := range p.Steps {
		if !done(i) && !m.asksAt(s, i) && !slices.ContainsFunc(p.Before(i), func(j int) bool { return !done(j) }) {
			steps = append(steps, i)
		}
	}
	return steps
}

// asksAt reports whether step i waits for a decision.
func (m Manager) asksAt(s *State, i int) bool {
	step, err := m.StepAt(s, i)
	return err == nil && m.asks(s, step.ResultKey(i))
}

// asks reports whether a request of this step, or any request if key is "*", waits for a decision.
func (m Manager) asks(s *State, key string) bool {
	for _, r := range s.Execution.PendingApprovals.All() {
		if !r.Decided && (key == "*" || r.Step == key) {
			return true
		}
	}
	return false
}

// StepDone records that the current step succeeded in the time took, and makes the next step
// current. It clears earlier failures.
func (m Manager) StepDone(s *State, took time.Duration) error {
	return m.current(s, StepResult{Success: true, Seconds: took.Seconds()})
}

// SkipStep records that the current step was skipped, and why, and makes the next step current.
func (m Manager) SkipStep(s *State, why string, took time.Duration) error {
	return m.current(s, StepResult{Skipped: true, Error: why, Seconds: took.Seconds()})
}

// StepFailed records that the current step failed after the time took. The step remains current.
func (m Manager) StepFailed(s *State, f Failure, took time.Duration) error {
	return m.current(s, StepResult{Failure: &f, Seconds: took.Seconds()})
}

func (m Manager) current(s *State, r StepResult) error {
	i := m.StepIndex(s)
	if err := m.Note(s, i, r); err != nil {
		return err
	}
	m.settle(s, i)
	return nil
}

package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/weftrun/weft/internal/validtext"
)

// NodeDone records that a node succeeded. It clears the error and resets RetryCount.
func (m Manager) NodeDone(s *State) {
	if s.Control.RetryCount.Get() != 0 {
		s.Control.RetryCount.Overwrite(0)
	}
	if s.Control.HasError.Get() {
		s.Control.HasError.Set(false)
		s.Control.ErrorInfo.Clear()
	}
}

// NodeFailed records that a node failed. RetryCount counts consecutive failures of one node; a
// failure of another node starts at 1.
func (m Manager) NodeFailed(s *State, f Failure) {
	if last, ok := s.Control.ErrorInfo.Lookup(); ok && last.Node != f.Node {
		s.Control.RetryCount.Overwrite(0)
	}
	if f.Time.IsZero() {
		f.Time = m.now()
	}
	s.Control.RetryCount.Add(1)
	s.Control.HasError.Set(true)
	s.Control.ErrorInfo.Set(f)
}

// Kill ends the turn at the next call of [Route].
func (m Manager) Kill(s *State, reason string) {
	s.Control.IsKilled.Set(true)
	s.Control.KillReason.Set(reason)
}

// StepsSummary returns a line for each step that has a result, such as "Step 1: find the PVs", in
// the order of the plan. The line names the changes of a person, because the objective does not
// contain them.
func (m Manager) StepsSummary(s *State) []string {
	var all []StepResult
	for _, r := range s.Execution.StepResults.All() {
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b StepResult) int { return cmp.Compare(a.StepIndex, b.StepIndex) })
	lines := make([]string, len(all))
	for i, r := range all {
		lines[i] = fmt.Sprintf("Step %d: %s", r.StepIndex+1, cmp.Or(r.Objective, r.Capability, "unknown"))
		for _, e := range r.Edits {
			lines[i] += fmt.Sprintf(" (a person changed it: it was done with %s, and not with %s)", e.Approved, e.Asked)
		}
	}
	return lines
}

// RegisterFigure appends a figure to the UI. It sets the creation time if that is zero.
func (m Manager) RegisterFigure(s *State, f Figure) {
	f.CreatedAt = m.stamp(f.CreatedAt)
	s.UI.CapturedFigures.Append(f)
}

// RegisterCommand appends a command to the UI. It sets the creation time if that is zero.
func (m Manager) RegisterCommand(s *State, c Command) {
	c.CreatedAt = m.stamp(c.CreatedAt)
	s.UI.LaunchableCommands.Append(c)
}

// RegisterNotebook appends a notebook to the UI. It sets the creation time if that is zero.
func (m Manager) RegisterNotebook(s *State, n Notebook) {
	n.CreatedAt = m.stamp(n.CreatedAt)
	s.UI.CapturedNotebooks.Append(n)
}

// Status appends a status message for the user. It sets the time if that is zero.
func (m Manager) Status(s *State, u StatusUpdate) {
	u.Time = m.stamp(u.Time)
	s.StatusUpdates.Append(u)
}

// Progress appends a progress event. It computes e.Progress from Current and Total, and sets the
// time if that is zero.
func (m Manager) Progress(s *State, e ProgressEvent) {
	e.Time = m.stamp(e.Time)
	e.Progress = 0
	if e.Total != 0 {
		e.Progress = float64(e.Current) / float64(e.Total)
	}
	s.ProgressEvents.Append(e)
}

func (m Manager) stamp(t time.Time) time.Time {
	if t.IsZero() {
		return m.now()
	}
	return t
}

// Remember stores v under a name for later turns. A value without a JSON form is an error.
func Remember(s *State, name string, v any) error {
	data, err := validtext.Marshal(v)
	if err != nil {
		return fmt.Errorf("agent: session %q: %w", name, err)
	}
	s.Session.Put(name, data)
	return nil
}

// Recall returns the value that [Remember] stored under a name. ok is false if there is none. The
// error is not nil if the value cannot be decoded as a T.
func Recall[T any](s *State, name string) (v T, ok bool, err error) {
	data, ok := s.Session.Lookup(name)
	if !ok {
		return v, false, nil
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, true, fmt.Errorf("agent: session %q: %w", name, err)
	}
	return v, true, nil
}

package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weftrun/weft/internal/validtext"
)

// Succeed records that a node succeeded. It clears the error and resets RetryCount.
func (c *Control) Succeed() {
	if c.RetryCount.Get() != 0 {
		c.RetryCount.Overwrite(0)
	}
	if c.HasError.Get() {
		c.HasError.Set(false)
		c.ErrorInfo.Clear()
	}
}

// Fail records that a node failed. RetryCount counts consecutive failures of one node; a
// failure of another node starts at 1.
func (c *Control) Fail(f Failure) {
	if last, ok := c.ErrorInfo.Lookup(); ok && last.Node != f.Node {
		c.RetryCount.Overwrite(0)
	}
	c.RetryCount.Add(1)
	c.HasError.Set(true)
	c.ErrorInfo.Set(f)
}

// Kill ends the turn at the next call of [Route].
func (c *Control) Kill(reason string) {
	c.IsKilled.Set(true)
	c.KillReason.Set(reason)
}

// Summary returns a line for each step that has a result, such as "Step 1: find the PVs", in
// the order of the plan. The line names the changes of a person, because the objective does not
// contain them.
func (t Steps) Summary() []string {
	var all []StepResult
	for _, r := range t.s.Execution.StepResults.All() {
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

// Display shows a user what an agent does: see [StateManager.Display]. It sets times that are zero.
type Display struct {
	m StateManager
	s *State
}

// Figure appends a figure.
func (d Display) Figure(f Figure) {
	f.CreatedAt = d.m.stamp(f.CreatedAt)
	d.s.UI.CapturedFigures.Append(f)
}

// Command appends a program or page that the user can launch.
func (d Display) Command(c Command) {
	c.CreatedAt = d.m.stamp(c.CreatedAt)
	d.s.UI.LaunchableCommands.Append(c)
}

// Status appends a status message.
func (d Display) Status(u StatusUpdate) {
	u.Time = d.m.stamp(u.Time)
	d.s.StatusUpdates.Append(u)
}

// Progress appends a progress event. It computes e.Progress from Current and Total.
func (d Display) Progress(e ProgressEvent) {
	e.Time = d.m.stamp(e.Time)
	e.Progress = 0
	if e.Total != 0 {
		e.Progress = float64(e.Current) / float64(e.Total)
	}
	d.s.ProgressEvents.Append(e)
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

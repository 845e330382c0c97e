package turn

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/state/agent"
)

// Error ends the turn with a message about what failed. It cannot fail itself.
func (t *Turn) Error(ctx context.Context, s *agent.State) error {
	r, doing := t.Report(s), "Something went wrong…"
	if r.Rejected {
		doing = "Ending the turn…"
	}
	if err := t.emitStatus(ctx, s, agent.ToError, doing, nil); err != nil {
		return err
	}
	text := r.String()
	if t.cfg.Explain != nil && !r.Rejected {
		inner, cancel := context.WithTimeout(t.withModel(ctx, s), cmp.Or(t.cfg.ExplainWithin, 30*time.Second))
		defer cancel()
		more, err := safely(func() (string, error) { return t.cfg.Explain(inner, r) })
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if more = strings.TrimSpace(more); err == nil && more != "" {
			text += "\n\n" + more
		}
	}
	return t.say(ctx, s, strings.ToValidUTF8(text, "�"))
}

// Report describes why the turn failed or was rejected.
func (t *Turn) Report(s *agent.State) Report {
	f := s.Control.ErrorInfo.Get()
	task, _ := s.Task.Current.Lookup()
	r := Report{
		Time: t.m.Clock(), Rejected: f.Rejected, Severity: cmp.Or(f.Severity, agent.Critical), Task: task, Node: cmp.Or(f.Node, ToRouter),
		Message: cmp.Or(f.UserMessage, f.Error), Details: f.Error, Reason: cmp.Or(f.Metadata["reason"], f.UserMessage, f.Error, "something failed without an error message"),
		Attempts: s.Control.RetryCount.Get(), Plans: s.Control.PlansCreatedCount.Get(), Elapsed: t.elapsed(s),
	}
	if s.Control.IsKilled.Get() {
		r.Reason = cmp.Or(s.Control.KillReason.Get(), r.Reason)
	} else if r.Reason == fmt.Sprintf("%s failed: %s", f.Node, f.Severity) {
		r.Reason = r.Message // the failure itself is the reason
	}
	r.Done, r.Left = t.steps(s)
	return r
}

// steps returns the steps of the plan that are done and those that are not, one line each. It
// leaves out rejected steps and the step that ends the turn.
func (t *Turn) steps(s *agent.State) (done, left []string) {
	p, _ := s.Planning.Plan()
	for i, step := range p.Steps {
		line := fmt.Sprintf("Step %d: %s", i+1, cmp.Or(step.Objective, step.Capability))
		switch r := t.m.Steps(s).Result(i); {
		case r.Done():
			done = append(done, line)
		case slices.Contains(terminals(), step.Capability), t.refused(s, step.ResultKey(i), r):
		default:
			left = append(left, line)
		}
	}
	return done, left
}

// refused reports whether a person rejected a step, or ended the turn instead.
func (t *Turn) refused(s *agent.State, key string, r agent.StepResult) bool {
	if r.Failure != nil {
		return r.Failure.Rejected
	}
	for _, asked := range s.Execution.PendingApprovals.All() {
		if asked.Step == key && asked.Decided && !asked.Approved {
			return true
		}
	}
	return false
}

// String returns the report in Markdown, for the user.
func (r Report) String() string {
	var b strings.Builder
	if r.Rejected {
		fmt.Fprintf(&b, "Not done, as decided: %s\n\n", r.Message)
	} else {
		fmt.Fprintf(&b, "I could not finish this.\n\n")
	}
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "- **%s**: %s\n", name, strings.ReplaceAll(value, "\n", "\n  "))
		}
	}
	if !r.Rejected {
		line("Task", r.Task)
		line("Where", r.Node)
		line("What", r.Message)
	}
	if r.Reason != r.Message {
		line("Why it ends here", r.Reason)
	}
	line("Done", strings.Join(r.Done, "; "))
	line("Not done", strings.Join(r.Left, "; "))
	return strings.TrimSpace(b.String())
}

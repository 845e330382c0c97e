package turn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/agent"
)

// Step runs step i of the plan, beside others: it hosts the step's capability, keeps its result, and turns the
// approval that it asks for into a request, which the approval node puts to a person. It writes nothing
// that another step of its wave writes.
func (t *Turn) Step(ctx context.Context, s *agent.State, i int) error {
	step, err := t.m.StepAt(s, i)
	if err != nil {
		return err
	}
	key := step.ResultKey(i)
	p, _ := t.m.Plan(s)
	if err := graph.Emit(ctx, agent.StatusUpdate{
		Message: "Executing " + step.Capability + "…", Node: step.Capability, Time: t.m.Clock().Round(0),
		Metadata: stepping(i, len(p.Steps), decisions(s, key)),
	}); err != nil {
		return err
	}
	inner, cancel := t.inTime(ctx, s)
	defer cancel()
	_, err = safely(func() (struct{}, error) { return struct{}{}, t.reg.StepAt(inner, t.m, s, i, decisions(s, key)...) })
	var needed *capabilities.ApprovalNeeded
	switch {
	case err == nil:
	case errors.As(err, &needed):
		return t.request(s, i, key, needed)
	case passes(ctx, err):
		return err
	default: // its time is over, or it panicked
		f := t.failure(inner, step.Capability, err)
		if err := t.m.Note(s, i, agent.StepResult{Failure: &f}); err != nil {
			return err
		}
	}
	r := t.m.Result(s, i)
	if all := changedFor(s, key); len(all) > 0 && r.Success {
		r.Edits = all
		s.Execution.StepResults.Put(key, r)
	}
	if r.Failure == nil || r.Failure.Severity != agent.Retriable {
		forget(s, key)
	}
	return t.tellFailure(ctx, i, r)
}

// stepping is what those who watch are told of a step: where it stands, and what was decided if it began before that.
func stepping(i, steps int, all []capabilities.Decision) map[string]string {
	m := map[string]string{"phase": "Execution", "step": fmt.Sprint(i + 1), "total": fmt.Sprint(steps)}
	for _, d := range all {
		if m["decided"] = "approved"; !d.Approved {
			m["decided"] = "rejected"
			break
		}
	}
	return m
}

// tellFailure tells those who watch that a step came to nothing. What a person decided they know.
func (t *Turn) tellFailure(ctx context.Context, i int, r agent.StepResult) error {
	if r.Failure == nil || r.Failure.Rejected {
		return nil
	}
	return graph.Emit(ctx, agent.StatusUpdate{
		Message: r.Capability + " failed: " + cmp.Or(r.Failure.UserMessage, r.Failure.Error), Node: r.Capability, Time: t.m.Clock().Round(0),
		Metadata: map[string]string{"phase": "Execution", "step": fmt.Sprint(i + 1), "failed": string(r.Failure.Severity)},
	})
}

// request keeps what the step asks for. Who asks again for what was decided would do so for ever.
func (t *Turn) request(s *agent.State, i int, key string, needed *capabilities.ApprovalNeeded) error {
	id := requestID(key, needed.ID)
	if old, ok := s.Execution.PendingApprovals.Lookup(id); ok && old.Decided {
		forget(s, key)
		return t.m.Note(s, i, agent.StepResult{Failure: &agent.Failure{
			Node: needed.Request.Capability, Severity: agent.Critical, Error: fmt.Sprintf("it takes no notice of the decision about %s", id),
		}})
	}
	r := needed.Request
	r.Step, r.Time = key, t.m.Clock().Round(0)
	s.Execution.PendingApprovals.Put(id, r)
	return nil
}

// requestID names a request: its step and what the capability calls it. So no decision about one step counts for
// another.
func requestID(key, id string) string { return key + " " + id }

// decisions returns what was decided for a step. What was approved is what was asked about, or what the
// person made of it, whatever the capability would ask about now.
func decisions(s *agent.State, key string) (all []capabilities.Decision) {
	for id, r := range s.Execution.PendingApprovals.All() {
		own, ok := strings.CutPrefix(id, key+" ")
		if ok && r.Step == key && r.Decided {
			all = append(all, capabilities.Decision{ID: own, Approved: r.Approved, Data: r.Data, Feedback: r.Feedback})
		}
	}
	return all
}

// changedFor returns what a person changed for a step.
func changedFor(s *agent.State, key string) (all []agent.Edit) {
	for _, r := range s.Execution.PendingApprovals.All() {
		if r.Step == key && r.Decided && r.Approved && r.Asked != nil {
			all = append(all, agent.Edit{Type: r.Type, By: r.By, Asked: r.Asked, Approved: r.Data})
		}
	}
	return all
}

// forget drops the requests of a step.
func forget(s *agent.State, key string) {
	for id, r := range s.Execution.PendingApprovals.All() {
		if r.Step == key {
			s.Execution.PendingApprovals.Delete(id)
		}
	}
}

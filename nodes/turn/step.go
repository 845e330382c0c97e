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

// Step runs step i of the plan, in parallel with others. It runs the step's capability, stores its
// result, and stores an approval that it asks for as a request, for the approval node. It writes
// nothing that another step writes at the same time.
func (t *Turn) Step(ctx context.Context, s *agent.State, i int) error {
	step, err := s.Planning.Step(i)
	if err != nil {
		return err
	}
	key := step.ResultKey(i)
	p, _ := s.Planning.Plan()
	if err := graph.Emit(ctx, agent.StatusUpdate{
		Message: "Executing " + step.Capability + "…", Node: step.Capability, Time: t.m.Clock().Round(0),
		Metadata: stepMetadata(i, len(p.Steps), decisions(s, key)),
	}); err != nil {
		return err
	}
	inner, cancel := t.inTime(ctx, s)
	defer cancel()
	_, err = safely(func() (struct{}, error) { return struct{}{}, t.reg.StepAt(inner, t.m, s, i, decisions(s, key)) })
	var needed *capabilities.ApprovalNeeded
	switch {
	case err == nil:
	case errors.As(err, &needed):
		return t.request(s, i, key, needed)
	case isRunError(ctx, err):
		return err
	default: // the time limit, or a panic
		f := t.failure(inner, s, step.Capability, err)
		if err := t.m.Steps(s).Record(i, agent.StepResult{Failure: &f}); err != nil {
			return err
		}
	}
	r := t.m.Steps(s).Result(i)
	if all := editsOf(s, key); len(all) > 0 && r.Success {
		r.Edits = all
		s.Execution.StepResults.Put(key, r)
	}
	if r.Failure == nil || r.Failure.Severity != agent.Retriable {
		forget(s, key)
	}
	return t.emitFailure(ctx, i, r)
}

// stepMetadata returns the metadata of a step's status: its number, and a decision made before it
// began.
func stepMetadata(i, steps int, all map[string]graph.Decision) map[string]string {
	m := map[string]string{"phase": "Execution", "step": fmt.Sprint(i + 1), "total": fmt.Sprint(steps)}
	for _, d := range all {
		m["decided"] = "approved"
		if !d.Approved() {
			m["decided"] = "rejected"
			break
		}
	}
	return m
}

// emitFailure emits a status update for a step that failed. A rejection is not emitted, because a
// person made it.
func (t *Turn) emitFailure(ctx context.Context, i int, r agent.StepResult) error {
	if r.Failure == nil || r.Failure.Rejected {
		return nil
	}
	return graph.Emit(ctx, agent.StatusUpdate{
		Message: r.Capability + " failed: " + cmp.Or(r.Failure.UserMessage, r.Failure.Error), Node: r.Capability, Time: t.m.Clock().Round(0),
		Metadata: map[string]string{"phase": "Execution", "step": fmt.Sprint(i + 1), "failed": string(r.Failure.Severity)},
	})
}

// request stores the approval that a step asks for. A capability that ignores the decision fails,
// so that it does not ask forever.
func (t *Turn) request(s *agent.State, i int, key string, needed *capabilities.ApprovalNeeded) error {
	id := requestID(key, needed.ID)
	if old, ok := s.Execution.PendingApprovals.Lookup(id); ok && old.Decided {
		forget(s, key)
		return t.m.Steps(s).Record(i, agent.StepResult{Failure: &agent.Failure{
			Node: needed.Request.Capability, Severity: agent.Critical, Error: fmt.Sprintf("it ignores the decision about %s", id),
		}})
	}
	r := needed.Request
	r.Step, r.Time = key, t.m.Clock().Round(0)
	s.Execution.PendingApprovals.Put(id, r)
	return nil
}

// requestID returns the key of a request: its step and the ID that the capability uses. So a
// decision about one step never applies to another.
func requestID(key, id string) string { return key + " " + id }

// decisions returns the decisions for a step. Approved data is the data that was shown to or edited
// by a person, whatever the capability would ask about now.
func decisions(s *agent.State, key string) map[string]graph.Decision {
	all := map[string]graph.Decision{}
	for id, r := range s.Execution.PendingApprovals.All() {
		own, ok := strings.CutPrefix(id, key+" ")
		if ok && r.Step == key && r.Decided {
			d := graph.Decision{Type: graph.DecisionReject, Args: r.Data, Message: r.Feedback, By: r.By}
			if r.Approved {
				d.Type = graph.DecisionApprove
			}
			all[own] = d
		}
	}
	return all
}

// editsOf returns the edits of a person for a step.
func editsOf(s *agent.State, key string) (all []agent.Edit) {
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

package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/values"
	"github.com/weftrun/weft/state/agent"
)

// Approval asks for a decision about each open request, all at once, and stores the decisions in
// the requests, where the steps read them. A decision about a plan is applied here. A request that
// expires is rejected. A request that is declined ends the turn.
func (t *Turn) Approval(ctx context.Context, s *agent.State) error {
	var no error // the rejection of a plan
	err := t.guard(ctx, s, agent.ToApproval, func(ctx context.Context, s *agent.State) (err error) {
		no, err = t.approve(ctx, s)
		return err
	})
	if err == nil && no != nil {
		s.Control.Fail(t.failure(ctx, s, agent.ToApproval, no))
	}
	return err
}

// approve returns in no the rejection of a plan.
func (t *Turn) approve(ctx context.Context, s *agent.State) (no, err error) {
	open, longest := false, 0.0
	for id, r := range s.Execution.PendingApprovals.All() {
		if r.Decided {
			continue
		}
		decided, waited, err := t.decide(ctx, s, id, r)
		switch {
		case errors.Is(err, graph.ErrInterrupted):
			open = true
			continue
		case errors.Is(err, graph.ErrDeclined):
			no = t.end(s, decided)
		case err != nil:
			return nil, err
		}
		longest = max(longest, waited.Seconds())
		if refused, err := t.storeDecision(s, id, decided); err != nil {
			return nil, err
		} else if refused != nil && no == nil {
			no = refused
		}
	}
	if open {
		return nil, graph.ErrInterrupted
	}
	s.Execution.WaitedSeconds.Add(longest)
	return no, nil
}

// decide asks about a request, and returns the request with the decision.
func (t *Turn) decide(ctx context.Context, s *agent.State, id string, r agent.ApprovalRequest) (agent.ApprovalRequest, time.Duration, error) {
	now := func(context.Context) (time.Time, error) { return t.m.Clock().UTC(), nil }
	began, err := graph.Once(ctx, "asked "+id, now)
	if err != nil {
		return r, 0, err
	}
	q := graph.Question{Prompt: prompt(r), Detail: r.Message, Data: r, Key: id + " #1", Timeout: t.cfg.ApprovalWithin, Schema: r.Schema}
	_, d, err := graph.Approve(ctx, graph.Approval[json.RawMessage]{
		Question: q, Action: cmp.Or(r.Capability, r.Type), Args: r.Data,
		Check: func(args json.RawMessage) error {
			_, err := t.applied(s, r, graph.Decision{Type: graph.DecisionEdit, Args: args})
			return err
		},
	})
	switch {
	case errors.Is(err, graph.ErrExpired):
		d, err = graph.Decision{Type: graph.DecisionReject, Message: "the time for a decision has passed"}, nil
	case errors.Is(err, graph.ErrDeclined):
		r.Decided, r.Feedback = true, strings.TrimPrefix(err.Error(), fmt.Sprintf("%v: %q: ", graph.ErrDeclined, q.Prompt))
		return r, t.m.Clock().Sub(began), err
	case err != nil:
		return r, 0, err
	}
	r.By = d.By
	r, err = t.applied(s, r, d)
	return r, t.m.Clock().Sub(began), err
}

func prompt(r agent.ApprovalRequest) string {
	if r.Type == PlanApproval {
		return "Carry out this plan?"
	}
	return fmt.Sprintf("Approve %q: %s?", r.Capability, cmp.Or(r.Objective, r.Type))
}

// applied returns a request with its decision. An edited plan must pass the same checks as any
// other.
func (t *Turn) applied(s *agent.State, r agent.ApprovalRequest, d graph.Decision) (agent.ApprovalRequest, error) {
	r.Decided, r.Approved, r.Feedback = true, d.Approved(), d.Message
	if d.Type != graph.DecisionEdit {
		return r, nil
	}
	data, err := json.Marshal(d.Args)
	if err != nil || r.Type != PlanApproval {
		if asked, bad := values.Decode(r.Data); err == nil && bad == nil {
			now, bad := values.Decode(data)
			if bad == nil && !values.Equal(asked, now) {
				r.Asked = r.Data
			}
		}
		r.Data = data
		return r, err
	}
	var p agent.Plan
	if err := json.Unmarshal(data, &p); err != nil {
		return r, fmt.Errorf("turn: the edited plan: %w", err)
	}
	p = t.complete(p)
	if err := t.check(s, p); err != nil {
		return r, err
	}
	r.Data, err = json.Marshal(p)
	return r, err
}

// storeDecision stores a decision where the step reads it. It returns in no the rejection of a
// plan.
func (t *Turn) storeDecision(s *agent.State, id string, r agent.ApprovalRequest) (no, err error) {
	s.Approval.Approved.Set(r.Approved)
	s.ApprovedPayload.Clear()
	if r.Approved && len(r.Data) > 0 {
		s.ApprovedPayload.Set(r.Data)
	}
	if r.Type != PlanApproval || r.Step != "" {
		s.Execution.PendingApprovals.Put(id, r)
		return nil, t.amendPlan(s, r)
	}
	s.Execution.PendingApprovals.Delete(id)
	if r.Approved {
		var p agent.Plan
		err := json.Unmarshal(r.Data, &p)
		s.Planning.ExecutionPlan.Set(p)
		return nil, err
	}
	return t.planRejected(s, r), nil
}

// amendPlan writes edited parameters into the plan, so that the plan shows what ran.
func (t *Turn) amendPlan(s *agent.State, r agent.ApprovalRequest) error {
	if r.Type != capabilities.ParametersApproval || !r.Approved || r.Asked == nil {
		return nil
	}
	p, _ := s.Planning.Plan()
	steps := slices.Clone(p.Steps)
	for i := range steps {
		if steps[i].ResultKey(i) != r.Step {
			continue
		}
		var err error
		if steps[i].Parameters, err = capabilities.Parameters(r.Data); err != nil {
			return err
		}
		s.Planning.ExecutionPlan.Set(agent.Plan{Steps: steps})
	}
	return nil
}

// planRejected applies the policy for a rejected plan. The plan is not shown again.
func (t *Turn) planRejected(s *agent.State, r agent.ApprovalRequest) error {
	if s.Control.IsKilled.Get() {
		return nil
	}
	no := &capabilities.Rejected{Request: requestInRejection(r), Feedback: r.Feedback, Then: t.cfg.OnRejectedPlan}
	switch no.Then {
	case capabilities.SkipStep:
		s.Planning.ExecutionPlan.Set(t.complete(agent.Plan{}))
		return nil
	case capabilities.Replan:
		return agent.Failed(agent.Replanning, no)
	case capabilities.EndTurn:
		s.Control.Kill(no.Text())
	}
	return no
}

// end ends the turn, because a person ended it instead of deciding.
func (t *Turn) end(s *agent.State, r agent.ApprovalRequest) error {
	no := &capabilities.Rejected{Request: requestInRejection(r), Feedback: r.Feedback, Then: capabilities.EndTurn, Ended: true}
	s.Control.Kill(no.Text())
	return no
}

// requestInRejection returns a request as its rejection names it. A plan has no capability, and has
// the task as its objective.
func requestInRejection(r agent.ApprovalRequest) agent.ApprovalRequest {
	if r.Type == PlanApproval && r.Step == "" {
		r.Capability, r.Objective = "", fmt.Sprintf("the plan for %q", r.Objective)
	}
	return r
}

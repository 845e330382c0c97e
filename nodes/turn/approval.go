package turn

import (
	"bytes"
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

// Action is what a person does about a request.
type Action string

// The actions.
const (
	Approve Action = "approve"
	Edit    Action = "edit"   // approve Decision.Edited instead of the request's data
	Reject  Action = "reject" // with an optional Decision.Feedback
)

// Decision is the answer to the question of a request, for [graph.Answer].
type Decision struct {
	Action Action `json:"decision" jsonschema:"approve, edit or reject"`
	// Edited is approved instead of the request's data. It has the same form.
	Edited   any    `json:"edited,omitempty" jsonschema:"with edit: what is approved instead, in the form of the data"`
	Feedback string `json:"feedback,omitempty" jsonschema:"with reject: why not, and what would be better"`
}

// UnmarshalJSON parses a decision. A decision that contradicts itself is an error, so the question
// stays open.
func (d *Decision) UnmarshalJSON(data []byte) error {
	type plain Decision
	var p plain
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber() // keep numbers as they were written
	if err := dec.Decode(&p); err != nil {
		return err
	}
	switch {
	case p.Action == Edit && p.Edited == nil:
		return errors.New("turn: an edit must have the field edited")
	case p.Action != Edit && p.Edited != nil:
		return fmt.Errorf("turn: the decision %q must not have the field edited", p.Action)
	case p.Action != Approve && p.Action != Edit && p.Action != Reject:
		return fmt.Errorf("turn: the decision must be approve, edit or reject (got %q)", p.Action)
	}
	*d = Decision(p)
	return nil
}

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
		t.m.NodeFailed(s, t.failure(ctx, agent.ToApproval, no))
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

// decide asks about a request until the decision can be applied, and returns the request with the
// decision.
func (t *Turn) decide(ctx context.Context, s *agent.State, id string, r agent.ApprovalRequest) (agent.ApprovalRequest, time.Duration, error) {
	now := func(context.Context) (time.Time, error) { return t.m.Clock().UTC(), nil }
	began, err := graph.Once(ctx, "asked "+id, now)
	if err != nil {
		return r, 0, err
	}
	for n, wrong := 1, ""; ; n++ {
		d, decided, err := graph.Decide[Decision](ctx, graph.Question{
			Prompt: prompt(r), Detail: strings.TrimSpace(wrong + "\n\n" + r.Message), Data: r, Key: fmt.Sprintf("%s #%d", id, n), Timeout: t.cfg.ApprovalWithin,
			Schema: decisionSchema(r),
		})
		switch {
		case errors.Is(err, graph.ErrExpired):
			d, err = Decision{Action: Reject, Feedback: "the time for a decision has passed"}, nil
		case errors.Is(err, graph.ErrDeclined):
			r.Decided, r.Feedback = true, strings.TrimPrefix(err.Error(), fmt.Sprintf("%v: %q: ", graph.ErrDeclined, prompt(r)))
			return r, t.m.Clock().Sub(began), err
		case err != nil:
			return r, 0, err
		}
		r.By = decided.By
		out, err := t.applied(s, r, d)
		if err == nil {
			return out, t.m.Clock().Sub(began), nil
		}
		wrong = fmt.Sprintf("That decision cannot be applied: %v.", err)
	}
}

// decisionSchema returns the JSON Schema of the decisions about a request. An edit is allowed if
// the request has data, and has the request's own schema.
func decisionSchema(r agent.ApprovalRequest) json.RawMessage {
	type schema = map[string]any
	verdicts := []Action{Approve, Reject}
	properties := schema{"feedback": schema{"type": "string", "description": "with reject: why not, and what would be better"}}
	if len(r.Data) > 0 {
		verdicts = append(verdicts, Edit)
		properties["edited"] = edited(r.Schema)
	}
	properties["decision"] = schema{"enum": verdicts}
	data, _ := json.Marshal(schema{"type": "object", "properties": properties, "required": []string{"decision"}, "additionalProperties": false}) // plain values
	return data
}

// edited returns a schema that can be embedded in another one, with its own base for references.
func edited(own json.RawMessage) any {
	var members map[string]json.RawMessage
	if json.Unmarshal(own, &members) != nil || members == nil {
		return cmp.Or(string(own), "true") == "true"
	}
	if _, named := members["$id"]; !named {
		members["$id"] = json.RawMessage(`"urn:weft:edited"`)
	}
	return members
}

func prompt(r agent.ApprovalRequest) string {
	if r.Type == PlanApproval {
		return "Carry out this plan?"
	}
	return fmt.Sprintf("Approve %q: %s?", r.Capability, cmp.Or(r.Objective, r.Type))
}

// applied returns a request with its decision. An edited plan must pass the same checks as any
// other.
func (t *Turn) applied(s *agent.State, r agent.ApprovalRequest, d Decision) (agent.ApprovalRequest, error) {
	r.Decided, r.Approved, r.Feedback = true, d.Action != Reject, d.Feedback
	if d.Action != Edit {
		return r, nil
	}
	data, err := json.Marshal(d.Edited)
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
	if s.ApprovedPayload.Clear(); r.Approved && len(r.Data) > 0 {
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
	p, _ := t.m.Plan(s)
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
		t.m.Kill(s, no.Text())
	}
	return no
}

// end ends the turn, because a person ended it instead of deciding.
func (t *Turn) end(s *agent.State, r agent.ApprovalRequest) error {
	no := &capabilities.Rejected{Request: requestInRejection(r), Feedback: r.Feedback, Then: capabilities.EndTurn, Ended: true}
	t.m.Kill(s, no.Text())
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

package turn

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/agent"
)

// PlanApproval is the type of the approval request for a plan.
const PlanApproval = "orchestrator_plan"

// Orchestrator makes the plan. It adds the step that ends the turn to the result of [Config.Plan],
// and checks all rules. An invalid plan is made again, with all its problems in the request. A plan
// that uses a capability that was not chosen causes a new choice. In planning mode the plan becomes
// an approval request, unless it only answers or asks back. Otherwise it is emitted as an
// agent.Plan.
func (t *Turn) Orchestrator(ctx context.Context, s *agent.State) error {
	return t.guard(ctx, s, agent.ToOrchestrator, t.orchestrate)
}

func (t *Turn) orchestrate(ctx context.Context, s *agent.State) error {
	if err := t.emitStatus(ctx, s, agent.ToOrchestrator, "Planning…", phase(3)); err != nil {
		return err
	}
	task, ok := s.Task.Current.Lookup()
	if !ok {
		return errNoTask
	}
	if s.Planning.ActiveCapabilities.Len() == 0 {
		return agent.Failed(agent.Reclassification, errors.New("turn: no capability is active"))
	}
	known := t.m.LoadContexts(s)
	p, err := t.cfg.Plan(ctx, PlanRequest{
		Task:     Task{task, s.Task.DependsOnChatHistory.Get(), s.Task.DependsOnUserMemory.Get()},
		Messages: t.history(ctx, s), Capabilities: t.reg.Guided(t.active(s)...),
		Have: known.Refs(), Known: known.Describe(), Previous: previous(s, agent.ToOrchestrator),
	})
	if err != nil {
		return err
	}
	p = t.complete(p)
	if err := t.check(s, p); err != nil {
		return err
	}
	t.unplan(s)
	s.Control.PlansCreatedCount.Add(1)
	if *t.settings(s).PlanningMode && t.does(p) {
		return t.propose(s, p, task)
	}
	s.Planning.ExecutionPlan.Set(p)
	return graph.Emit(ctx, p)
}

func (t *Turn) active(s *agent.State) []string { return s.Planning.ActiveCapabilities.Slice() }

// complete normalizes the names of steps that end a turn, and adds such a step if there is none.
func (t *Turn) complete(p agent.Plan) agent.Plan {
	steps := slices.Clone(p.Steps)
	for i := range steps {
		name := strings.ToLower(strings.TrimSpace(steps[i].Capability))
		if slices.Contains(terminals(), name) {
			steps[i].Capability = name
		}
	}
	if n := len(steps); n == 0 || !slices.Contains(terminals(), steps[n-1].Capability) {
		steps = append(steps, agent.Step{Capability: agent.ToRespond, Objective: "answer the user", Inputs: t.outputs(steps)})
	}
	return agent.Plan{Steps: steps}
}

// outputs returns the contexts that the steps make, by what their capabilities provide.
func (t *Turn) outputs(steps []agent.Step) (refs agent.InputList) {
	provides := t.reg.Rules().Provides
	for _, s := range steps {
		for _, typ := range provides(s.Capability) {
			if s.ContextKey != "" {
				refs = append(refs, ref(typ, s.ContextKey))
			}
		}
	}
	return refs
}

// check checks a plan against all rules.
func (t *Turn) check(s *agent.State, p agent.Plan) error {
	rules := t.reg.Rules(t.active(s)...)
	registered := rules.Known
	rules.Known = func(name string) bool { return registered(name) || slices.Contains(terminals(), name) }
	rules.Infrastructure, rules.Terminal, rules.Have, rules.Types = inner(), terminals(), &s.Context, t.m.Types
	err := p.Validate(rules)
	if err == nil {
		return nil
	}
	for _, step := range p.Steps {
		if registered(step.Capability) && !slices.Contains(t.active(s), step.Capability) {
			return agent.Failed(agent.Reclassification, err)
		}
	}
	return agent.Failed(agent.Retriable, err)
}

// does reports whether a plan has a step other than the one that ends the turn.
func (t *Turn) does(p agent.Plan) bool {
	return slices.ContainsFunc(p.Steps, func(s agent.Step) bool { return !slices.Contains(terminals(), s.Capability) })
}

// planSchema is the JSON Schema of an agent.Plan. The plan must also pass check.
var planSchema = json.RawMessage(`{"type":"object","required":["steps"],"properties":{"steps":{"type":"array","items":{"type":"object",
"required":["capability"],"properties":{"context_key":{"type":"string"},"capability":{"type":"string"},"task_objective":{"type":"string"},
"success_criteria":{"type":"string"},"expected_output":{"type":"string"},"parameters":{"type":["object","null"]},
"inputs":{"type":["array","null"],"items":{"type":"object","additionalProperties":{"type":"string"}}},
"depends_on":{"type":["array","null"],"items":{"type":"string"}}},"additionalProperties":false}}},"additionalProperties":false}`)

// propose stores an approval request for a plan.
func (t *Turn) propose(s *agent.State, p agent.Plan, task string) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	s.Execution.PendingApprovals.Put(PlanApproval, agent.ApprovalRequest{
		Type: PlanApproval, Capability: agent.ToOrchestrator, Objective: task, Message: planText(p), Data: data, Schema: planSchema,
		Time: t.m.Clock().Round(0),
	})
	return nil
}

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

// PlanApproval is the type of the request for a plan.
const PlanApproval = "orchestrator_plan"

// Orchestrator makes the plan: it completes what [Config.Plan] returns by the step that ends the turn, and holds it to
// all rules at once. A plan that breaks some is made again, with all its problems told; one that wants
// a capability that was not chosen asks for another choice. In planning mode the plan becomes a request, unless all it
// does is to answer or to ask back; otherwise those who watch Custom events see the agent.Plan.
func (t *Turn) Orchestrator(ctx context.Context, s *agent.State) error {
	return t.guard(ctx, s, agent.ToOrchestrator, t.orchestrate)
}

func (t *Turn) orchestrate(ctx context.Context, s *agent.State) error {
	if err := t.tell(ctx, s, agent.ToOrchestrator, "Planning…", phase(3)); err != nil {
		return err
	}
	task, ok := t.m.CurrentTask(s)
	if !ok {
		return errNoTask
	}
	if s.Planning.ActiveCapabilities.Len() == 0 {
		return agent.Failed(agent.Reclassification, errors.New("turn: no capability is active"))
	}
	known := t.m.Contexts(s)
	p, err := t.cfg.Plan(ctx, PlanRequest{
		Task:     Task{task, s.Task.DependsOnChatHistory.Get(), s.Task.DependsOnUserMemory.Get()},
		Messages: s.Messages.Slice(), Capabilities: t.reg.Guided(t.active(s)...),
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

// complete writes the names of the steps that end a turn as they are, and adds one where there is none.
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

// outputs returns what the steps make, by what their capabilities provide.
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

// check holds a plan to all rules.
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

// does reports whether a plan has a step that does something, beside the one that ends the turn.
func (t *Turn) does(p agent.Plan) bool {
	return slices.ContainsFunc(p.Steps, func(s agent.Step) bool { return !slices.Contains(terminals(), s.Capability) })
}

// planSchema is that of an agent.Plan, as far as it says something; the rules of a plan hold besides.
var planSchema = json.RawMessage(`{"type":"object","required":["steps"],"properties":{"steps":{"type":"array","items":{"type":"object",
"required":["capability"],"properties":{"context_key":{"type":"string"},"capability":{"type":"string"},"task_objective":{"type":"string"},
"success_criteria":{"type":"string"},"expected_output":{"type":"string"},"parameters":{"type":["object","null"]},
"inputs":{"type":["array","null"],"items":{"type":"object","additionalProperties":{"type":"string"}}},
"depends_on":{"type":["array","null"],"items":{"type":"string"}}},"additionalProperties":false}}},"additionalProperties":false}`)

// propose makes a request of a plan.
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

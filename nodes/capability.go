package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/agent"
)

// Capability runs one capability of an agent of the program.
//
//	find:
//	  capability: {name: find, args: {name: rain}}
//	  output: {known: "${{ result.contexts }}"}     # a field of the type context
//	  next: plot
//	plot:
//	  capability: {name: plot, contexts: "${{ state.known }}"}
//	  output: {picture: "${{ result.made.PICTURE.file }}"}
//	  next: END
//
// Its inputs are the newest context of each required type, unless inputs names others. Its retries
// and approvals are those of the agent; an approval is a question of the run. A capability that
// fails after its retries fails the node with the code turn_failed.
type Capability struct {
	// Name is the name of the capability.
	Name string `json:"name"`
	// Agent is the name of an agent of the program; it may be left out if there is one agent.
	Agent string `json:"agent,omitempty"`
	// Task is the task of the capability; its description if missing.
	Task string `json:"task,omitempty"`
	// Args are its parameters by name.
	Args map[string]any `json:"args,omitempty"`
	// Key is the key of its results; its name if missing.
	Key string `json:"key,omitempty"`
	// Contexts are known contexts, as in the result of another node.
	Contexts map[string]any `json:"contexts,omitempty"`
	// Inputs are the keys of the contexts that it reads, by their type.
	Inputs map[string]string `json:"inputs,omitempty"`

	program Program
}

// CapabilityResult is the result of a Capability.
type CapabilityResult struct {
	Made     map[string]any `json:"made"`     // its results: type, fields
	Contexts map[string]any `json:"contexts"` // what it wrote: type, key, fields; null is a deletion
}

func capabilityKind(p Program) workflow.Kind {
	return workflow.Kind{
		About:   "runs one capability of an agent of the program",
		New:     func() workflow.Runner { return &Capability{program: p} },
		Result:  reflect.TypeFor[CapabilityResult](),
		Outside: true,
	}
}

// Check refuses agents and capabilities that the program does not have, and inputs that are not
// there.
func (p *Capability) Check(given func(string) bool) error {
	err := written(given, map[string]bool{"name": p.Name == "", "agent": p.Agent == ""})
	c, missing := pick(p.program.Agents, "agent", p.Agent)
	if missing != nil || p.Name == "" {
		return errors.Join(err, missing)
	}
	errs := []error{err, checkCapability(c, p.Name)}
	if one, ok := p.find(c); ok && !given("contexts") && len(one.Requires) > 0 {
		errs = append(errs, &refusal{fmt.Sprintf("the capability %s requires %v, and there are no contexts", p.Name, one.Requires)})
	}
	return errors.Join(errs...)
}

// find returns the types that the capability requires and provides.
func (p *Capability) find(c turn.Config) (info struct{ Requires, Provides []string }, ok bool) {
	if c.Capabilities == nil {
		return info, false
	}
	one, ok := c.Capabilities.Get(p.Name)
	if ok {
		info.Requires, info.Provides = one.Info().Requires, one.Info().Provides
	}
	return info, ok
}

// Recordable reports whether the agent has no work of another kind and no services.
func (p *Capability) Recordable() bool {
	c, err := pick(p.program.Agents, "agent", p.Agent)
	return err == nil && recordable(c)
}

// Run is never called: a Capability is a graph.
func (p *Capability) Run(context.Context, workflow.Env) (any, error) {
	return nil, errors.New("nodes: a capability runs as a graph")
}

// Graph returns a turn whose plan has this one step.
func (p *Capability) Graph(_ workflow.Env, cfg graph.Config) (workflow.Child, error) {
	c, err := pick(p.program.Agents, "agent", p.Agent)
	if err == nil {
		c, err = recorded(c)
	}
	if err != nil {
		return workflow.Child{}, err
	}
	c.Answer = func(context.Context, turn.AnswerRequest) (string, error) { return "done", nil }
	g, err := turn.Graph("capability", c, cfg)
	if err != nil {
		return workflow.Child{}, err
	}
	begin := func(p *Capability) (agent.State, error) { return p.begin(c) }
	return workflow.ChildOf(g, begin, func(p *Capability, s *agent.State) (any, error) { return p.end(c, s) }), nil
}

func (p *Capability) key() string { return cmp.Or(p.Key, p.Name) }

// begin is a turn whose plan is made.
func (p *Capability) begin(c turn.Config) (agent.State, error) {
	task := cmp.Or(p.Task, "run "+p.Name)
	s, err := beginTurn(c, task, p.Contexts)
	if err != nil {
		return s, err
	}
	info, _ := p.find(c)
	step := agent.Step{ContextKey: p.key(), Capability: p.Name, Objective: task, Parameters: p.Args}
	if len(info.Provides) > 0 {
		step.ExpectedOutput = info.Provides[0]
	}
	for _, typ := range info.Requires {
		if key := cmp.Or(p.Inputs[typ], newest(&s, typ)); key != "" {
			step.Inputs = append(step.Inputs, state.ContextRef{Type: typ, Key: key})
		}
	}
	s.Task.Current.Set(task)
	s.Planning.ActiveCapabilities.Append(p.Name)
	s.Planning.ExecutionPlan.Set(agent.Plan{Steps: []agent.Step{step, {Capability: agent.ToRespond, Objective: "end"}}})
	return s, nil
}

// newest returns the key of the newest context of a type, "" for none.
func newest(s *agent.State, typ string) (key string) {
	var best state.ContextEntry
	for _, k := range s.Context.Keys(typ) {
		if e, _ := s.Context.Lookup(typ, k); key == "" || e.Meta.Time.After(best.Meta.Time) {
			key, best = k, e
		}
	}
	return key
}

func (p *Capability) end(c turn.Config, s *agent.State) (any, error) {
	turned, err := endTurn(c, s, p.Contexts)
	if err != nil {
		return nil, err
	}
	res := CapabilityResult{Made: map[string]any{}, Contexts: turned.Contexts}
	info, _ := p.find(c)
	for _, typ := range info.Provides {
		if byKey, ok := turned.Contexts[typ].(map[string]any); ok {
			res.Made[typ] = byKey[p.key()]
		}
	}
	return res, nil
}

var (
	_ workflow.Host       = (*Capability)(nil)
	_ workflow.Checker    = (*Capability)(nil)
	_ workflow.Recordable = (*Capability)(nil)
)

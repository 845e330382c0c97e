package nodes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

// Plan lets an agent of the program plan a task and execute the plan with its capabilities. It is
// the graph of package turn, as a node.
//
//	report:
//	  plan:
//	    agent: weather
//	    task: Rain in ${{ state.city }}
//	    capabilities: [find, plot]       # missing: those that the agent chooses
//	  output: {report: "${{ result.text }}", known: "${{ result.contexts }}"}
//
// Without an agent, a model plans a list of items and executes it with tools. It is the graph of
// package pes, as a node.
//
//	report:
//	  plan: {model: small, task: "Compare ${{ state.offers }}", tools: [lookup], review: true}
//	  output: {report: "${{ result.text }}"}
//
// An approval is a question of the run. A turn that ends without having done its task fails the
// node with the code turn_failed.
type Plan struct {
	// Agent is the name of an agent of the program; it may be left out if there is one agent and no
	// model is named.
	Agent string `json:"agent,omitempty"`
	// Model is the name of the model that plans without an agent; it may be left out if there is
	// one model and no agent.
	Model string `json:"model,omitempty"`
	// Tools are the tools of a plan without an agent.
	Tools []string `json:"tools,omitempty"`
	// Review shows the plan of a model to a person before it is executed.
	Review *bool `json:"review,omitempty"`
	// Task is the message of the user.
	Task string `json:"task"`
	// Capabilities are those that the plan may use.
	Capabilities []string `json:"capabilities,omitempty"`
	// Contexts are known contexts, as in the result of another node.
	Contexts map[string]any `json:"contexts,omitempty"`

	program Program
}

// PlanResult is the result of a Plan.
type PlanResult struct {
	Text     string         `json:"text"`     // the answer
	Contexts map[string]any `json:"contexts"` // what it wrote: type, key, fields; null is a deletion
	Steps    []string       `json:"steps"`    // the capabilities that ran, or the ids of the items, in the order of the plan
}

func planKind(p Program) workflow.Kind {
	return workflow.Kind{
		About:   "lets an agent of the program plan a task and carry it out with its capabilities",
		New:     func() workflow.Runner { return &Plan{program: p} },
		Result:  reflect.TypeFor[PlanResult](),
		Outside: true,
	}
}

// Check refuses agents and capabilities that the program does not have.
func (p *Plan) Check(given func(string) bool) error {
	err := written(given, map[string]bool{"agent": p.Agent == "", "capabilities": p.Capabilities == nil, "model": p.Model == "", "tools": p.Tools == nil, "review": p.Review == nil})
	if p.withModel() {
		return errors.Join(err, p.checkList(given))
	}
	c, missing := pick(p.program.Agents, "agent", p.Agent)
	if missing != nil {
		return errors.Join(err, missing)
	}
	errs := []error{err}
	for _, name := range p.Capabilities {
		errs = append(errs, checkCapability(c, name))
	}
	return errors.Join(errs...)
}

func checkCapability(c turn.Config, name string) error {
	var names []string
	if c.Capabilities != nil {
		names = c.Capabilities.Names()
	}
	if slices.Contains(names, name) {
		return nil
	}
	return &refusal{fmt.Sprintf("there is no capability %q; the agent has %s", name, strings.Join(names, ", "))}
}

// Recordable reports whether a model plans, or an agent without work of another kind and services.
func (p *Plan) Recordable() bool {
	c, err := pick(p.program.Agents, "agent", p.Agent)
	return p.withModel() || err == nil && recordable(c)
}

// Run is never called: a Plan is a graph.
func (p *Plan) Run(context.Context, workflow.Env) (any, error) {
	return nil, errors.New("nodes: a plan runs as a graph")
}

// Graph returns the graph of the agent's turn, or of the model's list.
func (p *Plan) Graph(_ workflow.Env, cfg graph.Config) (workflow.Child, error) {
	if p.withModel() {
		return p.list(cfg)
	}
	c, err := pick(p.program.Agents, "agent", p.Agent)
	if err == nil {
		c, err = recorded(c)
	}
	if err != nil {
		return workflow.Child{}, err
	}
	if len(p.Capabilities) > 0 {
		c.Match = func(_ context.Context, r turn.MatchRequest) (bool, error) {
			return slices.Contains(p.Capabilities, r.Capability.Name), nil
		}
	}
	g, err := turn.Graph("plan", c, cfg)
	if err != nil {
		return workflow.Child{}, err
	}
	begin := func(p *Plan) (agent.State, error) { return beginTurn(c, p.Task, p.Contexts) }
	return workflow.ChildOf(g, begin, func(p *Plan, s *agent.State) (any, error) { return endTurn(c, s, p.Contexts) }), nil
}

// beginTurn returns the input of a turn: a message and the known contexts.
func beginTurn(c turn.Config, task string, known map[string]any) (s agent.State, err error) {
	contexts, err := contextsOf(known)
	if err != nil {
		return s, err
	}
	s.Context.Merge(contexts)
	return s, s.Messages.Add(message.User(task))
}

// contextsOf returns the contexts of a node's parameter.
func contextsOf(known map[string]any) (contexts state.ContextData, err error) {
	data, err := json.Marshal(known)
	if err != nil || known == nil {
		return contexts, err
	}
	if err := json.Unmarshal(data, &contexts); err != nil {
		return contexts, &refusal{"contexts: " + err.Error()}
	}
	return contexts, nil
}

// writtenContexts returns the contexts that a turn wrote: those that differ from the known ones,
// and null for each one that is gone.
func writtenContexts(s *agent.State, known map[string]any) (map[string]any, error) {
	before, err := contextsOf(known)
	if err != nil {
		return nil, err
	}
	all := map[string]any{}
	put := func(ref state.ContextRef, v any) {
		if all[ref.Type] == nil {
			all[ref.Type] = map[string]any{}
		}
		all[ref.Type].(map[string]any)[ref.Key] = v
	}
	for ref, e := range s.Context.All() {
		data, err := json.Marshal(e)
		if old, ok := before.Lookup(ref.Type, ref.Key); ok && err == nil {
			was, err := json.Marshal(old)
			if err != nil {
				return nil, err
			}
			if bytes.Equal(was, data) {
				continue
			}
		}
		var v any
		if err == nil {
			err = json.Unmarshal(data, &v)
		}
		if err != nil {
			return nil, err
		}
		put(ref, v)
	}
	for ref := range before.All() {
		if !s.Context.Has(ref.Type, ref.Key) {
			put(ref, nil)
		}
	}
	return all, nil
}

// TurnError is returned when a turn ends without having done its task.
type TurnError struct{ Report string }

func (e *TurnError) Error() string { return e.Report }

// Code returns the error code for files.
func (e *TurnError) Code() string { return "turn_failed" }

// Retryable reports false, because the turn has made its retries.
func (e *TurnError) Retryable() bool { return false }

// endTurn returns the result of a turn that began with the known contexts.
func endTurn(c turn.Config, s *agent.State, known map[string]any) (res PlanResult, err error) {
	if last, ok := s.Messages.LastFrom(message.RoleAssistant); ok {
		res.Text = last.Text()
	}
	if s.Control.HasError.Get() || s.Control.IsKilled.Get() {
		return res, &TurnError{res.Text}
	}
	plan, _ := s.Planning.Plan()
	for i, step := range plan.Steps {
		if c.Manager.Steps(s).Result(i).Success && !slices.Contains(turn.NodeNames(), step.Capability) {
			res.Steps = append(res.Steps, step.Capability)
		}
	}
	res.Contexts, err = writtenContexts(s, known)
	return res, err
}

var (
	_ workflow.Host    = (*Plan)(nil)
	_ workflow.Checker = (*Plan)(nil)
)

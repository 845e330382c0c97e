package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes/react"
	"github.com/weftrun/weft/state/message"
)

// Agent lets a model answer with the help of tools: it calls tools until it can answer. It is the
// graph of package react, as a node.
//
//	answer:
//	  agent:
//	    model: small
//	    system: You help with orders.
//	    prompt: ${{ state.question }}
//	    tools: [lookup, refund]        # of the program; without them there are none
//	    max_turns: 8
//	  output: {answer: "${{ result.text }}"}
//
// Each answer of the model and each call of a tool is a step with a checkpoint. A tool that needs a
// person's permission or answer is a question of the run. The text of the model is streamed.
type Agent struct {
	// Model is the name of a model of the program; it may be left out if there is one model.
	Model string `json:"model,omitempty"`
	// System is how to answer.
	System string `json:"system,omitempty"`
	// Prompt is the question.
	Prompt string `json:"prompt"`
	// Messages are earlier messages, as in the result of another agent.
	Messages []message.Message `json:"messages,omitempty"`
	// Tools are names of tools of the program.
	Tools []string `json:"tools,omitempty"`
	// Answer is the type that the answer must have, an object; "" is text.
	Answer workflow.TypeName `json:"answer,omitzero"`
	// MaxTurns limits the answers of the model; 0 is 25.
	MaxTurns int `json:"max_turns,omitempty"`
	// MaxTokens limits the tokens of all of them together; 0 is no limit.
	MaxTokens int `json:"max_tokens,omitempty"`
	// Temperature is from 0, the most likely words, up; without it the model's own.
	Temperature *float64 `json:"temperature,omitempty"`

	program Program
}

// AgentResult is the result of an Agent.
type AgentResult struct {
	Text   string `json:"text"`
	Answer any    `json:"answer"` // of the requested type
	// Messages are the conversation, from the prompt on.
	Messages []message.Message `json:"messages"`
	Turns    int               `json:"turns"`  // answers of the model
	Tokens   int               `json:"tokens"` // of requests and answers
}

func agentKind(p Program) workflow.Kind {
	return workflow.Kind{
		About:   "lets a model answer with the help of tools",
		New:     func() workflow.Runner { return &Agent{program: p} },
		Result:  reflect.TypeFor[AgentResult](),
		Outside: true,
	}
}

// Check refuses models and tools that the program does not have.
func (a *Agent) Check(given func(string) bool) error {
	err := written(given, map[string]bool{
		"model": a.Model == "", "tools": a.Tools == nil, "answer": a.Answer.IsZero(), "max_turns": a.MaxTurns <= 0,
		"max_tokens": a.MaxTokens <= 0, "temperature": a.Temperature == nil,
	})
	_, missing := a.program.model(a.Model)
	return errors.Join(err, missing, a.checkTools())
}

func (a *Agent) checkTools() error {
	set, err := a.program.tools()
	errs := []error{err}
	for i, name := range a.Tools {
		switch {
		case !hasTool(set, name):
			errs = append(errs, noTool(set, name))
		case slices.Contains(a.Tools[:i], name):
			errs = append(errs, &refusal{fmt.Sprintf("tools names %q twice", name)})
		}
	}
	return errors.Join(errs...)
}

func hasTool(set *tool.Set, name string) bool { return set.Has(name) }

func noTool(set *tool.Set, name string) error {
	if set == nil || len(set.Names()) == 0 {
		return &refusal{fmt.Sprintf("there is no tool %q; declare it under tools, or register it in a program in Go", name)}
	}
	return &refusal{fmt.Sprintf("there is no tool %q; known are %s", name, strings.Join(set.Names(), ", "))}
}

// Recordable is true: it calls models and tools.
func (a *Agent) Recordable() bool { return true }

// Run is never called: an Agent is a graph.
func (a *Agent) Run(context.Context, workflow.Env) (any, error) {
	return nil, errors.New("nodes: an agent runs as a graph")
}

// Graph returns the loop of the model and its tools.
func (a *Agent) Graph(env workflow.Env, cfg graph.Config) (workflow.Child, error) {
	m, err := a.program.model(a.Model)
	if err != nil {
		return workflow.Child{}, err
	}
	tools, err := a.tools()
	if err != nil {
		return workflow.Child{}, err
	}
	c := react.Config{Model: m, Tools: tools, MaxTurns: a.MaxTurns, Request: model.Request{Temperature: a.Temperature}}
	c.Budget.Tokens = a.MaxTokens
	if !a.Answer.IsZero() {
		schema, err := env.Schema(a.Answer)
		if err != nil {
			return workflow.Child{}, err
		}
		c.Output = &model.Schema{JSON: schema}
	}
	b, err := react.New(c)
	if err != nil {
		return workflow.Child{}, err
	}
	g, err := b.Compile(cfg)
	if err != nil {
		return workflow.Child{}, err
	}
	return workflow.ChildOf(g, (*Agent).begin, func(host *Agent, s *react.State) (any, error) { return host.end(env, s) }), nil
}

// tools returns those of the program that the agent may use.
func (a *Agent) tools() (*tool.Set, error) {
	if len(a.Tools) == 0 {
		return nil, nil
	}
	set, err := a.program.tools()
	if err != nil {
		return nil, err
	}
	return set.Only(a.Tools...), nil
}

// before returns the messages before the prompt.
func (a *Agent) before() (all []message.Message) {
	if a.System != "" {
		all = append(all, message.System(a.System))
	}
	return append(all, a.Messages...)
}

func (a *Agent) begin() (react.State, error) {
	var s react.State
	err := s.Messages.Add(append(a.before(), message.User(a.Prompt))...)
	return s, err
}

func (a *Agent) end(env workflow.Env, s *react.State) (any, error) {
	spent := s.Spent.Get()
	res := AgentResult{Text: s.Answer.Get(), Messages: s.Messages.Slice()[len(a.before()):], Turns: s.Turns.Get(), Tokens: spent.Input + spent.Output}
	if a.Answer.IsZero() {
		return res, nil
	}
	var err error
	res.Answer, err = env.Convert(a.Answer, json.RawMessage(res.Text))
	return res, err
}

var (
	_ workflow.Host    = (*Agent)(nil)
	_ workflow.Checker = (*Agent)(nil)
)

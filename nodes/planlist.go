package nodes

import (
	"errors"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes/pes"
	"github.com/weftrun/weft/nodes/react"
)

// withModel reports whether a model plans, rather than an agent of the program.
func (p *Plan) withModel() bool {
	if p.Model != "" || p.Tools != nil || p.review() {
		return true
	}
	return p.Agent == "" && len(p.program.Agents) == 0
}

func (p *Plan) review() bool { return p.Review != nil && *p.Review }

// checkList checks the parameters of a plan by a model.
func (p *Plan) checkList(given func(string) bool) error {
	if p.Agent != "" || p.Capabilities != nil || given("contexts") {
		return &refusal{"a plan has either agent, capabilities and contexts, or model, tools and review"}
	}
	_, missing := p.program.model(p.Model)
	return errors.Join(missing, (&Agent{Tools: p.Tools, program: p.program}).checkTools())
}

// list returns the graph in which a model plans a list of items, which are then executed.
func (p *Plan) list(cfg graph.Config) (workflow.Child, error) {
	m, err := p.program.model(p.Model)
	if err != nil {
		return workflow.Child{}, err
	}
	tools, err := (&Agent{Tools: p.Tools, program: p.program}).tools()
	if err != nil {
		return workflow.Child{}, err
	}
	execute, err := pes.AgentExecute(react.Config{Model: m, Tools: tools})
	if err != nil {
		return workflow.Child{}, err
	}
	b, err := pes.New(pes.WithModel(pes.Config{Execute: execute, Tools: tools, Review: p.review()}, m))
	if err != nil {
		return workflow.Child{}, err
	}
	g, err := b.Compile(cfg)
	if err != nil {
		return workflow.Child{}, err
	}
	begin := func(p *Plan) (pes.State, error) { return pes.Input(p.Task), nil }
	return workflow.ChildOf(g, begin, func(_ *Plan, s *pes.State) (any, error) { return endList(s) }), nil
}

// endList returns the result of that graph, or a TurnError with its problem.
func endList(s *pes.State) (any, error) {
	res := PlanResult{Text: s.Answer.Get(), Contexts: map[string]any{}, Steps: []string{}}
	if problem := s.Problem.Get(); problem != "" {
		return res, &TurnError{problem}
	}
	for _, t := range s.Todo() {
		if t.Status == pes.Completed {
			res.Steps = append(res.Steps, t.ID)
		}
	}
	return res, nil
}

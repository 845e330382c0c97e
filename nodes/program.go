package nodes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/recording"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes/turn"
)

// Program is what a Go program makes available to files.
//
//	set, err := tool.NewSet(weather, refund)
//	kinds := nodes.Program{Models: map[string]model.Model{"small": m}, Tools: set}.Kinds()
//
// It must not be changed after that.
type Program struct {
	// Models are the models of the kinds llm, agent and plan.
	Models map[string]model.Model
	// Providers open the models that files declare under models, by name; see [ModelEntry].
	Providers map[string]model.Provider
	// Tools are the tools of the kind tool, and of the kinds agent and plan if they name them. nil
	// is none.
	Tools *tool.Set
	// Agents are the agents whose capabilities the kinds capability and plan run.
	Agents map[string]turn.Config

	declared *workflow.Entries // of a file; nil is none
}

// Kinds returns the standard kinds, with those that use the program. The caller owns the map.
func (p Program) Kinds() map[string]workflow.Kind {
	all := plainKinds()
	maps.Copy(all, map[string]workflow.Kind{
		"llm": llmKind(p), "agent": agentKind(p), "tool": toolKind(p), "plan": planKind(p), "capability": capabilityKind(p),
	})
	for _, name := range []string{"llm", "agent", "tool", "plan"} {
		k := all[name]
		k.Bind = func(e *workflow.Entries) workflow.Kind { return p.with(e).Kinds()[name] }
		all[name] = k
	}
	return all
}

// Sections returns the sections of files whose entries the kinds use: models, embedders, tools,
// budgets and prices.
func (p Program) Sections() map[string]workflow.Section {
	return map[string]workflow.Section{
		modelsName: p.modelsSection(), embeddersName: p.embeddersSection(), toolsName: p.toolsSection(),
		budgetsName: budgetsSection(), pricesName: pricesSection(),
	}
}

// with returns p with the models and tools that a file declares.
func (p Program) with(e *workflow.Entries) Program {
	p.declared = e
	return p
}

// model returns the model that a file names; without a name, the only one.
func (p Program) model(name string) (model.Model, error) {
	models := maps.Clone(p.Models)
	if models == nil {
		models = map[string]model.Model{}
	}
	for _, name := range p.declared.Names(modelsName) {
		models[name] = nil
	}
	m, err := pick(models, "model", name)
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = slices.Sorted(maps.Keys(models))[0] // the only one
	}
	if m != nil {
		return p.limited(name, m)
	}
	return p.declaredModel(name)
}

// declaredModel opens the model of a file, with its fallbacks. A fallback's own are not used.
func (p Program) declaredModel(name string) (model.Model, error) {
	v, _, err := p.declared.Open(modelsName, name)
	if err != nil {
		return nil, err
	}
	first := v.(declaredModel)
	m, err := p.limited(name, first.Model)
	if err != nil {
		return nil, err
	}
	all := []model.Model{m}
	for _, other := range first.fallback {
		if other == name {
			return nil, &refusal{fmt.Sprintf("models.%s: fallback must not name the model itself", name)}
		}
		m, known := p.Models[other]
		if !known {
			v, declared, err := p.declared.Open(modelsName, other)
			if err != nil {
				return nil, err
			}
			if !declared {
				return nil, &refusal{fmt.Sprintf("models.%s: there is no model %q to fall back to", name, other)}
			}
			m = v.(declaredModel).Model
		}
		if m, err = p.limited(other, m); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	if len(all) == 1 {
		return m, nil
	}
	return model.Fallback(all...), nil
}

// allModels returns the models that a file can name. The file uses all of them.
func (p Program) allModels() (map[string]model.Model, error) {
	models := maps.Clone(p.Models)
	if models == nil {
		models = map[string]model.Model{}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(models)), p.declared.Names(modelsName)) {
		m, err := p.model(name)
		if err != nil {
			return nil, err
		}
		models[name] = m
	}
	return models, nil
}

// tools returns the tools of the program and of the file, whose calls a test can record.
func (p Program) tools() (*tool.Set, error) {
	var all []tool.Tool
	var sources []tool.Source
	for _, name := range p.declared.Names(toolsName) {
		v, _, err := p.declared.Open(toolsName, name)
		if err != nil {
			return nil, err
		}
		if d, ok := v.(*declaredDocuments); ok {
			if err := d.bind(p.declared); err != nil {
				return nil, err
			}
		}
		switch v := v.(type) {
		case tool.Source:
			sources = append(sources, recording.Source(v))
		case tool.Tool:
			all = append(all, v)
		}
	}
	set, err := p.Tools.With(all...)
	if err == nil && len(sources) > 0 {
		set = set.WithSources(sources...)
	}
	return recording.Tools(set), err
}

// pick returns the value that a file names; without a name, the only one.
func pick[T any](all map[string]T, what, name string) (one T, err error) {
	names := slices.Sorted(maps.Keys(all))
	if name == "" && len(names) == 1 {
		name = names[0]
	}
	one, ok := all[name]
	switch {
	case ok:
		return one, nil
	case len(names) == 0:
		return one, &refusal{fmt.Sprintf("there are no %ss; %s", what, undeclared(what))}
	case name == "":
		return one, &refusal{fmt.Sprintf("name the %s; known are %s", what, strings.Join(names, ", "))}
	}
	return one, &refusal{fmt.Sprintf("there is no %s %q; known are %s", what, name, strings.Join(names, ", "))}
}

// undeclared returns what to do about a missing value.
func undeclared(what string) string {
	if what == "agent" {
		return "a program in Go registers them"
	}
	return fmt.Sprintf("declare them under %ss, or register them in a program in Go", what)
}

// written refuses parameters that are computed although the graph depends on them.
func written(given func(string) bool, zero map[string]bool) error {
	for _, name := range slices.Sorted(maps.Keys(zero)) {
		if given(name) && zero[name] {
			return &refusal{fmt.Sprintf("%s must be constant in the file, and not empty or zero", name)}
		}
	}
	return nil
}

package nodes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftrun/weft/capabilities/model"
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
	// Models are the models of the kinds llm and agent.
	Models map[string]model.Model
	// Tools are the tools of the kind tool, and of the kind agent if it names them; nil is none.
	Tools *tool.Set
	// Agents are the agents whose capabilities the kinds capability and plan run.
	Agents map[string]turn.Config
}

// Kinds returns the standard kinds, with those that use the program. The caller owns the map.
func (p Program) Kinds() map[string]workflow.Kind {
	all := plainKinds()
	maps.Copy(all, map[string]workflow.Kind{
		"llm": LLM(p.Models), "agent": agentKind(p), "tool": toolKind(p), "plan": planKind(p), "capability": capabilityKind(p),
	})
	return all
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
		return one, &refusal{fmt.Sprintf("this program has no %ss; a program in Go registers them", what)}
	case name == "":
		return one, &refusal{fmt.Sprintf("name the %s; the program has %s", what, strings.Join(names, ", "))}
	}
	return one, &refusal{fmt.Sprintf("there is no %s %q; the program has %s", what, name, strings.Join(names, ", "))}
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

package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftrun/weft/state"
)

// PlanRules are the rules for [Plan.Validate].
type PlanRules struct {
	// Known reports whether a capability is registered.
	Known func(capability string) bool
	// Active are the capabilities that the classifier chose; nil allows all known ones.
	Active []string
	// Infrastructure are the names of nodes that are not capabilities, even if Known returns true.
	Infrastructure []string
	// Terminal are the capabilities that end a turn, such as respond and clarify. The last step,
	// and only the last step, must use one of them. nil disables the rule.
	Terminal []string
	// Needs returns the types that a capability requires of the inputs of its step; nil requires
	// none.
	Needs func(capability string) (mode Mode, types []string)
	// Provides returns the types that a capability stores under the context key of its step. If it
	// is nil, the step's expected output is used.
	Provides func(capability string) []string
	// Have holds the existing contexts.
	Have *state.ContextData
	// Types is the registry of context types; nil accepts all.
	Types *Types
}

// Validate reports all problems of a plan as one [*PlanError]:
//
//   - no steps;
//   - a step without a capability, or with one that is unknown, inactive or infrastructure;
//   - a context key that two steps use;
//   - an input that neither exists nor is the output of an earlier step;
//   - inputs that lack the types that the capability needs;
//   - an output of an unknown type or without a key;
//   - a terminal step before the last one, or a last step that is not terminal;
//   - dependencies that do not exist or form a cycle.
func (p Plan) Validate(r PlanRules) error {
	v := planCheck{r: r, made: map[state.ContextRef]bool{}, keys: map[string]int{}}
	if len(p.Steps) == 0 {
		v.fail(0, "it has no steps")
	}
	for i, s := range p.Steps {
		if first, taken := v.keys[s.ContextKey]; taken && s.ContextKey != "" {
			v.fail(i+1, "the context key %q is that of step %d", s.ContextKey, first)
		} else {
			v.keys[s.ContextKey] = i + 1
		}
	}
	for i, s := range p.Steps {
		v.capability(i+1, s.Capability, i == len(p.Steps)-1)
		v.inputs(i+1, s)
		v.output(i+1, s)
	}
	v.dependencies(p)
	if len(v.problems) == 0 {
		return nil
	}
	return &PlanError{v.problems}
}

type planCheck struct {
	r        PlanRules
	made     map[state.ContextRef]bool // by earlier steps
	keys     map[string]int            // context key → step, from 1
	problems []PlanProblem
}

func (v *planCheck) fail(step int, format string, args ...any) {
	v.problems = append(v.problems, PlanProblem{step, fmt.Sprintf(format, args...)})
}

func (v *planCheck) capability(n int, name string, last bool) {
	ends := slices.Contains(v.r.Terminal, name)
	switch {
	case name == "":
		v.fail(n, "it names no capability")
	case slices.Contains(v.r.Infrastructure, name):
		v.fail(n, "%q is a node of the agent itself, not a capability", name)
	case v.r.Known != nil && !v.r.Known(name):
		v.fail(n, "there is no capability %q", name)
	case v.r.Active != nil && !slices.Contains(v.r.Active, name):
		v.fail(n, "%q is not among the active capabilities: %s", name, list(v.r.Active))
	}
	switch {
	case ends && !last:
		v.fail(n, "%q ends the turn, and steps follow", name)
	case !ends && last && len(v.r.Terminal) > 0:
		v.fail(n, "the last step is %s, not %q", strings.Join(v.r.Terminal, " or "), name)
	}
}

func (v *planCheck) inputs(n int, s Step) {
	for _, ref := range s.Inputs {
		exists := v.r.Have != nil && v.r.Have.Has(ref.Type, ref.Key)
		if !exists && !v.made[ref] {
			v.fail(n, "its input %s neither exists nor is made by an earlier step", ref)
		}
	}
	if v.r.Needs == nil {
		return
	}
	if mode, types := v.r.Needs(s.Capability); len(types) > 0 {
		if err := Constrain(s, mode, types...); err != nil {
			v.fail(n, "%v", err)
		}
	}
}

func (v *planCheck) output(n int, s Step) {
	var makes []string
	if s.ExpectedOutput != "" {
		makes = append(makes, s.ExpectedOutput)
	}
	if v.r.Types != nil && s.ExpectedOutput != "" && !v.r.Types.Has(s.ExpectedOutput) {
		v.fail(n, "its output %q is no type of context; the types are %s", s.ExpectedOutput, list(v.r.Types.Names()))
	}
	if v.r.Provides != nil && (v.r.Known == nil || v.r.Known(s.Capability)) {
		all := v.r.Provides(s.Capability)
		if s.ExpectedOutput != "" && !slices.Contains(all, s.ExpectedOutput) {
			v.fail(n, "%q does not make a %s; it makes %s", s.Capability, s.ExpectedOutput, list(all))
		}
		makes = all
	}
	if len(makes) > 0 && s.ContextKey == "" {
		v.fail(n, "it makes a %s and has no context key", strings.Join(makes, " and a "))
	}
	for _, typ := range makes {
		v.made[state.ContextRef{Type: typ, Key: s.ContextKey}] = true
	}
}

// dependencies reports unknown dependencies and cycles.
func (v *planCheck) dependencies(p Plan) {
	for i, s := range p.Steps {
		for _, key := range s.DependsOn {
			if _, ok := v.keys[key]; !ok || key == "" {
				v.fail(i+1, "it depends on %q, which no step has as its context key", key)
			}
		}
	}
	done := make([]bool, len(p.Steps))
	waits := func(i int) bool {
		return done[i] || slices.ContainsFunc(p.Before(i), func(j int) bool { return !done[j] })
	}
	var names []string
	for i := 0; i < len(done); i++ {
		if !waits(i) {
			done[i], i = true, -1 // start again
		}
	}
	for i, s := range p.Steps {
		if !done[i] {
			names = append(names, fmt.Sprintf("%q", s.ResultKey(i)))
		}
	}
	if len(names) > 0 {
		v.fail(0, "steps wait for each other: %s", strings.Join(names, ", "))
	}
}

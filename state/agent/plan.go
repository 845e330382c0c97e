package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/weftrun/weft/state"
)

// Plan is a list of steps.
type Plan struct {
	Steps []Step `json:"steps"`
}

// Step is one step of a plan. All fields but Capability are optional.
type Step struct {
	// ContextKey is the key under which the step stores its output.
	ContextKey string `json:"context_key,omitempty"`
	Capability string `json:"capability,omitempty"`
	Objective  string `json:"task_objective,omitempty"`
	Success    string `json:"success_criteria,omitempty"`
	// ExpectedOutput is the type of context that the step provides; "" means none.
	ExpectedOutput string         `json:"expected_output,omitempty"`
	Parameters     map[string]any `json:"parameters,omitempty"` // scalars by name
	// Inputs are the contexts that the step reads, in order.
	Inputs InputList `json:"inputs,omitempty"`
	// DependsOn holds context keys of steps that must be done before this one, in addition to those
	// that provide its inputs. If any step has DependsOn, the plan is a graph: see [Plan.Before].
	DependsOn []string `json:"depends_on,omitempty"`
}

// Before returns the indexes of the steps that step i waits for, in ascending order. In a plan
// without DependsOn these are all steps before it. In a plan with DependsOn they are the steps that
// step i names there, and the earlier steps that provide its inputs. The last step, which ends the
// turn, waits for all others.
func (p Plan) Before(i int) (steps []int) {
	list := !slices.ContainsFunc(p.Steps, func(s Step) bool { return len(s.DependsOn) > 0 })
	for j := range p.Steps {
		if list && j < i || !list && p.waits(i, j) {
			steps = append(steps, j)
		}
	}
	return steps
}

func (p Plan) waits(i, j int) bool {
	s, on := p.Steps[i], p.Steps[j]
	switch {
	case on.ContextKey != "" && slices.Contains(s.DependsOn, on.ContextKey):
		return true
	case j < i && on.ContextKey != "" && slices.ContainsFunc(s.Inputs, func(in state.ContextRef) bool { return in.Key == on.ContextKey }):
		return true
	}
	return i == len(p.Steps)-1 && j != i
}

// ResultKey returns the key of the result of the step, whose index in the plan is i.
func (s *Step) ResultKey(i int) string {
	if s.ContextKey != "" {
		return s.ContextKey
	}
	return fmt.Sprintf("%d_%s", i, s.Capability)
}

// InputList is a list of references to contexts. Its JSON is a list of {TYPE: key}; an object with
// several types yields them sorted by type. nil and the empty list are equivalent.
type InputList []state.ContextRef

// MarshalJSON implements [json.Marshaler].
func (in InputList) MarshalJSON() ([]byte, error) {
	out := make([]map[string]string, len(in))
	for i, r := range in {
		out[i] = map[string]string{r.Type: r.Key}
	}
	return json.Marshal(out)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (in *InputList) UnmarshalJSON(data []byte) error {
	var items []map[string]string
	if err := json.Unmarshal(data, &items); err != nil {
		return fmt.Errorf("%w: %w", ErrInput, err)
	}
	var refs InputList
	for i, item := range items {
		if len(item) == 0 {
			return fmt.Errorf("%w: number %d names nothing", ErrInput, i+1)
		}
		for _, typ := range slices.Sorted(maps.Keys(item)) {
			if typ == "" || item[typ] == "" {
				return fmt.Errorf("%w: number %d is {%q: %q}", ErrInput, i+1, typ, item[typ])
			}
			refs = append(refs, state.ContextRef{Type: typ, Key: item[typ]})
		}
	}
	*in = refs
	return nil
}

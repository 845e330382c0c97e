package agent

import (
	"errors"
	"fmt"
	"slices"
)

// Mode is how many of the required types the inputs of a step must have.
type Mode string

// The modes.
const (
	Hard Mode = "hard" // all of them
	Soft Mode = "soft" // at least one
)

// ErrMode is returned when a mode is neither Hard nor Soft.
var ErrMode = errors.New("agent: the mode of constraints is hard or soft")

// Extract returns all inputs of a step, of any type, in the order of the plan. All inputs must
// exist, and their types must satisfy [Constrain]. The error joins all problems.
func (c *Contexts) Extract(step Step, mode Mode, types ...string) (all []Keyed[Context], err error) {
	errs := []error{Constrain(step, mode, types...)}
	for _, ref := range step.Inputs {
		k, err := c.get(ref)
		errs = append(errs, err)
		all = append(all, k)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return all, nil
}

// Constrain returns a [*ConstraintError] if the inputs of a step lack required types. If the mode
// is Hard, all types are required; if it is Soft, at least one is. Without types there is no
// constraint.
func Constrain(step Step, mode Mode, types ...string) error {
	if mode != Hard && mode != Soft {
		return fmt.Errorf("%w, not %q", ErrMode, mode)
	}
	var missing []string
	for _, typ := range types {
		if !step.Inputs.has(typ) {
			missing = append(missing, typ)
		}
	}
	if mode == Soft && len(missing) < len(types) || len(missing) == 0 {
		return nil
	}
	return &ConstraintError{mode, missing}
}

func (in InputList) has(typ string) bool {
	for _, ref := range in {
		if ref.Type == typ {
			return true
		}
	}
	return false
}

// Types returns the types of the inputs, each once, in the order of the plan.
func (in InputList) Types() (types []string) {
	for _, ref := range in {
		if !slices.Contains(types, ref.Type) {
			types = append(types, ref.Type)
		}
	}
	return types
}

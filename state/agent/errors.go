package agent

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weftrun/weft/state"
)

var (
	// ErrNotFound is returned when there is no context with the type and key: [NotFoundError].
	ErrNotFound = errors.New("agent: no such context")
	// ErrUnknownType is returned when a type of context was not registered: [UnknownTypeError].
	ErrUnknownType = errors.New("agent: unknown type of context")
	// ErrCorrupt is returned when a stored context does not fit its type: [CorruptError].
	ErrCorrupt = errors.New("agent: the context cannot be read")
	// ErrWrongType is returned when a context is of another Go type than the one that was
	// registered under its name.
	ErrWrongType = errors.New("agent: the context has another type than the registered one")
	// ErrNoTypes is given to [Manager.Warn] when a context is stored without a registry.
	ErrNoTypes = errors.New("agent: there is no registry of types; the context is stored unchecked")
	// ErrNoPlan is returned when a step is asked for and there is no plan.
	ErrNoPlan = errors.New("agent: there is no plan")
	// ErrStepIndex is returned when the current step is not in the plan: the router should
	// have ended the turn.
	ErrStepIndex = errors.New("agent: the current step is not in the plan")
	// ErrPlan is returned when a plan cannot be carried out: [PlanError].
	ErrPlan = errors.New("agent: the plan cannot be carried out")
	// ErrConstraint is returned when the inputs of a step lack types it needs: [ConstraintError].
	ErrConstraint = errors.New("agent: the inputs of the step lack a type")
	// ErrSettings is returned when settings are unknown or make no sense.
	ErrSettings = errors.New("agent: bad settings")
	// ErrConfig is given to [Manager.Warn], with its cause, when the configuration fails;
	// the built-in defaults stand in for it.
	ErrConfig = errors.New("agent: the settings could not be read; safe defaults are used")
	// ErrInput is returned when a list of inputs cannot be read.
	ErrInput = errors.New("agent: inputs are a list of {TYPE: key}")
	// ErrPath is returned when a context has no field at a path.
	ErrPath = errors.New("agent: the context has no such field")
	// ErrFileName is returned when contexts are to be saved to a file without a name.
	ErrFileName = errors.New("agent: a file of contexts needs a plain name")
)

// NotFoundError says which context is missing.
type NotFoundError struct {
	state.ContextRef
	Have []string // the keys that there are of this type
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("%v: %s; there are %s", ErrNotFound, e.ContextRef, list(e.Have))
}

// Is reports whether target is ErrNotFound.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// UnknownTypeError says which type is not registered.
type UnknownTypeError struct {
	Type  string
	Valid []string // the types that are
}

func (e *UnknownTypeError) Error() string {
	return fmt.Sprintf("%v: %q; the types are %s", ErrUnknownType, e.Type, list(e.Valid))
}

// Is reports whether target is ErrUnknownType.
func (e *UnknownTypeError) Is(target error) bool { return target == ErrUnknownType }

// CorruptError says which context does not fit its type, and why.
type CorruptError struct {
	state.ContextRef
	Err error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v: %s: %v", ErrCorrupt, e.ContextRef, e.Err)
}

// Is reports whether target is ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Unwrap returns why.
func (e *CorruptError) Unwrap() error { return e.Err }

// ConstraintError says which types are missing.
type ConstraintError struct {
	Mode    Mode
	Missing []string
}

func (e *ConstraintError) Error() string {
	need := "all of these are needed"
	if e.Mode == Soft {
		need = "one of these is needed"
	}
	return fmt.Sprintf("%v: %s: %s", ErrConstraint, need, list(e.Missing))
}

// Is reports whether target is ErrConstraint.
func (e *ConstraintError) Is(target error) bool { return target == ErrConstraint }

// PlanError holds every problem of a plan.
type PlanError struct{ Problems []PlanProblem }

// PlanProblem is one thing that is wrong with a plan.
type PlanProblem struct {
	Step int // counted from 1; 0 is the plan as a whole
	What string
}

func (e *PlanError) Error() string {
	var b strings.Builder
	b.WriteString(ErrPlan.Error() + ":")
	for _, p := range e.Problems {
		if p.Step > 0 {
			fmt.Fprintf(&b, "\n\tstep %d: %s", p.Step, p.What)
		} else {
			fmt.Fprintf(&b, "\n\t%s", p.What)
		}
	}
	return b.String()
}

// Is reports whether target is ErrPlan.
func (e *PlanError) Is(target error) bool { return target == ErrPlan }

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

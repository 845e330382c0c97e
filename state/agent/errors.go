package agent

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weftrun/weft/state"
)

var (
	// ErrNotFound is returned when no context has the type and key: see [NotFoundError].
	ErrNotFound = errors.New("agent: no such context")
	// ErrUnknownType is returned when a type of context is not registered: see [UnknownTypeError].
	ErrUnknownType = errors.New("agent: unknown type of context")
	// ErrCorrupt is returned when a stored context does not match its type: see [CorruptError].
	ErrCorrupt = errors.New("agent: the context cannot be read")
	// ErrWrongType is returned when the Go type of a context differs from the one registered under
	// its name.
	ErrWrongType = errors.New("agent: the context has another type than the registered one")
	// ErrNoTypes is passed to [StateManager.Warn] when a context is stored without a registry.
	ErrNoTypes = errors.New("agent: there is no registry of types; the context is stored unchecked")
	// ErrNoPlan is returned when a step is requested without a plan.
	ErrNoPlan = errors.New("agent: there is no plan")
	// ErrStepIndex is returned when the plan has no step with the current index. The router should
	// have ended the turn before.
	ErrStepIndex = errors.New("agent: the current step is not in the plan")
	// ErrPlan is returned when a plan is invalid: see [PlanError].
	ErrPlan = errors.New("agent: the plan cannot be carried out")
	// ErrConstraint is returned when the inputs of a step lack required types: see
	// [ConstraintError].
	ErrConstraint = errors.New("agent: the inputs of the step lack a type")
	// ErrSettings is returned when settings are unknown or invalid.
	ErrSettings = errors.New("agent: bad settings")
	// ErrConfig is passed to [StateManager.Warn], with its cause, when the configuration fails. The
	// built-in defaults replace the configuration.
	ErrConfig = errors.New("agent: the settings could not be read; safe defaults are used")
	// ErrInput is returned when a list of inputs cannot be decoded.
	ErrInput = errors.New("agent: inputs are a list of {TYPE: key}")
	// ErrPath is returned when a context has no field at a path.
	ErrPath = errors.New("agent: the context has no such field")
	// ErrFileName is returned when the file for saved contexts has no plain name.
	ErrFileName = errors.New("agent: a file of contexts needs a plain name")
)

// NotFoundError is the error for a missing context.
type NotFoundError struct {
	state.ContextRef
	Have []string // the existing keys of this type
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("%v: %s; there are %s", ErrNotFound, e.ContextRef, list(e.Have))
}

// Is reports whether target is ErrNotFound.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// UnknownTypeError is the error for a type that is not registered.
type UnknownTypeError struct {
	Type  string
	Valid []string // the registered types
}

func (e *UnknownTypeError) Error() string {
	return fmt.Sprintf("%v: %q; the types are %s", ErrUnknownType, e.Type, list(e.Valid))
}

// Is reports whether target is ErrUnknownType.
func (e *UnknownTypeError) Is(target error) bool { return target == ErrUnknownType }

// CorruptError is the error for a context that does not match its type.
type CorruptError struct {
	state.ContextRef
	Err error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v: %s: %v", ErrCorrupt, e.ContextRef, e.Err)
}

// Is reports whether target is ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.Err }

// ConstraintError is the error for inputs that lack required types.
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

// PlanProblem is one problem of a plan.
type PlanProblem struct {
	Step int // counted from 1; 0 means the whole plan
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

package tasks

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound is returned when there is no task of an id.
	ErrNotFound = errors.New("tasks: not found")
	// ErrExists is returned when a task is created with an id that is taken.
	ErrExists = errors.New("tasks: a task of this id exists")
	// ErrTask is returned when a task cannot be one: without an id, with a status of its own,
	// with a negative timeout, or with values that are no JSON.
	ErrTask = errors.New("tasks: bad task")
	// ErrTransition is returned when a task may not go from its status to another. Nothing
	// was written. errors.As with *TransitionError gives both.
	ErrTransition = errors.New("tasks: no such transition")
)

// TransitionError says what a task is and what it may not become. It is an ErrTransition.
type TransitionError struct {
	ID       string
	From, To Status
}

func (e *TransitionError) Error() string {
	return fmt.Sprintf("%v: task %.200q from %s to %s", ErrTransition, e.ID, e.From, e.To)
}

// Is makes errors.Is(err, ErrTransition) true.
func (e *TransitionError) Is(target error) bool { return target == ErrTransition }

package tasks

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound is returned when there is no task with an id.
	ErrNotFound = errors.New("tasks: not found")
	// ErrExists is returned when a task is created with the id of another one.
	ErrExists = errors.New("tasks: a task of this id exists")
	// ErrTask is returned for an invalid task: without an id, with a field that the board sets,
	// with a negative timeout, or with a value that is not JSON.
	ErrTask = errors.New("tasks: bad task")
	// ErrTransition is returned when the status of a task does not allow the change. Nothing was
	// written. errors.As with *TransitionError returns both statuses.
	ErrTransition = errors.New("tasks: no such transition")
)

// TransitionError has the status of a task and the status that was rejected. It is an
// ErrTransition.
type TransitionError struct {
	ID       string
	From, To Status
}

func (e *TransitionError) Error() string {
	return fmt.Sprintf("%v: task %.200q from %s to %s", ErrTransition, e.ID, e.From, e.To)
}

// Is makes errors.Is(err, ErrTransition) true.
func (e *TransitionError) Is(target error) bool { return target == ErrTransition }

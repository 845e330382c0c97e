package thread

import (
	"errors"
	"fmt"
)

var (
	// ErrThreadNotFound is returned when a thread has no configuration yet.
	ErrThreadNotFound = errors.New("thread: not found; call SetConfig for the thread first")
	// ErrThreadID is returned when a thread id is empty. The store was not called.
	ErrThreadID = errors.New("thread: empty thread id")
	// ErrConfig is returned when a configuration is nil or not JSON, or when its enabledTools is
	// not a list of names.
	ErrConfig = errors.New("thread: bad configuration")
	// ErrState is returned when a state is nil or not JSON, or does not match its type.
	ErrState = errors.New("thread: bad state")
	// ErrTools is returned when EnableTools or DisableTools is called without tools.
	ErrTools = errors.New("thread: no tools named")
	// ErrConflict is returned when a state was made from an older version than the stored one.
	// Nothing was written.
	ErrConflict = errors.New("thread: the state was changed by another writer")
	// ErrStateSave is returned when the first state of a thread, or the state that a run
	// edited, could not be saved. It wraps the cause.
	ErrStateSave = errors.New("thread: the state of the agent could not be saved")
	// ErrOptions is returned when a manager has no repository or an unknown strategy.
	ErrOptions = errors.New("thread: bad options")
	// ErrEnded is returned by a session whose run has ended.
	ErrEnded = errors.New("thread: the session has ended")
)

// ConflictError has the version of the stored state. It is an ErrConflict.
type ConflictError struct {
	Thread        string
	Base, Version uint64 // the version before the rejected state, and the stored one; 0 for none
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%v: thread %.200q: version is %d, not %d", ErrConflict, e.Thread, e.Version, e.Base)
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

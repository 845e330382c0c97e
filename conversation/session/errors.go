package session

import (
	"errors"
	"fmt"
)

var (
	// ErrConfig is returned for a configuration without a store, or with invalid values.
	ErrConfig = errors.New("session: bad configuration")
	// ErrNotFound is returned when there is no session with an id.
	ErrNotFound = errors.New("session: not found")
	// ErrEnded is returned for a session that has ended or whose deadline has passed. It is an
	// ErrNotFound.
	ErrEnded = fmt.Errorf("%w: it has ended", ErrNotFound)
	// ErrExists is returned when a session is created with the id of an active one.
	ErrExists = errors.New("session: exists already")
	// ErrConflict is returned by Turn when another worker appended to the session meanwhile.
	// Nothing was appended.
	ErrConflict = errors.New("session: changed by another worker")
	// ErrDuplicate is returned when a message has the id of an earlier one: a log is never
	// overwritten. Nothing was appended.
	ErrDuplicate = errors.New("session: a message with this id is in the log")
	// ErrLimit is returned by Page for a limit below 1.
	ErrLimit = errors.New("session: the limit must be at least 1")
	// ErrPanic is logged when an engine panics.
	ErrPanic = errors.New("session: panic")
)

func place(id string, err error) error { return fmt.Errorf("session %q: %w", id, err) }

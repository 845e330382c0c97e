package conversation

import "errors"

var (
	// ErrConfig is returned when the configuration lacks a repository, a store or a socket.
	ErrConfig = errors.New("conversation: bad configuration")
	// ErrInvalidLimit is returned by Options.Check for a negative limit.
	ErrInvalidLimit = errors.New("conversation: the limit is negative")
	// ErrCursor is returned for a malformed Cursor, and for Options with two cursors.
	ErrCursor = errors.New("conversation: bad cursor")
	// ErrPanic is returned by Exchange when the answer function panics. A panic of a socket is
	// logged.
	ErrPanic = errors.New("conversation: panic")
)

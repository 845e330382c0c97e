package conversation

import "errors"

var (
	// ErrConfig is returned when a Manager or a Repository is made of nothing.
	ErrConfig = errors.New("conversation: bad configuration")
	// ErrInvalidLimit is returned by Options.Check for a negative limit.
	ErrInvalidLimit = errors.New("conversation: the limit is negative")
	// ErrCursor is returned for a text that is no Cursor, and for Options with two cursors.
	ErrCursor = errors.New("conversation: bad cursor")
	// ErrPanic is returned by Exchange when the function that answers panicked. It is logged
	// where a socket did.
	ErrPanic = errors.New("conversation: panic")
)

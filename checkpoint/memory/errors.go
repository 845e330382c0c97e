package memory

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound is returned when there is no item under a key, or no longer.
	ErrNotFound = errors.New("memory: not found")
	// ErrConflict is returned when an item does not have the version that Options.If
	// wants. Nothing was written.
	ErrConflict = errors.New("memory: the item was changed by another writer")
	// ErrNamespace is returned when a namespace, a prefix or a suffix cannot be one.
	ErrNamespace = errors.New("memory: bad namespace")
	// ErrKey is returned when a key is empty, too long or no text.
	ErrKey = errors.New("memory: bad key")
	// ErrValue is returned when a value is not JSON that every store can keep.
	ErrValue = errors.New("memory: bad value")
	// ErrTooLarge is returned when a value or a batch is larger than it may be.
	ErrTooLarge = errors.New("memory: too large")
	// ErrRequest is returned when a call asks for what no store can do: a negative time, a
	// key twice in a batch, an Index without an embedder.
	ErrRequest = errors.New("memory: bad request")
	// ErrQuery is returned when a query cannot be understood: an unknown operator, a bad
	// path, a negative limit.
	ErrQuery = errors.New("memory: bad query")
	// ErrCursor is returned when a cursor is not of this query. It is an ErrQuery.
	ErrCursor = fmt.Errorf("%w: bad cursor", ErrQuery)
	// ErrTooMany is returned when a search would have to look at more than MaxScan items,
	// or a listing at more namespaces, before it could answer.
	ErrTooMany = errors.New("memory: too many to look through")
)

// ConflictError says which version an item really has. It is an ErrConflict.
type ConflictError struct {
	Namespace     []string
	Key           string
	Want, Version uint64 // 0 means that there is none
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%v: namespace %q, key %q: version is %d, not %d", ErrConflict, e.Namespace, e.Key, e.Version, e.Want)
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

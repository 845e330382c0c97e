package memory

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound is returned when there is no item under a key, or it has expired.
	ErrNotFound = errors.New("memory: not found")
	// ErrConflict is returned when an item does not have the version that Options.If
	// wants. Nothing was written.
	ErrConflict = errors.New("memory: the item was changed by another writer")
	// ErrNamespace is returned when a namespace, a prefix or a suffix is not valid.
	ErrNamespace = errors.New("memory: invalid namespace")
	// ErrKey is returned when a key is empty, too long or not text.
	ErrKey = errors.New("memory: invalid key")
	// ErrValue is returned when a value is not JSON that every store can store.
	ErrValue = errors.New("memory: invalid value")
	// ErrTooLarge is returned when a value or a batch is larger than its limit.
	ErrTooLarge = errors.New("memory: too large")
	// ErrRequest is returned when a request is not valid for any store: a negative time, a key
	// twice in a batch, an Index without an embedder.
	ErrRequest = errors.New("memory: invalid request")
	// ErrQuery is returned when a query is not valid: an unknown operator, an invalid path, a
	// negative limit.
	ErrQuery = errors.New("memory: invalid query")
	// ErrCursor is returned when a cursor is not of this query. It is an ErrQuery.
	ErrCursor = fmt.Errorf("%w: invalid cursor", ErrQuery)
	// ErrTooMany is returned when a search would have to read more than MaxScan items, or a
	// listing more than MaxScan namespaces.
	ErrTooMany = errors.New("memory: too many items to read")
)

// ConflictError has the version that a caller expected and the actual one. It is an ErrConflict.
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

package document

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound is returned when there is no document with an id.
	ErrNotFound = errors.New("document: not found")
	// ErrConflict is returned when a document does not have the version that Change.If
	// wants. Nothing was written.
	ErrConflict = errors.New("document: changed by another writer")
	// ErrName is returned when the name of a collection or a partition, an id or an order is not
	// valid.
	ErrName = errors.New("document: invalid name")
	// ErrValue is returned when a value is not JSON that every store can store.
	ErrValue = errors.New("document: invalid value")
	// ErrTooLarge is returned when a value or a batch is larger than its limit.
	ErrTooLarge = errors.New("document: too large")
	// ErrRequest is returned when a batch is not valid for any store: it has an id twice.
	ErrRequest = errors.New("document: invalid request")
	// ErrQuery is returned when a query is not valid: an unknown operator, an empty path, a
	// negative skip.
	ErrQuery = errors.New("document: invalid query")
	// ErrInvalidLimit is returned when a limit is negative. It is an ErrQuery.
	ErrInvalidLimit = fmt.Errorf("%w: the limit is negative", ErrQuery)
)

// ConflictError has the version that a caller expected and the actual one. It is an ErrConflict.
type ConflictError struct {
	Place
	ID            string
	Want, Version uint64 // 0 means that there is none
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%v: %v, id %.200q: version is %d, not %d", ErrConflict, e.Place, e.ID, e.Version, e.Want)
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

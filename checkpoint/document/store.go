package document

import (
	"context"
	"encoding/json"
	"fmt"
)

// Store keeps documents. It is safe for concurrent use. Every method checks what it is
// given before anything is sent, returns errors that name the place, and shares no memory
// with its caller. What can go wrong with the storage itself are the errors of package
// checkpoint: ErrUnavailable, ErrBusy, ErrFull, ErrUnknownOutcome, ErrClosed.
type Store interface {
	// Get returns a document, or ErrNotFound.
	Get(ctx context.Context, p Place, id string) (Doc, error)
	// Set makes one change, and returns the document as it now is.
	Set(ctx context.Context, p Place, c Change) (Doc, error)
	// Delete removes a document. One that is not there is no error.
	Delete(ctx context.Context, p Place, id string) error
	// Batch makes all changes in a partition or none. It returns a document for each, the
	// zero Doc where it was deleted. An id comes once at most.
	Batch(ctx context.Context, p Place, changes []Change) ([]Doc, error)
	// Query returns the documents that q selects, in its order.
	Query(ctx context.Context, q Query) ([]Doc, error)
	// Clear removes all documents of a partition in one piece, or with Partition "" those of
	// the whole collection, partition by partition.
	Clear(ctx context.Context, p Place) error
}

// Place is where documents lie: a partition of a collection. What one batch writes lies in
// one partition, for instance all of one thread. Neither has to be made before it is used.
type Place struct{ Collection, Partition string }

// At returns a partition of a collection.
func At(collection, partition string) Place { return Place{collection, partition} }

func (p Place) String() string {
	return fmt.Sprintf("collection %.200q, partition %.200q", p.Collection, p.Partition)
}

// Doc is a document with its address and what the store knows of it.
type Doc struct {
	Place
	ID    string
	Value json.RawMessage // as it was set, without insignificant white space
	// Order sorts the documents of a partition, by its bytes; the store has an index on it.
	// Documents of one Order are in the order of Seq.
	Order string
	// Seq grows with every document that enters the partition; a document keeps its own
	// until it is deleted.
	Seq uint64
	// Version is greater than all that this id had before, also after a deletion.
	Version uint64
}

// Change is one document that is set or deleted.
type Change struct {
	ID    string
	Value json.RawMessage // nil deletes
	Order string          // see Doc.Order; "" leaves the order to the sequence
	// If, if it is not nil, is the version that the document must have, 0 for none at all.
	// Otherwise nothing is written and the error is a *ConflictError.
	If *uint64
}

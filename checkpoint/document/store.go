package document

import (
	"context"
	"encoding/json"
	"fmt"
)

// Store stores documents. It is safe for concurrent use. Every method checks its arguments before
// anything is sent, returns errors that name the place, and shares no memory with its caller.
// Failures of the storage are the errors of package checkpoint: ErrUnavailable, ErrBusy, ErrFull,
// ErrUnknownOutcome, ErrClosed.
type Store interface {
	// Get returns a document, or ErrNotFound.
	Get(ctx context.Context, p Place, id string) (Doc, error)
	// Set makes one change, and returns the document as it now is.
	Set(ctx context.Context, p Place, c Change) (Doc, error)
	// Delete removes a document. A missing document is no error.
	Delete(ctx context.Context, p Place, id string) error
	// Batch makes changes in a partition atomically. It returns a document for each change, the
	// zero Doc for a deletion. An id must not appear twice. If the reply of the storage was lost,
	// another writer may have replaced a document before the batch was found to be made: then that
	// document comes as it now is, with Version 0.
	Batch(ctx context.Context, p Place, changes []Change) ([]Doc, error)
	// Query returns the documents that q selects, in its order.
	Query(ctx context.Context, q Query) ([]Doc, error)
	// Count returns the number of documents that q selects. It ignores Sort, Reverse, Skip and
	// Limit; an After is an ErrQuery. Without Where it reads no document.
	Count(ctx context.Context, q Query) (int, error)
	// Clear removes all documents of a partition atomically. With Partition "" it removes those
	// of the whole collection, one partition after the other.
	Clear(ctx context.Context, p Place) error
}

// Place is a partition of a collection. One batch writes to one partition, for instance that of a
// thread. Collections and partitions need not be created before use.
type Place struct{ Collection, Partition string }

// At returns a partition of a collection.
func At(collection, partition string) Place { return Place{collection, partition} }

func (p Place) String() string {
	return fmt.Sprintf("collection %.200q, partition %.200q", p.Collection, p.Partition)
}

// Doc is a document with its place, its id and its metadata.
type Doc struct {
	Place
	ID    string
	Value json.RawMessage // as it was set, without insignificant white space
	// Order sorts the documents of a partition, by its bytes; the store has an index on it.
	// Documents of one Order are in the order of Seq.
	Order string
	// Seq increases with every document that is added to the partition. A document has the same
	// Seq until it is deleted.
	Seq uint64
	// Version is greater than all that this id had before, also after a deletion.
	Version uint64
}

// Change is one document that is set or deleted.
type Change struct {
	ID    string
	Value json.RawMessage // nil deletes
	Order string          // see Doc.Order; documents with "" are in the order of Seq
	// If, if it is not nil, is the version that the document must have, 0 for none at all.
	// Otherwise nothing is written and the error is a *ConflictError.
	If *uint64
}

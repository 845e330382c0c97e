package document

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
)

// Table is the interface of a backend: it stores documents in order and writes them atomically.
// [Over] makes a Store of it, which checks, compares and sorts. A table need not know JSON.
type Table interface {
	// Write makes changes to a partition atomically. It returns a document for each change, the
	// zero Doc for a deletion, or a *ConflictError. See [Write.Plan], also for a repeated write.
	Write(ctx context.Context, w Write) ([]Doc, error)
	// Read returns a document, or false.
	Read(ctx context.Context, p Place, id string) (Doc, bool, error)
	// Scan returns the next documents of a range in ascending order of partition, Order and
	// Seq, or in descending order of the three. Names are compared by their bytes. more is true
	// if there may be others. A page may have fewer documents than the limit, to bound its
	// bytes, but only the last page is empty. A page within one partition is one round trip.
	Scan(ctx context.Context, s Scan) (docs []Doc, more bool, err error)
	// Count returns the number of documents in the range of a scan that has no After. The time of
	// a count within one partition does not depend on the size of the values.
	Count(ctx context.Context, s Scan) (int, error)
	// Clear removes a partition, or with Partition "" all of a collection.
	Clear(ctx context.Context, p Place) error
}

// Write is a change to one partition.
type Write struct {
	Place
	// Name identifies this write. A table that repeats a request after a lost reply uses it to
	// find that the write was already made.
	Name    string
	Changes []Change
}

// Scan asks for documents of a partition, or with Partition "" of a whole collection.
type Scan struct {
	Place
	From, Until string // the Order is at least From, and less than Until unless that is ""
	Reverse     bool
	After       *Position // only documents after it, in the direction of the scan; nil means all
	Limit       int
}

// Position is a place in the order of documents.
type Position struct {
	Partition, Order string
	Seq              uint64
}

// Position returns the position of a document.
func (d Doc) Position() Position { return Position{d.Partition, d.Order, d.Seq} }

// Compare orders positions as a scan does.
func (a Position) Compare(b Position) int {
	return cmp.Or(strings.Compare(a.Partition, b.Partition), strings.Compare(a.Order, b.Order), cmp.Compare(a.Seq, b.Seq))
}

// Has reports whether an Order is in the range of the scan.
func (s Scan) Has(order string) bool {
	return order >= s.From && (s.Until == "" || order < s.Until)
}

// MaxPage is the approximate limit of a page of a Scan, in bytes of values.
const MaxPage = 8 << 20

// Stored is a document in a table.
type Stored struct {
	Doc
	Write string // the name of the write that stored it
}

// Plan returns the documents after a write. current has the stored document of each change; a
// missing one is the zero Stored. The caller sets the versions of the new documents, and the Seq of
// those without one. It writes them unless done is true: then this write was made before, and the
// documents are those that are there now. A document of another write has Version 0 then, so that
// no caller takes its version for that of its own document.
func (w Write) Plan(current []Stored) (docs []Doc, done bool, err error) {
	docs = make([]Doc, len(w.Changes))
	for _, c := range current {
		done = done || c.Version != 0 && c.Write == w.Name
	}
	for i, c := range w.Changes {
		old := current[i].Doc
		switch {
		case done:
			if c.Value != nil {
				docs[i] = old
			}
			if current[i].Write != w.Name {
				docs[i].Version = 0
			}
		case c.If != nil && *c.If != old.Version:
			return nil, false, &ConflictError{Place: w.Place, ID: c.ID, Want: *c.If, Version: old.Version}
		case c.Value != nil:
			docs[i] = Doc{Place: w.Place, ID: c.ID, Value: json.RawMessage(c.Value), Order: c.Order, Seq: old.Seq}
		}
	}
	return docs, done, nil
}

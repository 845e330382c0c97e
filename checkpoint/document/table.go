package document

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
)

// Table is what a backend is asked for: documents in order, written in one piece. [Over]
// makes a Store of it, and checks, compares and sorts: a table need not know JSON.
type Table interface {
	// Write makes all changes to a partition or none. It returns a document for each, the zero
	// Doc for a deletion, or a *ConflictError. See [Write.Plan].
	Write(ctx context.Context, w Write) ([]Doc, error)
	// Read returns a document, or false.
	Read(ctx context.Context, p Place, id string) (Doc, bool, error)
	// Scan returns the next documents of a range in ascending order of partition, Order and
	// Seq, or in descending order of the three. Names are compared by their bytes. more says
	// that there may be others; a page may have fewer than the limit, to bound its bytes,
	// but only the last one has none. A page within one partition is one round trip.
	Scan(ctx context.Context, s Scan) (docs []Doc, more bool, err error)
	// Clear removes a partition, or with Partition "" all of a collection.
	Clear(ctx context.Context, p Place) error
}

// Write is a change to one partition.
type Write struct {
	Place
	// Name is of this write alone. A table that asks its server again, since a reply was
	// lost, finds by it that its work was done.
	Name    string
	Changes []Change
}

// Scan asks for documents of a partition, or with Partition "" of a whole collection.
type Scan struct {
	Place
	From, Until string // the Order is at least From, and less than Until unless that is ""
	Reverse     bool
	After       *Position // only what comes after it, in the direction of the scan; nil means all
	Limit       int
}

// Position is a place in the order of documents.
type Position struct {
	Partition, Order string
	Seq              uint64
}

// Position returns where a document stands.
func (d Doc) Position() Position { return Position{d.Partition, d.Order, d.Seq} }

// Compare orders positions as a scan does.
func (a Position) Compare(b Position) int {
	return cmp.Or(strings.Compare(a.Partition, b.Partition), strings.Compare(a.Order, b.Order), cmp.Compare(a.Seq, b.Seq))
}

// Has reports whether an Order is in the range of the scan.
func (s Scan) Has(order string) bool {
	return order >= s.From && (s.Until == "" || order < s.Until)
}

// MaxPage is about how many bytes of values a page of a Scan should have at most.
const MaxPage = 8 << 20

// Stored is a document as it lies in a table.
type Stored struct {
	Doc
	Write string // the name of the write that put it
}

// Plan says what becomes of the documents of a write, given those that lie there, each in
// the place of its change; one that is not there is the zero Stored. The caller gives the
// new documents their versions, and those without a Seq one, and writes them unless done says
// that this very write was made before.
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
		case c.If != nil && *c.If != old.Version:
			return nil, false, &ConflictError{Place: w.Place, ID: c.ID, Want: *c.If, Version: old.Version}
		case c.Value != nil:
			docs[i] = Doc{Place: w.Place, ID: c.ID, Value: json.RawMessage(c.Value), Order: c.Order, Seq: old.Seq}
		}
	}
	return docs, done, nil
}

package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
)

// An index finds records by terms, such as a status or a value of the metadata. The entries of a
// record are documents of the same partition, one for each term. A batch writes them together with
// the record, so no process can die between the two.
//
// An entry has the id "~TERM/ID" and the order "~TERM/ORDER". The order of a record is a time in
// hexadecimal and its id, so all entries are behind the records.
const (
	entryMark = "~"
	entryEnd  = "\x7f"   // behind the orders of all entries
	indexID   = "~index" // of the document that names the index of the records
)

// term returns the name of a term that has these parts.
func term(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(p), p) // a hash takes everything
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// recordOrder is the order of an indexed record: by the time of its creation, and then by id.
func recordOrder(at time.Time, id string) string { return document.AtTime(at) + id }

// entryRange selects the entries of a term, or all records for "".
func (s records[T]) entryRange(term string) document.Query {
	q := document.Query{Place: s.place}
	if q.Until = entryMark; term != "" {
		q.From, q.Until = entryMark+term+"/", entryMark+term+"0" // "0" follows "/"
	}
	return q
}

// entries returns the changes of a record's entries. Entries that stay are not written again.
func (s records[T]) entries(id, order string, before, after []string) (changes []document.Change) {
	for _, t := range before {
		if !slices.Contains(after, t) {
			changes = append(changes, document.Change{ID: entryMark + t + "/" + id})
		}
	}
	for _, t := range after {
		if !slices.Contains(before, t) {
			changes = append(changes, document.Change{ID: entryMark + t + "/" + id, Order: entryMark + t + "/" + order, Value: emptyEntry})
		}
	}
	return changes
}

var emptyEntry = []byte("{}")

// termsOf returns the terms of a record, each once.
func (s records[T]) termsOf(r *T) []string {
	if s.terms == nil {
		return nil
	}
	list := s.terms(r)
	slices.Sort(list)
	return slices.Compact(list)
}

// write stores a record with its entries, if the document still has the version.
func (s records[T]) write(ctx context.Context, id, order string, record *T, version uint64, before []string) error {
	value, err := encode(record)
	if err != nil {
		return err
	}
	changes := append(s.entries(id, order, before, s.termsOf(record)), document.Change{ID: id, Value: value, Order: order, If: &version})
	_, err = s.docs.Batch(ctx, s.place, changes)
	return err
}

// delete removes a record with its entries.
func (s records[T]) delete(ctx context.Context, id string) error {
	for {
		r, found, err := s.get(ctx, id)
		if err != nil || !found {
			return err
		}
		changes := append(s.entries(id, "", s.termsOf(&r.record), nil), document.Change{ID: id, If: &r.doc.Version})
		if _, err = s.docs.Batch(ctx, s.place, changes); !errors.Is(err, document.ErrConflict) {
			return err
		}
	}
}

// loadAtOnce is how many records are read at the same time.
const loadAtOnce = 16

// load returns the records of ids in their order. Those that do not exist are left out.
func (s records[T]) load(ctx context.Context, ids []string) (list []stored[T], err error) {
	type loaded struct {
		record stored[T]
		found  bool
		err    error
	}
	all := make([]loaded, len(ids))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(loadAtOnce, len(ids)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(ids); i = int(next.Add(1)) - 1 {
				r := &all[i]
				r.record, r.found, r.err = s.get(ctx, ids[i])
			}
		})
	}
	wg.Wait()
	for _, r := range all {
		if r.err != nil {
			return nil, r.err
		}
		if r.found {
			list = append(list, r.record)
		}
	}
	return list, nil
}

// withTerm yields the records that have a term, or all with "", until yield returns false. They are
// in the order of creation or the reverse of it. It leaves out the first skip of them.
func (s records[T]) withTerm(ctx context.Context, term string, reverse bool, skip, page int, yield func(stored[T]) (bool, error)) error {
	q := s.entryRange(term)
	q.Reverse, q.Skip, q.Limit = reverse, skip, new(max(1, min(page, scanPage)))
	for {
		docs, err := s.docs.Query(ctx, q)
		if err != nil {
			return err
		}
		list, err := s.loadEntries(ctx, term, docs)
		for i := 0; i < len(list) && err == nil; i++ {
			var more bool
			if more, err = yield(list[i]); err == nil && !more {
				return nil
			}
		}
		if err != nil || len(docs) < *q.Limit {
			return err
		}
		q.After, q.Skip = new(docs[len(docs)-1].Position()), 0
	}
}

// loadEntries returns the records of documents: of entries of a term, or with "" of the records.
func (s records[T]) loadEntries(ctx context.Context, term string, docs []document.Doc) (list []stored[T], err error) {
	if term != "" {
		ids := make([]string, len(docs))
		for i, d := range docs {
			_, ids[i], _ = strings.Cut(d.ID, "/")
		}
		return s.load(ctx, ids)
	}
	for _, d := range docs {
		r, err := s.decode(d)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// count returns how many records have a term, or with "" how many there are.
func (s records[T]) count(ctx context.Context, term string) (int, error) {
	return s.docs.Count(ctx, s.entryRange(term))
}

// rarest returns the term that the fewest records have; "" if there is none.
func (s records[T]) rarest(ctx context.Context, terms []string) (rarest string, err error) {
	least := 0
	for i, t := range terms {
		if len(terms) == 1 {
			return t, nil
		}
		n, err := s.count(ctx, t)
		if err != nil {
			return "", err
		}
		if i == 0 || n < least {
			rarest, least = t, n
		}
	}
	return rarest, nil
}

// indexVersion names the terms of the records. Other terms need another mark of their entries.
const indexVersion = `{"version":1}`

// index makes the index of records that an earlier version has stored. It may run in several
// processes at once, and again after one that died.
func (s records[T]) index(ctx context.Context) error {
	d, err := s.docs.Get(ctx, s.place, indexID)
	switch {
	case err == nil && string(d.Value) != indexVersion:
		return fmt.Errorf("%w: the index of %v is of a later version: %.100s", ErrConfig, s.place, d.Value)
	case err == nil || !errors.Is(err, document.ErrNotFound):
		return err
	}
	err = s.withTerm(ctx, "", false, 0, scanPage, func(r stored[T]) (bool, error) {
		order := r.doc.Order
		if !strings.HasSuffix(order, r.doc.ID) {
			order += r.doc.ID
		}
		err := s.write(ctx, r.doc.ID, order, &r.record, r.doc.Version, nil)
		return true, ignoreConflict(err) // another server has written it, with its entries
	})
	if err != nil {
		return err
	}
	_, err = s.docs.Set(ctx, s.place, document.Change{ID: indexID, Value: []byte(indexVersion), Order: entryEnd})
	return err
}

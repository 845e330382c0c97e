package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
)

// records stores values of one type as documents, in the order of their creation.
type records[T any] struct {
	docs  document.Store
	place document.Place
	terms func(r *T) []string // of the index; nil if there is none
}

func newRecords[T any](docs document.Store, collection string) records[T] {
	return records[T]{docs: docs, place: document.At(collection, "all")}
}

// stored is a record with its document.
type stored[T any] struct {
	record T
	doc    document.Doc
}

func (s records[T]) decode(d document.Doc) (stored[T], error) {
	r := stored[T]{doc: d}
	if err := json.Unmarshal(d.Value, &r.record); err != nil {
		return r, fmt.Errorf("server: record %s of %s: %w", d.ID, d.Place, err)
	}
	return r, nil
}

// get returns a record; found is false if there is none.
func (s records[T]) get(ctx context.Context, id string) (r stored[T], found bool, err error) {
	d, err := s.docs.Get(ctx, s.place, id)
	if errors.Is(err, document.ErrNotFound) {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	r, err = s.decode(d)
	return r, err == nil, err
}

// create stores a new record; created is false if the id exists.
func (s records[T]) create(ctx context.Context, id string, record T, at time.Time) (created bool, err error) {
	order := document.AtTime(at)
	if s.terms != nil {
		order = recordOrder(at, id)
	}
	err = s.write(ctx, id, order, &record, 0, nil)
	if errors.Is(err, document.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

// change changes a record, and begins again if another writer was first. change returns an error
// to leave the record as it is. found is false if there is no record.
func (s records[T]) change(ctx context.Context, id string, change func(r *T) error) (record T, found bool, err error) {
	for {
		r, found, err := s.get(ctx, id)
		if err != nil || !found {
			return r.record, found, err
		}
		before := s.termsOf(&r.record)
		if err := change(&r.record); err != nil {
			return r.record, true, err
		}
		err = s.write(ctx, id, r.doc.Order, &r.record, r.doc.Version, before)
		if !errors.Is(err, document.ErrConflict) {
			return r.record, true, err
		}
	}
}

// search selects records.
type search[T any] struct {
	match func(r *T) bool
	// terms are terms of the index that all records which match have. exact is true if all records
	// with the first of them match, or without terms all records.
	terms []string
	exact bool
	// ids, if there are any, are the only records to look at.
	ids           []string
	sort          func(r *T) string // the key of the order; nil means the order of creation
	ascending     bool
	offset, limit int
}

// scanPage is the number of records that are read at once.
const scanPage = 500

// find returns the records of a page, and the number of all that match.
func (s records[T]) find(ctx context.Context, q search[T]) (list []T, total int, err error) {
	if q.exact && q.sort == nil && len(q.ids) == 0 {
		return s.page(ctx, q)
	}
	var sorted []T
	err = s.candidates(ctx, q, func(r stored[T]) error {
		if !q.match(&r.record) {
			return nil
		}
		switch {
		case q.sort != nil:
			sorted = append(sorted, r.record)
		case total >= q.offset && total-q.offset < q.limit:
			list = append(list, r.record)
		}
		total++
		return nil
	})
	if err != nil || q.sort == nil {
		return list, total, err
	}
	slices.SortStableFunc(sorted, func(a, b T) int {
		if !q.ascending {
			a, b = b, a
		}
		return cmp.Compare(q.sort(&a), q.sort(&b))
	})
	sorted = sorted[min(q.offset, len(sorted)):]
	return sorted[:min(q.limit, len(sorted))], total, nil
}

// page returns a page of the records with a term, and counts them without reading them.
func (s records[T]) page(ctx context.Context, q search[T]) (list []T, total int, err error) {
	term := ""
	if len(q.terms) > 0 {
		term = q.terms[0]
	}
	if total, err = s.count(ctx, term); err != nil || q.limit == 0 {
		return nil, total, err
	}
	err = s.withTerm(ctx, term, !q.ascending, q.offset, q.limit, func(r stored[T]) (bool, error) {
		if q.match(&r.record) { // else it was changed since its entry was read
			list = append(list, r.record)
		}
		return len(list) < q.limit, nil
	})
	return list, total, err
}

// candidates yields the records that may match, in the order of creation or the reverse of it.
func (s records[T]) candidates(ctx context.Context, q search[T], yield func(stored[T]) error) error {
	if len(q.ids) == 0 {
		term, err := s.rarest(ctx, q.terms)
		if err != nil {
			return err
		}
		return s.withTerm(ctx, term, !q.ascending, 0, scanPage, func(r stored[T]) (bool, error) { return true, yield(r) })
	}
	ids := slices.Sorted(slices.Values(q.ids))
	list, err := s.load(ctx, slices.Compact(ids))
	slices.SortStableFunc(list, func(a, b stored[T]) int {
		if !q.ascending {
			a, b = b, a
		}
		return a.doc.Position().Compare(b.doc.Position())
	})
	for i := 0; i < len(list) && err == nil; i++ {
		err = yield(list[i])
	}
	return err
}

// each calls yield for each record in the order of creation.
func (s records[T]) each(ctx context.Context, yield func(stored[T]) error) error {
	return s.withTerm(ctx, "", false, 0, scanPage, func(r stored[T]) (bool, error) { return true, yield(r) })
}

// ignoreConflict returns nil for the error of a writer that was not the first.
func ignoreConflict(err error) error {
	if errors.Is(err, document.ErrConflict) {
		return nil
	}
	return err
}

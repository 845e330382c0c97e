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
}

func newRecords[T any](docs document.Store, collection string) records[T] {
	return records[T]{docs, document.At(collection, "all")}
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
	value, err := encode(record)
	if err != nil {
		return false, err
	}
	_, err = s.docs.Set(ctx, s.place, document.Change{ID: id, Value: value, Order: document.AtTime(at), If: new(uint64(0))})
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
		if err := change(&r.record); err != nil {
			return r.record, true, err
		}
		value, err := encode(r.record)
		if err != nil {
			return r.record, true, err
		}
		_, err = s.docs.Set(ctx, s.place, document.Change{ID: id, Value: value, Order: r.doc.Order, If: &r.doc.Version})
		if !errors.Is(err, document.ErrConflict) {
			return r.record, true, err
		}
	}
}

func (s records[T]) delete(ctx context.Context, id string) error {
	return s.docs.Delete(ctx, s.place, id)
}

// search selects records.
type search[T any] struct {
	match         func(r *T) bool
	sort          func(r *T) string // the key of the order; nil means the order of creation
	ascending     bool
	offset, limit int
}

// scanPage is the number of records that are read at once.
const scanPage = 500

// find returns the records of a page, and the number of all that match.
func (s records[T]) find(ctx context.Context, q search[T]) (list []T, total int, err error) {
	type keyed struct {
		key    string
		record T
	}
	var sorted []keyed
	err = s.each(ctx, !q.ascending, func(r stored[T]) error {
		if !q.match(&r.record) {
			return nil
		}
		switch {
		case q.sort != nil:
			sorted = append(sorted, keyed{q.sort(&r.record), r.record})
		case total >= q.offset && total-q.offset < q.limit:
			list = append(list, r.record)
		}
		total++
		return nil
	})
	if err != nil || q.sort == nil {
		return list, total, err
	}
	slices.SortStableFunc(sorted, func(a, b keyed) int {
		if q.ascending {
			return cmp.Compare(a.key, b.key)
		}
		return cmp.Compare(b.key, a.key)
	})
	for _, k := range sorted[min(q.offset, len(sorted)):min(q.offset+q.limit, len(sorted))] {
		list = append(list, k.record)
	}
	return list, total, nil
}

// each calls yield for each record in the order of creation, or the reverse of it.
func (s records[T]) each(ctx context.Context, reverse bool, yield func(stored[T]) error) error {
	q := document.Query{Place: s.place, Reverse: reverse, Limit: new(scanPage)}
	for {
		docs, err := s.docs.Query(ctx, q)
		if err != nil {
			return err
		}
		for _, d := range docs {
			r, err := s.decode(d)
			if err == nil {
				err = yield(r)
			}
			if err != nil {
				return err
			}
		}
		if len(docs) < scanPage {
			return nil
		}
		q.After = new(docs[len(docs)-1].Position())
	}
}

// ignoreConflict returns nil for the error of a writer that was not the first.
func ignoreConflict(err error) error {
	if errors.Is(err, document.ErrConflict) {
		return nil
	}
	return err
}

package document

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"slices"

	"github.com/weftrun/weft/internal/values"
)

// Over returns a Store that uses a Table. Over itself does not call the table.
func Over(t Table) Store { return over{t} }

type over struct{ table Table }

func (o over) Get(ctx context.Context, p Place, id string) (Doc, error) {
	if err := p.check(false); err != nil {
		return Doc{}, err
	}
	if err := checkName("id", id, MaxID, false); err != nil {
		return Doc{}, place(p, "", err)
	}
	d, found, err := o.table.Read(ctx, p, id)
	if err == nil && !found {
		err = ErrNotFound
	}
	if err != nil {
		return Doc{}, place(p, id, err)
	}
	return d, nil
}

func (o over) Set(ctx context.Context, p Place, c Change) (Doc, error) {
	if c.Value == nil {
		return Doc{}, place(p, c.ID, fmt.Errorf("%w: it must not be nil", ErrValue))
	}
	docs, err := o.Batch(ctx, p, []Change{c})
	if err != nil {
		return Doc{}, err
	}
	return docs[0], nil
}

func (o over) Delete(ctx context.Context, p Place, id string) error {
	_, err := o.Batch(ctx, p, []Change{{ID: id}})
	return err
}

func (o over) Batch(ctx context.Context, p Place, changes []Change) ([]Doc, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("document: %w", err)
	}
	w, err := newWrite(p, changes)
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	docs, err := o.table.Write(ctx, w)
	if err != nil {
		return nil, place(p, "", err)
	}
	return docs, nil
}

// newWrite checks a batch. Its result shares no memory with the caller.
func newWrite(p Place, changes []Change) (Write, error) {
	if err := p.check(false); err != nil {
		return Write{}, err
	}
	if len(changes) > MaxBatch {
		return Write{}, place(p, "", fmt.Errorf("%w: a batch must have at most %d changes (got %d)", ErrTooLarge, MaxBatch, len(changes)))
	}
	w := Write{Place: p, Name: rand.Text(), Changes: make([]Change, len(changes))}
	size, seen := 0, make(map[string]bool, len(changes))
	for i, c := range changes {
		checked, err := c.check()
		if err == nil && seen[c.ID] {
			err = fmt.Errorf("%w: the batch has the id twice", ErrRequest)
		}
		if size += len(checked.Value); err == nil && size > MaxBatchSize {
			err = fmt.Errorf("%w: a batch must have at most %d bytes, and this change exceeds them", ErrTooLarge, MaxBatchSize)
		}
		if err != nil {
			return Write{}, place(p, c.ID, err)
		}
		seen[c.ID], w.Changes[i] = true, checked
	}
	return w, nil
}

func (o over) Clear(ctx context.Context, p Place) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("document: %w", err)
	}
	if err := p.check(true); err != nil {
		return err
	}
	if err := o.table.Clear(ctx, p); err != nil {
		return place(p, "", err)
	}
	return nil
}

func (o over) Query(ctx context.Context, q Query) ([]Doc, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("document: %w", err)
	}
	s, err := q.compile()
	if err != nil {
		return nil, err
	}
	list := []Doc{}
	if s.limit == 0 {
		return list, nil
	}
	if len(s.sort) > 0 {
		return o.sorted(ctx, s)
	}
	skip := s.skip
	err = o.each(ctx, s, func(d Doc) bool {
		if skip > 0 {
			skip--
			return true
		}
		list = append(list, d)
		return len(list) != s.limit
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (o over) Count(ctx context.Context, q Query) (n int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("document: %w", err)
	}
	q.Sort, q.Reverse, q.Skip, q.Limit = nil, false, 0, nil
	if q.After != nil {
		return 0, fmt.Errorf("%w: a count has no After", ErrQuery)
	}
	s, err := q.compile()
	if err != nil {
		return 0, err
	}
	if len(s.where) > 0 {
		err = o.each(ctx, s, func(Doc) bool { n++; return true })
		return n, err
	}
	if n, err = o.table.Count(ctx, s.scan); err != nil {
		return 0, place(s.scan.Place, "", err)
	}
	return n, nil
}

// enough returns how many matching documents are needed if they are in order.
func (s *search) enough() int {
	if s.limit < 0 || s.skip > math.MaxInt-s.limit {
		return math.MaxInt
	}
	return s.skip + s.limit
}

// pageSize is the limit of a scan, unless fewer documents are enough.
const pageSize = 500

// each yields the documents that s finds, in the order of the table, until yield returns false.
func (o over) each(ctx context.Context, s *search, yield func(Doc) bool) error {
	scan := s.scan
	left := s.enough()
	for {
		scan.Limit = pageSize
		switch {
		case len(s.sort) > 0:
		case len(s.where) > 0:
			scan.Limit = min(pageSize, max(left, 100))
		default:
			scan.Limit = min(pageSize, left)
		}
		docs, more, err := o.table.Scan(ctx, scan)
		if err != nil {
			return place(scan.Place, "", err)
		}
		for _, d := range docs {
			ok, err := s.hold(d)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			left--
			if !yield(d) {
				return nil
			}
		}
		if !more || len(docs) == 0 {
			return nil
		}
		scan.After = new(docs[len(docs)-1].Position())
	}
}

// row is a document with its sort keys.
type row struct {
	Doc
	keys  []any
	found []bool
}

// sorted reads all documents that s finds, and returns the page of the sorted result.
func (o over) sorted(ctx context.Context, s *search) ([]Doc, error) {
	var rows []row
	var bad error
	most := s.enough()
	err := o.each(ctx, s, func(d Doc) bool {
		var r row
		if r, bad = s.row(d); bad != nil {
			return false
		}
		if rows = append(rows, r); len(rows)-most > max(most, pageSize) {
			slices.SortStableFunc(rows, s.compare)
			rows = slices.Delete(rows, most, len(rows))
		}
		return true
	})
	if err != nil || bad != nil {
		return nil, orElse(err, bad)
	}
	slices.SortStableFunc(rows, s.compare)
	rows = rows[min(s.skip, len(rows)):]
	if s.limit > 0 {
		rows = rows[:min(s.limit, len(rows))]
	}
	list := make([]Doc, len(rows))
	for i, r := range rows {
		list[i] = r.Doc
	}
	return list, nil
}

func orElse(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func (s *search) row(d Doc) (row, error) {
	r := row{Doc: d, keys: make([]any, len(s.sort)), found: make([]bool, len(s.sort))}
	for i, key := range s.sort {
		var err error
		if r.keys[i], r.found[i], err = lookUp(d.Value, key.Path); err != nil {
			return r, place(d.Place, d.ID, fmt.Errorf("%w: path %.100q: %w", ErrValue, key.Path, err))
		}
	}
	return r, nil
}

func (s *search) compare(a, b row) int {
	for i, key := range s.sort {
		order := values.Sort(a.keys[i], b.keys[i], a.found[i], b.found[i])
		if key.Desc {
			order = -order
		}
		if order != 0 {
			return order
		}
	}
	return 0
}

// place adds the place to an error.
func place(p Place, id string, err error) error {
	if id == "" {
		return fmt.Errorf("%v: %w", p, err)
	}
	return fmt.Errorf("%v, id %.200q: %w", p, id, err)
}

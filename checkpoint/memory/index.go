package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// vectorLabel begins the namespaces of the vectors of an Index.
const vectorLabel = "weft:vectors"

// Limits of an Index.
const (
	MaxDims    = 8192 // numbers of a vector
	MaxVectors = 16   // fields of an item that have a vector
)

// Index is a Store that also finds items by meaning: Search with Query.Near. It makes a vector of
// each item that is put through it.
//
// The vectors are stored in the same store by default, and a search compares all of them below the
// prefix, at most MaxScan. That needs no database extension, and is meant for thousands of items
// and not for millions. With Vectors the database stores and compares them: see (*Store).Vectors of
// package postgres. If the database cannot do so, that is an [ErrNoVectors], and the
// program may go on without Vectors.
//
// A text whose vector has only zeros is not similar to anything, and is not found.
//
// A failure of the embedder does not fail a Put. The item is stored without a vector, and Failed is
// called. A search with Near leaves the item out until Reindex has stored its vector. The same
// applies to an item that was put without the Index. A vector is valid only for the version of the
// item that it was made from.
type Index struct {
	Store Store // has the items; namespaces that begin with the label "weft:vectors" are reserved
	// Vectors has the vectors of the items, in the database of Store; nil stores them in Store.
	// After a change, Reindex makes them anew.
	Vectors Vectors
	// Embed returns a vector of Dims numbers for each text. It is called at most once for a
	// Put, a Batch, a Search, and for each page of Reindex. If it fails for a page, it is called
	// for each item of the page.
	Embed func(ctx context.Context, texts []string) ([][]float32, error)
	// Ask returns the vector of the text of a search, for models that distinguish it; nil is Embed.
	Ask  func(ctx context.Context, texts []string) ([][]float32, error)
	Dims int
	// Fields are paths, as in a Condition. Each field of a value gets its own vector, and the
	// most similar one counts. Empty means one vector for all strings of the value.
	Fields []string
	// Failed, if not nil, is called for each item that was stored without a vector. It may be
	// called by several goroutines.
	Failed func(namespace []string, key string, err error)
}

var _ Store = (*Index)(nil)

func (x *Index) check() error {
	switch {
	case x.Store == nil || x.Embed == nil:
		return fmt.Errorf("%w: an Index must have a Store and an Embed", ErrRequest)
	case x.Dims < 1 || x.Dims > MaxDims:
		return fmt.Errorf("%w: Dims must be between 1 and %d (got %d)", ErrRequest, MaxDims, x.Dims)
	case len(x.Fields) > MaxVectors:
		return fmt.Errorf("%w: an Index must have at most %d fields (got %d)", ErrRequest, MaxVectors, len(x.Fields))
	}
	for _, f := range x.Fields {
		if _, err := splitPath(f); err != nil {
			return fmt.Errorf("%w: field %.100q: %w", ErrRequest, f, err)
		}
	}
	return nil
}

// checkPart rejects a namespace that is reserved, or too long with the reserved label.
func checkPart(namespace []string) error {
	if len(namespace) > 0 && namespace[0] == vectorLabel {
		return fmt.Errorf("%w: the first label %q is reserved for vectors", ErrNamespace, vectorLabel)
	}
	if err := checkLabels(vectorsOf(namespace)); err != nil {
		return fmt.Errorf("%w; the Index needs %d label and %d bytes of it", err, 1, len(vectorLabel)+1)
	}
	return nil
}

func vectorsOf(namespace []string) []string { return append([]string{vectorLabel}, namespace...) }

// Put implements Store.
func (x *Index) Put(ctx context.Context, namespace []string, key string, value json.RawMessage, o Options) (Item, error) {
	if value == nil {
		return Item{}, place(namespace, key, fmt.Errorf("%w: there is none", ErrValue))
	}
	items, err := x.Batch(ctx, namespace, []Op{{Key: key, Value: value, Options: o}})
	if err != nil {
		return Item{}, err
	}
	return items[0], nil
}

// Get implements Store.
func (x *Index) Get(ctx context.Context, namespace []string, key string) (Item, error) {
	if err := errors.Join(x.check(), checkPart(namespace)); err != nil {
		return Item{}, err
	}
	return x.Store.Get(ctx, namespace, key)
}

// Delete implements Store.
func (x *Index) Delete(ctx context.Context, namespace []string, key string) error {
	_, err := x.Batch(ctx, namespace, []Op{{Key: key}})
	return err
}

// Batch implements Store. It stores the items atomically, and then their vectors.
func (x *Index) Batch(ctx context.Context, namespace []string, ops []Op) ([]Item, error) {
	if err := errors.Join(x.check(), checkPart(namespace)); err != nil {
		return nil, err
	}
	// Only the vectors that are there before a deletion are removed after it: those of an item that
	// another caller puts meanwhile are newer.
	before, failed := make([]record, len(ops)), make([]error, len(ops))
	for i, op := range ops {
		if op.Value == nil && x.Vectors == nil {
			before[i], failed[i] = x.record(ctx, namespace, op.Key)
		}
	}
	items, err := x.Store.Batch(ctx, namespace, ops)
	if err != nil {
		return nil, err
	}
	var put []Item
	for i, op := range ops {
		if op.Value != nil {
			put = append(put, items[i])
			continue
		}
		// A remaining vector has no effect: its item is deleted.
		if err := cmp.Or(failed[i], x.forget(ctx, namespace, op.Key, before[i])); err != nil {
			x.failed(namespace, op.Key, err)
		}
	}
	for item, err := range x.embed(ctx, put) {
		x.failed(put[item].Namespace, put[item].Key, err)
	}
	return items, nil
}

// forget removes the vectors of a deleted item: those of a record that was read.
func (x *Index) forget(ctx context.Context, namespace []string, key string, r record) error {
	switch {
	case x.Vectors != nil:
		return x.Vectors.Remove(ctx, namespace, key)
	case r.version == 0:
		return nil // there was none
	}
	return x.removeRecord(ctx, namespace, key, r)
}

func (x *Index) failed(namespace []string, key string, err error) {
	if x.Failed != nil {
		x.Failed(namespace, key, err)
	}
}

// Namespaces implements Store. It leaves out the namespaces of vectors.
func (x *Index) Namespaces(ctx context.Context, q NamespaceQuery) (list [][]string, err error) {
	limit, bad := q.check()
	if err := errors.Join(x.check(), checkPart(q.Prefix), bad); err != nil {
		return nil, err
	}
	q.Limit = MaxLimit
	for {
		page, err := x.Store.Namespaces(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, ns := range page {
			if ns[0] != vectorLabel {
				list = append(list, ns)
			}
			if len(list) == limit {
				return list, nil
			}
		}
		if len(page) < q.Limit {
			return list, nil
		}
		q.After = page[len(page)-1]
	}
}

// Search implements Store. With Near it finds the items that have a vector, the most similar first.
func (x *Index) Search(ctx context.Context, q Query) (Page, error) {
	if err := errors.Join(x.check(), checkPart(q.Prefix)); err != nil {
		return Page{}, err
	}
	if q.Near != "" {
		return x.near(ctx, q)
	}
	if len(q.Prefix) > 0 {
		return x.Store.Search(ctx, q)
	}
	return x.besideVectors(ctx, q)
}

// besideVectors searches everything and leaves out the vectors. They may fill pages, so it
// asks for more a few times.
func (x *Index) besideVectors(ctx context.Context, q Query) (all Page, err error) {
	limit, err := checkLimit(q.Limit)
	for round := 0; err == nil && round < 8; round++ {
		q.Limit = limit - len(all.Items)
		var page Page
		if page, err = x.Store.Search(ctx, q); err != nil {
			break
		}
		for _, f := range page.Items {
			if f.Namespace[0] != vectorLabel {
				all.Items = append(all.Items, f)
			}
		}
		q.Cursor, all.Next = page.Next, page.Next
		if page.Next == "" || len(all.Items) == limit {
			return all, nil
		}
	}
	return all, err
}

func (x *Index) near(ctx context.Context, q Query) (Page, error) {
	s, err := q.compile()
	switch {
	case err != nil:
		return Page{}, err
	case s.order != ByRank:
		return Page{}, fmt.Errorf("%w: a search with Near is sorted by rank, not by %s", ErrQuery, s.order)
	case len(q.Near) > MaxText:
		return Page{}, fmt.Errorf("%w: Near has %d bytes, the limit is %d", ErrQuery, len(q.Near), MaxText)
	}
	ask := x.Ask
	if ask == nil {
		ask = x.Embed
	}
	wanted, err := x.ask(ctx, ask, []string{q.Near})
	if err != nil {
		return Page{}, fmt.Errorf("memory: search: %w", err)
	}
	if isZero(wanted[0]) {
		return Page{}, nil
	}
	if x.Vectors != nil {
		return x.nearest(ctx, s, wanted[0])
	}
	known, err := x.vectors(ctx, q.Prefix)
	if err != nil {
		return Page{}, err
	}
	best, unindexed := ranking{search: s}, 0
	all := Query{Prefix: q.Prefix, Where: q.Where, Text: q.Text, Order: ByKey, Limit: MaxLimit}
	err = x.each(ctx, all, func(f Found) error {
		have, ok := known[Position{Encode(f.Namespace), f.Key}]
		if !ok || have.Of != f.Version {
			unindexed++
			return nil
		}
		if len(have.vectors) > 0 {
			f.Score = mostAlike(have.vectors, wanted[0])
			best.add(f)
		}
		return nil
	})
	page := best.page()
	page.Unindexed = unindexed
	return page, err
}

// each calls f for every item that q selects, without vectors. It returns an ErrTooMany after
// MaxScan items.
func (x *Index) each(ctx context.Context, q Query, f func(Found) error) error {
	seen := 0
	for found, err := range All(ctx, x.Store, q) {
		if err != nil {
			return err
		}
		if len(q.Prefix) == 0 && found.Namespace[0] == vectorLabel {
			continue
		}
		if seen++; seen > MaxScan {
			return fmt.Errorf("%w: more than %d items to compare; give a longer Prefix", ErrTooMany, MaxScan)
		}
		if err := f(found); err != nil {
			return err
		}
	}
	return nil
}

// texts returns the texts of a value to embed. A value that cannot be decoded has none.
func (x *Index) texts(value []byte) (list []string) {
	tree, err := decode(value)
	if err != nil {
		return nil
	}
	if len(x.Fields) == 0 {
		return textOf(tree, nil)
	}
	for _, f := range x.Fields {
		path, err := splitPath(f)
		if err != nil {
			continue // check has refused it
		}
		if v, found := lookUp(tree, path); found {
			list = textOf(v, list)
		}
	}
	return list
}

// textOf adds the strings of a value, one to a line, if it has any.
func textOf(tree any, list []string) []string {
	var lines []string
	stringsOf(tree, func(s string) { lines = append(lines, s) })
	if text := strings.Join(lines, "\n"); strings.TrimSpace(text) != "" {
		list = append(list, text)
	}
	return list
}

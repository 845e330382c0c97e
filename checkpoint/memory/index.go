package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// vectorLabel begins the namespaces in which an Index keeps its vectors.
const vectorLabel = "weft:vectors"

// Limits of an Index.
const (
	MaxDims    = 8192 // numbers of a vector
	MaxVectors = 16   // fields of an item that have a vector
)

// Index is a Store that also finds items by meaning: Search with Query.Near. It keeps a
// vector beside each item that is put through it, in the same store, and compares with
// every vector below the prefix, at most MaxScan of them: no database extension is needed,
// and the whole is meant for thousands of items and not for millions.
//
// A Put never fails for the embedder's sake. The item is stored, has no vector of its own,
// is told to Failed, and is passed over by Near until Reindex has made up for it. The same
// goes for what was put past the Index. A vector counts only for the version it was made of.
type Index struct {
	Store Store // where the items are; the label "weft:vectors" in front is the Index's own
	// Embed returns a vector for each text, all of Dims numbers. It is called at most once
	// for a Put, a Batch, a Search, and for each page of Reindex.
	Embed func(ctx context.Context, texts []string) ([][]float32, error)
	Dims  int
	// Fields are paths, as in a Condition; each that a value has gets a vector of its own,
	// and the most alike counts. None means all strings of the value together.
	Fields []string
	// Failed, if not nil, is told of an item that was stored without a vector. It may be
	// called by several goroutines.
	Failed func(namespace []string, key string, err error)
}

var _ Store = (*Index)(nil)

func (x *Index) check() error {
	switch {
	case x.Store == nil || x.Embed == nil:
		return fmt.Errorf("%w: an Index needs a Store and an Embed", ErrRequest)
	case x.Dims < 1 || x.Dims > MaxDims:
		return fmt.Errorf("%w: an Index of %d dimensions; it is between 1 and %d", ErrRequest, x.Dims, MaxDims)
	case len(x.Fields) > MaxVectors:
		return fmt.Errorf("%w: an Index of %d fields; the limit is %d", ErrRequest, len(x.Fields), MaxVectors)
	}
	for _, f := range x.Fields {
		if _, err := splitPath(f); err != nil {
			return fmt.Errorf("%w: an Index of field %.100q: %w", ErrRequest, f, err)
		}
	}
	return nil
}

// checkPart refuses what is the Index's own, or would leave no room for it.
func checkPart(namespace []string) error {
	if len(namespace) > 0 && namespace[0] == vectorLabel {
		return fmt.Errorf("%w: the label %q in front is kept for vectors", ErrNamespace, vectorLabel)
	}
	if err := checkLabels(vectorsOf(namespace)); err != nil {
		return fmt.Errorf("%w; %d labels and %d bytes of it are the Index's", err, 1, len(vectorLabel)+1)
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

// Batch implements Store. The items are stored in one piece, and then their vectors.
func (x *Index) Batch(ctx context.Context, namespace []string, ops []Op) ([]Item, error) {
	if err := errors.Join(x.check(), checkPart(namespace)); err != nil {
		return nil, err
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
		// A vector that stays counts for nothing: its item is gone.
		if err := x.Store.Delete(ctx, vectorsOf(namespace), op.Key); err != nil {
			x.failed(namespace, op.Key, err)
		}
	}
	for item, err := range x.embed(ctx, put) {
		x.failed(put[item].Namespace, put[item].Key, err)
	}
	return items, nil
}

func (x *Index) failed(namespace []string, key string, err error) {
	if x.Failed != nil {
		x.Failed(namespace, key, err)
	}
}

// Namespaces implements Store. Those of the vectors do not show.
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

// Search implements Store. With Near it finds the items that have a vector, the most alike
// first.
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
	wanted, err := x.ask(ctx, []string{q.Near})
	if err != nil {
		return Page{}, fmt.Errorf("memory: search: %w", err)
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

// each calls f for every item that q selects, but not for vectors, and counts: a search
// that would look at too much ends.
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

// texts returns what is to be embedded of a value. One that cannot be read has none.
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

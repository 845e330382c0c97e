package twisted

import (
	"context"
	"slices"

	"github.com/weftrun/weft/checkpoint/document"
)

// Store is a sound store with some methods of its own; those that are nil are the sound ones.
type Store struct {
	*document.Map
	OnBatch func(ctx context.Context, s *document.Map, p document.Place, changes []document.Change) ([]document.Doc, error)
	OnQuery func(ctx context.Context, s *document.Map, q document.Query) ([]document.Doc, error)
	OnGet   func(p *document.Place)
}

var _ document.Store = Store{}

// Get implements document.Store.
func (t Store) Get(ctx context.Context, p document.Place, id string) (document.Doc, error) {
	if t.OnGet != nil {
		t.OnGet(&p)
	}
	return t.Map.Get(ctx, p, id)
}

// Set implements document.Store, by a batch.
func (t Store) Set(ctx context.Context, p document.Place, c document.Change) (document.Doc, error) {
	docs, err := t.Batch(ctx, p, []document.Change{c})
	return append(docs, document.Doc{})[0], err
}

// Batch implements document.Store.
func (t Store) Batch(ctx context.Context, p document.Place, changes []document.Change) ([]document.Doc, error) {
	if t.OnBatch == nil {
		return t.Map.Batch(ctx, p, changes)
	}
	return t.OnBatch(ctx, t.Map, p, changes)
}

// Query implements document.Store.
func (t Store) Query(ctx context.Context, q document.Query) ([]document.Doc, error) {
	if t.OnQuery == nil {
		return t.Map.Query(ctx, q)
	}
	return t.OnQuery(ctx, t.Map, q)
}

// Fresh returns a store with the same fault and nothing in it.
func (t Store) Fresh() document.Store {
	t.Map = new(document.Map)
	return t
}

// Asking breaks queries by what is asked.
func Asking(change func(q *document.Query)) Store {
	return Store{OnQuery: func(ctx context.Context, s *document.Map, q document.Query) ([]document.Doc, error) {
		change(&q)
		return s.Query(ctx, q)
	}}
}

// Writing breaks batches by what is written.
func Writing(change func(p *document.Place, changes []document.Change) []document.Change) Store {
	return Store{OnBatch: func(ctx context.Context, s *document.Map, p document.Place, changes []document.Change) ([]document.Doc, error) {
		return s.Batch(ctx, p, change(&p, slices.Clone(changes)))
	}}
}

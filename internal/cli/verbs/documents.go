package verbs

import (
	"context"
	"errors"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	longterm "github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/internal/cli/reports"
)

// documents returns the documents of the store: the records of threads, conversations and sessions.
// For a store in memory they are empty.
func (a *app) documents(ctx context.Context, store checkpoint.Store) (document.Store, error) {
	switch s := checkpoint.Unwrap(store).(type) {
	case interface {
		Documents(ctx context.Context) (document.Store, error)
	}:
		return s.Documents(ctx)
	case *checkpoint.Memory:
		return new(document.Map), nil
	}
	return nil, a.keepsNo("documents")
}

// memories returns the long-term memory of the store.
func (a *app) memories(ctx context.Context, store checkpoint.Store) (longterm.Store, error) {
	switch s := checkpoint.Unwrap(store).(type) {
	case interface {
		Memory(ctx context.Context) (longterm.Store, error)
	}:
		return s.Memory(ctx)
	case interface{ Memory() longterm.Store }:
		return s.Memory(), nil
	case *checkpoint.Memory:
		return new(longterm.Map), nil
	}
	return nil, a.keepsNo("long-term memory")
}

// errKeepsNo is the error of a store that has no place for something.
var errKeepsNo = errors.New("keeps no")

func (a *app) keepsNo(what string) error {
	address, _ := a.address() // it was opened before
	return reports.Usage("name a store of sqlite:, redis: or postgres: with --store", "the store %q %w %s", reports.WithoutPassword(address), errKeepsNo, what)
}

// withDocuments runs fn with the documents of the store. It opens and closes the store.
func (a *app) withDocuments(ctx context.Context, fn func(checkpoint.Store, document.Store) error) error {
	return withStore(ctx, a.openToRead, func(store checkpoint.Store) error {
		docs, err := a.documents(ctx, store)
		if err != nil {
			return err
		}
		return fn(store, docs)
	})
}

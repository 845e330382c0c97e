package checkpoint

import (
	"context"
	"slices"
	"strings"

	"github.com/weftrun/weft/state"
)

// Reseal writes what a thread holds now anew, as the store's codec has it: with its current
// key, compressed or not. It adds one commit to each namespace, which says what the last one
// said and brings all values, and keeps what stands beside the head. Older commits stay
// as they are, under their keys, until they are pruned; so a key can go when every thread
// was resealed and pruned since, and no input waits that came before (graph.Queue): what waits
// for its turn stays as it is.
//
// It needs no schema and runs no migration. fence is the lease under which to write, "" for
// a thread that nobody has leased. If somebody else goes on with the thread meanwhile it returns an
// ErrConflict: try again.
func Reseal(ctx context.Context, store Store, thread, fence string) error {
	if err := CheckThread(thread); err != nil {
		return err
	}
	spaces, err := store.Namespaces(ctx, thread)
	if err != nil {
		return err
	}
	slices.Reverse(spaces) // the root last
	for _, ns := range spaces {
		if strings.HasPrefix(ns, "+") {
			continue // each commit there is an input that waits; another one would be another input
		}
		if err := resealChain(ctx, store, Key{thread, ns}, fence); err != nil {
			return err
		}
	}
	return nil
}

// noFields is the schema that knows no field, so that all are carried along.
var noFields, _ = state.SchemaOf[struct{}]()

func resealChain(ctx context.Context, store Store, k Key, fence string) error {
	snap, err := store.Load(ctx, k, 0)
	if err != nil {
		return err
	}
	c := newChain(store, k, noFields)
	if err := c.restore(snap); err != nil {
		return err
	}
	for i := range c.other {
		c.other[i].blobs = blobsOf(snap, c.other[i].Name)
	}
	c.Fence, c.log.whole = fence, true
	rec := *c.Record
	rec.Source, rec.Ran = Update, nil
	return c.Commit(ctx, "reseal "+NewFence(), &rec, c.State, nil, c.Pending...)
}

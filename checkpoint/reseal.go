package checkpoint

import (
	"context"
	"slices"

	"github.com/weftrun/weft/state"
)

// Reseal rewrites the current state of a thread with the store's codec: with its current key,
// compressed or not. It adds one commit to each namespace, with the record, all values and the
// pending entries of the last one.
//
// Older commits remain under their keys until they are pruned. Queued inputs (graph.Queue) are
// not rewritten. So an old key can be removed when every thread was resealed and pruned after the
// key changed, and no input is queued from before.
//
// Reseal needs no schema and runs no migration. fence is the lease under which to write, "" for a
// thread without a lease. If another writer commits meanwhile it returns an ErrConflict: try again.
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
		if !hasHistory(ns) {
			continue // each commit there is a queued input; another commit would be another input
		}
		if err := resealChain(ctx, store, Key{thread, ns}, fence); err != nil {
			return err
		}
	}
	return nil
}

// noFields is a schema without fields, so all stored fields are carried along.
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

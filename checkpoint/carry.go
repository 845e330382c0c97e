package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"

	"github.com/weftrun/weft/state"
)

// Copy copies a thread, with all its namespaces, commits and entries, to another store or to
// another name in the same store. The copy has the same numbers, IDs, labels and values; it has no
// lease and does not expire. Its tasks have the same ids, so it continues the same work. Commits
// that other writers make during the copy may be missing.
//
// Copying an unknown thread does nothing and is no error. A newThread that exists is an
// ErrThreadExists. When Copy fails it removes what it has written. A process that ends during Copy
// leaves a part of newThread, which must be deleted before another Copy: the oldest commits of some
// namespaces. The root is written last, so a thread that is listed has all of its subgraphs.
//
// Blobs are copied to those of the other store, under their keys. Timers of the thread are not
// copied: see wake.Timers.Restore.
func Copy(ctx context.Context, from Store, thread string, to Store, newThread string) error {
	m := mover{to: to, thread: newThread, open: func(ctx context.Context, hash string) (io.ReadCloser, error) {
		b := BlobsIn(from)
		if b == nil {
			return nil, fmt.Errorf("%w: thread %q refers to the blob %.16s", ErrNoBlobs, thread, hash)
		}
		return b.Of(thread).Open(ctx, state.BlobRef{Hash: hash})
	}}
	return bring(ctx, carried(ctx, from, thread), &m)
}

// bring seals commits and stores them as a new thread.
func bring(ctx context.Context, commits iter.Seq2[Commit, error], m *mover) error {
	to, thread := m.to, m.thread
	if err := CheckThread(thread); err != nil {
		return err
	}
	switch there, err := to.Namespaces(ctx, thread); {
	case err != nil:
		return err
	case len(there) > 0 && there[0] != "":
		return fmt.Errorf("%w: %q, without a root: if a copy was cut off, delete the thread first", ErrThreadExists, thread)
	case len(there) > 0:
		return fmt.Errorf("%w: %q", ErrThreadExists, thread)
	}
	begun, stored := false, tags{}
	for c, err := range commits {
		if err == nil {
			c.Thread = thread
			if err = m.move(ctx, &c); err == nil {
				err = storeOpen(ctx, to, c, stored)
			}
		}
		switch {
		case errors.Is(err, ErrConflict):
			return err // another writer has begun the thread: do not remove it
		case err != nil && (begun || errors.Is(err, ErrUnknownOutcome)): // the first commit may be stored
			return errors.Join(err, to.Delete(context.WithoutCancel(ctx), thread))
		case err != nil:
			return errors.Join(err, m.giveUp(context.WithoutCancel(ctx)))
		}
		begun = true
	}
	return nil
}

// storeOpen seals the values of a commit for their places in the new thread and stores the commit.
// It checks no limits, because the values were stored before. It adds the tags of the commit to
// stored, which has those of earlier commits.
func storeOpen(ctx context.Context, to Store, c Commit, stored tags) (err error) {
	codec := codecOf(to)
	codec.Limits = Limits{Value: maxRaw, Pending: math.MaxInt}
	for i, b := range c.Blobs {
		var tag string
		var x extra
		if codec.Keys != nil {
			tag, x.tag = stored.last(c.Namespace, b), &tag
		}
		if c.Blobs[i].Data, _, err = codec.sealWith(place(c.Key, b.Field, b.Base, b.Chunk), json.RawMessage(b.Data), x); err != nil {
			return fmt.Errorf("checkpoint: thread %q, commit %d: field %q: %w", c.Thread, c.Seq(), b.Field, err)
		}
		if codec.Keys != nil {
			stored.add(c.Namespace, b, tag)
		}
	}
	var x extra
	if codec.Keys != nil {
		if c.Header, x.binds, err = stored.bind(c.Namespace, c.Header); err != nil {
			return fmt.Errorf("checkpoint: thread %q, commit %d: %w", c.Thread, c.Seq(), err)
		}
	}
	if c.Header, _, err = codec.sealWith(headerPlace(c.Key, c.Seq()), json.RawMessage(c.Header), x); err != nil {
		return fmt.Errorf("checkpoint: thread %q, commit %d: %w", c.Thread, c.Seq(), err)
	}
	var mark []byte
	if codec.Keys != nil {
		mark = markOf(c.Header)
	}
	if c.Pending, err = codec.sealEntries(c.Key, c.Pending, 0, mark); err != nil {
		return err
	}
	if err = to.Commit(ctx, c); !errors.Is(err, ErrUnknownOutcome) {
		return err
	}
	again := to.Commit(context.WithoutCancel(ctx), c) // nil if it was stored before
	if again == nil || errors.Is(again, ErrConflict) {
		return again
	}
	return errors.Join(err, again)
}

// carried yields the commits of a thread, oldest first and the root namespace last. Each has the
// blobs that no older commit of its namespace has. Headers, blobs and entries are unsealed.
func carried(ctx context.Context, from Store, thread string) iter.Seq2[Commit, error] {
	return func(yield func(Commit, error) bool) {
		spaces, err := from.Namespaces(ctx, thread)
		if err != nil {
			yield(Commit{}, err)
			return
		}
		slices.Reverse(spaces) // "" sorts first, and goes last
		for _, ns := range spaces {
			list, err := past(ctx, from, Key{thread, ns})
			if err != nil {
				yield(Commit{}, err)
				return
			}
			b := bearer{store: from, list: list, held: map[blobAddress][]byte{}, gone: map[blobRun]int{}}
			for i := range list {
				c, err := b.commit(ctx, i)
				if !yield(c, err) || err != nil {
					return
				}
			}
		}
	}
}

// past returns the commits of a chain without their blobs, oldest first.
func past(ctx context.Context, store Store, k Key) (list []Snapshot, err error) {
	for snap, err := range store.History(ctx, k, Query{}) {
		if err != nil {
			return nil, err
		}
		list = append(list, snap)
	}
	slices.Reverse(list)
	return list, nil
}

// blobRun is a base with its chunks.
type blobRun struct {
	field string
	base  uint64
}

// blobAddress names a blob in a namespace.
type blobAddress struct {
	field string
	base  uint64
	chunk int
}

// bearer reads a chain for a copy. It loads a blob with the newest commit that refers to its run,
// because that commit has all chunks of the run. It holds the blob until the oldest commit that
// needs it is yielded. So a log of n steps is read once and not n times.
type bearer struct {
	store Store
	list  []Snapshot
	newer map[blobRun]int // index of the newest commit that refers to the run
	held  map[blobAddress][]byte
	gone  map[blobRun]int // how many pieces of the run were yielded
}

// commit returns commit i of the list with the blobs that it adds.
func (b *bearer) commit(ctx context.Context, i int) (c Commit, err error) {
	snap := b.list[i]
	c = Commit{Key: snap.Key, ID: snap.ID, Number: snap.Seq, Labels: snap.Labels, Refs: snap.Refs}
	if i > 0 {
		c.Head = b.list[i-1].Seq
	}
	if c.Header, err = unseal(headerPlace(snap.Key, snap.Seq), snap.Header); err != nil {
		return c, damaged(snap, "header", err)
	}
	for _, r := range snap.Refs {
		run := blobRun{r.Field, r.Base}
		for n := b.gone[run]; n <= r.Chunks; n++ {
			data, err := b.blob(ctx, i, run, n)
			if err != nil {
				return c, err
			}
			c.Blobs = append(c.Blobs, Blob{r.Field, r.Base, n, data})
			b.gone[run] = n + 1
		}
	}
	c.Pending, err = ReadPending(snap)
	return c, err
}

// blob returns an unsealed blob and stops holding it.
func (b *bearer) blob(ctx context.Context, i int, run blobRun, chunk int) ([]byte, error) {
	a := blobAddress{run.field, run.base, chunk}
	if _, found := b.held[a]; !found {
		if err := b.load(ctx, b.newest(run)); err != nil {
			return nil, err
		}
	}
	data, found := b.held[a]
	if !found { // the newest commit has fewer chunks than an older one: load the older one
		if err := b.load(ctx, i); err != nil {
			return nil, err
		}
		data = b.held[a]
	}
	delete(b.held, a)
	return data, nil
}

// newest returns the index of the newest commit that refers to a run.
func (b *bearer) newest(run blobRun) int {
	if b.newer == nil {
		b.newer = map[blobRun]int{}
		for i, snap := range b.list {
			for _, r := range snap.Refs {
				b.newer[blobRun{r.Field, r.Base}] = i
			}
		}
	}
	return b.newer[run]
}

// load holds the blobs of a commit that were not yielded yet.
func (b *bearer) load(ctx context.Context, i int) error {
	at := b.list[i]
	snap, err := b.store.Load(ctx, at.Key, at.Seq)
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: %q", errPruned, at.Thread)
	}
	if err == nil {
		err = verifyBlobs(snap)
	}
	if err != nil {
		return err
	}
	for _, blob := range snap.Blobs {
		if blob.Chunk < b.gone[blobRun{blob.Field, blob.Base}] {
			continue
		}
		data, err := unseal(place(snap.Key, blob.Field, blob.Base, blob.Chunk), blob.Data)
		if err != nil {
			return damaged(snap, blob.Field, err)
		}
		b.held[blobAddress{blob.Field, blob.Base, blob.Chunk}] = data
	}
	return nil
}

package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	codes "modernc.org/sqlite/lib"

	"github.com/weftrun/weft/checkpoint"
)

// Commit implements checkpoint.Store. It returns when the commit is on the disk.
func (s *Store) Commit(ctx context.Context, c checkpoint.Commit) error {
	if err := c.Check(); err != nil {
		return s.typed(err)
	}
	labels := encodeLabels(c.Labels)
	refs := encodeRefs(c.Refs, labels)
	c.Refs, c.Labels = nil, nil
	c.Header = owned(c.Header)
	c.Blobs = slices.Clone(c.Blobs)
	for i := range c.Blobs {
		c.Blobs[i].Data = owned(c.Blobs[i].Data)
	}
	c.Pending = ownedEntries(c.Pending)
	return s.submit(ctx, func(w *writer) error { return w.add(c, labels, refs) })
}

func ownedEntries(entries []checkpoint.Entry) []checkpoint.Entry {
	entries = slices.Clone(entries)
	for i := range entries {
		entries[i].Data = owned(entries[i].Data)
	}
	return entries
}

// owned copies b, since a caller whose context ends may reuse it. An empty or nil b becomes an
// empty slice, because the column is NOT NULL.
func owned(b []byte) []byte {
	if len(b) == 0 {
		return []byte{}
	}
	return bytes.Clone(b)
}

// add stores a commit or refuses it.
func (w *writer) add(c checkpoint.Commit, labels, refs []byte) error {
	if c.Head > 0 {
		if done, err := w.addNext(c, labels, refs); done || err != nil {
			return err
		}
	}
	h, err := w.findFor(c.Key, c.Fence)
	switch {
	case err != nil:
		return err
	case h.seq > 0 && h.seq == c.Seq() && h.id == c.ID:
		return nil
	case h.seq != c.Head:
		return &checkpoint.ConflictError{Key: c.Key, Want: c.Head, Head: h.seq}
	}
	if err := w.occupy(c.Thread, h); err != nil {
		return err
	}
	chain, err := w.move(h.chain, c)
	if err != nil {
		return err
	}
	return w.addRows(chain, c, labels, refs)
}

// addNext stores a commit that follows the head, in as few statements as possible. It returns false
// if add must look why the head does not let it.
func (w *writer) addNext(c checkpoint.Commit, labels, refs []byte) (done bool, err error) {
	var chain int64
	var pending bool
	err = w.follow.QueryRowContext(context.Background(), int64(c.Seq()), c.ID, c.Thread, c.Namespace, int64(c.Head), w.now, c.Fence).Scan(&chain, &pending)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil:
		return false, err
	case pending:
		if err := w.exec(w.dropPending, chain); err != nil {
			return false, err
		}
	}
	return true, w.addRows(chain, c, labels, refs)
}

// addRows stores what belongs to a commit whose head is stored.
func (w *writer) addRows(chain int64, c checkpoint.Commit, labels, refs []byte) error {
	if err := w.exec(w.addCommit, chain, int64(c.Seq()), c.ID, labels, c.Header, refs); err != nil {
		return err
	}
	if err := w.addBlobs(chain, c); err != nil {
		return err
	}
	if err := w.addEntries(chain, c.Pending); err != nil || c.TTL == 0 {
		return err
	}
	return w.exec(w.setExpires, c.Thread, w.now+millis(c.TTL))
}

// head is a row of the table head, with the lease and the expiry of its thread.
type head struct {
	chain int64
	seq   uint64
	id    string
	lease
	expires int64
}

// find returns the head of a chain, or a zero head when there is none. It discards a thread that
// has expired.
func (w *writer) find(k checkpoint.Key) (h head, err error) {
	err = w.head.QueryRowContext(context.Background(), k.Thread, k.Namespace).
		Scan(&h.chain, &h.seq, &h.id, &h.fence, &h.owner, &h.until, &h.expires, &h.log)
	if err == nil && h.expires > 0 && h.expires <= w.now {
		return head{}, w.bury(k.Thread)
	}
	return h, err
}

// findFor is find for a writer with a fence. It returns a FencedError when the thread has another.
func (w *writer) findFor(k checkpoint.Key, fence string) (head, error) {
	h, err := w.find(k)
	if err == nil && h.fence != fence {
		err = &checkpoint.FencedError{Thread: k.Thread, Owner: h.owner}
	}
	return h, err
}

// move makes c the head of the chain, and removes the pending entries of the old head.
func (w *writer) move(chain int64, c checkpoint.Commit) (int64, error) {
	if c.Head == 0 {
		err := w.found.QueryRowContext(context.Background(), c.Thread, c.Namespace, int64(c.Seq()), c.ID).Scan(&chain)
		return chain, err
	}
	if err := w.exec(w.advance, int64(c.Seq()), c.ID, chain); err != nil {
		return 0, err
	}
	return chain, w.exec(w.dropPending, chain)
}

func (w *writer) addBlobs(chain int64, c checkpoint.Commit) error {
	for _, b := range c.Blobs {
		err := w.exec(w.addBlob, chain, b.Field, int64(b.Base), b.Chunk, b.Data)
		if code(err)&0xff == codes.SQLITE_CONSTRAINT {
			return fmt.Errorf("thread %q, namespace %q, commit %d: chunk %d of field %q, base %d, is stored already; a blob is written once: %w",
				c.Thread, c.Namespace, c.Seq(), b.Chunk, b.Field, b.Base, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Put implements checkpoint.Store.
func (s *Store) Put(ctx context.Context, p checkpoint.Pending) error {
	p.Entries = ownedEntries(p.Entries)
	return s.submit(ctx, func(w *writer) error { return w.put(p) })
}

// put stores pending entries of the head or refuses them.
func (w *writer) put(p checkpoint.Pending) error {
	h, err := w.findFor(p.Key, p.Fence)
	switch {
	case err != nil:
		return err
	case h.seq != p.Head:
		return &checkpoint.ConflictError{Key: p.Key, Want: p.Head, Head: h.seq}
	case h.seq == 0:
		return fmt.Errorf("%w: thread %q, namespace %q has no commit to put entries beside", checkpoint.ErrNotFound, p.Thread, p.Namespace)
	}
	return w.addEntries(h.chain, p.Entries)
}

func (w *writer) addEntries(chain int64, entries []checkpoint.Entry) error {
	for _, e := range entries {
		stmt := w.setEntry
		if e.Keep {
			stmt = w.keepEntry
		}
		if err := w.exec(stmt, chain, e.Task, e.Slot, e.Data); err != nil {
			return err
		}
	}
	return nil
}

// Delete implements checkpoint.Store.
func (s *Store) Delete(ctx context.Context, thread string) error {
	return s.submit(ctx, func(w *writer) error { return w.execAll(w.erase, thread) })
}

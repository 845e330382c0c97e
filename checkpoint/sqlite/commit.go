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
	if err := checkpoint.CheckThread(c.Thread); err != nil {
		return s.typed(err)
	}
	refs := encodeRefs(c.Refs)
	c.Refs = nil
	c.Header = owned(c.Header)
	c.Blobs = slices.Clone(c.Blobs)
	for i := range c.Blobs {
		c.Blobs[i].Data = owned(c.Blobs[i].Data)
	}
	return s.submit(ctx, func(w *writer) error { return w.add(c, refs) })
}

// owned copies a slice, since the caller may go away and reuse it. A column wants
// bytes, even when there are none.
func owned(b []byte) []byte {
	if len(b) == 0 {
		return []byte{}
	}
	return bytes.Clone(b)
}

// add stores a commit or refuses it.
func (w *writer) add(c checkpoint.Commit, refs []byte) error {
	h, err := w.find(c.Key)
	switch {
	case err != nil:
		return err
	case h.seq > 0 && h.seq == c.Seq() && h.id == c.ID:
		return nil
	case h.seq != c.Head:
		return &checkpoint.ConflictError{Key: c.Key, Want: c.Head, Head: h.seq}
	}
	chain, err := w.move(h.chain, c)
	if err != nil {
		return err
	}
	if err := w.exec(w.addCommit, chain, int64(c.Seq()), c.ID, c.Header, refs); err != nil {
		return err
	}
	return w.addBlobs(chain, c)
}

// head is a row of the table.
type head struct {
	chain int64
	seq   uint64
	id    string
}

// find returns the head of a chain, or the zero head.
func (w *writer) find(k checkpoint.Key) (h head, err error) {
	err = w.head.QueryRowContext(context.Background(), k.Thread, k.Namespace).Scan(&h.chain, &h.seq, &h.id)
	if errors.Is(err, sql.ErrNoRows) {
		return head{}, nil
	}
	return h, err
}

// move lets the head name c, and drops the entries that were beside it.
func (w *writer) move(chain int64, c checkpoint.Commit) (int64, error) {
	if c.Head == 0 {
		err := w.start.QueryRowContext(context.Background(), c.Thread, c.Namespace, c.ID).Scan(&chain)
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
	p.Entries = slices.Clone(p.Entries)
	for i := range p.Entries {
		p.Entries[i].Data = owned(p.Entries[i].Data)
	}
	return s.submit(ctx, func(w *writer) error { return w.put(p.Key, p.Head, p.Entries) })
}

// put stores entries beside the head or refuses them.
func (w *writer) put(k checkpoint.Key, seq uint64, entries []checkpoint.Entry) error {
	h, err := w.find(k)
	switch {
	case err != nil:
		return err
	case h.seq != seq:
		return &checkpoint.ConflictError{Key: k, Want: seq, Head: h.seq}
	case h.seq == 0:
		return fmt.Errorf("%w: thread %q, namespace %q has no commit to put entries beside", checkpoint.ErrNotFound, k.Thread, k.Namespace)
	}
	for _, e := range entries {
		stmt := w.setEntry
		if e.Keep {
			stmt = w.keepEntry
		}
		if err := w.exec(stmt, h.chain, e.Task, e.Slot, e.Data); err != nil {
			return err
		}
	}
	return nil
}

// Delete implements checkpoint.Store.
func (s *Store) Delete(ctx context.Context, thread string) error {
	return s.submit(ctx, func(w *writer) error {
		for _, stmt := range w.erase {
			if err := w.exec(stmt, thread); err != nil {
				return err
			}
		}
		return nil
	})
}

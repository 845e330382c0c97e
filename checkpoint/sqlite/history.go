package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"math"

	"github.com/weftrun/weft/checkpoint"
)

// pageSize is how many snapshots a listing reads at once. The file is not held
// between pages, so a slow reader is in nobody's way.
const pageSize = 64

// History implements checkpoint.Store. Commits that are made while it is read do not
// show. When the thread is deleted meanwhile, it ends.
func (s *Store) History(ctx context.Context, k checkpoint.Key, q checkpoint.Query) iter.Seq2[checkpoint.Snapshot, error] {
	return func(yield func(checkpoint.Snapshot, error) bool) {
		l := log{store: s, key: k, before: math.MaxInt64}
		if q.Before > 0 {
			l.before = min(l.before, q.Before)
		}
		inPages(ctx, q.Limit, l.read, yield)
	}
}

// log reads a chain page by page.
type log struct {
	store  *Store
	key    checkpoint.Key
	chain  int64 // 0 until the first page is read
	before uint64
}

func (l *log) read(ctx context.Context, n int) (page []checkpoint.Snapshot, err error) {
	err = l.store.view(ctx, func(v *view) error {
		h, err := v.head(l.key)
		switch {
		case errors.Is(err, sql.ErrNoRows), err == nil && l.chain != 0 && l.chain != h.chain:
			return nil
		case err != nil:
			return err
		}
		l.chain = h.chain
		page, err = v.page(h, l.key, l.before, n)
		return err
	})
	if len(page) > 0 {
		l.before = page[len(page)-1].Seq
	}
	return page, err
}

// inPages yields what read returns. read is asked for n snapshots and returns fewer
// when there are no more. What it read before an error is yielded before the error.
func inPages(ctx context.Context, limit int, read func(ctx context.Context, n int) ([]checkpoint.Snapshot, error), yield func(checkpoint.Snapshot, error) bool) {
	for left := limit; limit <= 0 || left > 0; left -= pageSize {
		n := pageSize
		if limit > 0 {
			n = min(n, left)
		}
		page, err := read(ctx, n)
		for i := 0; i < len(page) && ctx.Err() == nil; i++ {
			if !yield(page[i], nil) {
				return
			}
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			yield(checkpoint.Snapshot{}, err)
			return
		}
		if len(page) < n {
			return
		}
	}
}

// page returns at most n commits before a number, newest first, without gaps.
func (v *view) page(h head, k checkpoint.Key, before uint64, n int) (page []checkpoint.Snapshot, err error) {
	want := min(h.seq, before-1)
	err = v.query(v.stmts.page, func(rows *sql.Rows) error {
		snap := checkpoint.Snapshot{Key: k, Head: h.seq}
		var refs []byte
		if err := rows.Scan(&snap.Seq, &snap.ID, &snap.Header, &refs); err != nil {
			return err
		}
		if snap.Seq != want {
			return missingCommit(k, want)
		}
		if err := setRefs(&snap, refs); err != nil {
			return err
		}
		want--
		page = append(page, snap)
		return nil
	}, h.chain, int64(before), n)
	if err == nil && len(page) < n && want > 0 {
		err = missingCommit(k, want)
	}
	if err == nil && len(page) > 0 && page[0].Seq == h.seq {
		err = v.pending(h.chain, &page[0])
	}
	return page, err
}

func missingCommit(k checkpoint.Key, seq uint64) error {
	return &checkpoint.CorruptError{Key: k, Seq: seq, Field: "header", Why: "the commit is missing"}
}

// Threads implements checkpoint.Store. Threads that start or end while it is read may
// show or not; every other thread shows once.
func (s *Store) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Snapshot, error] {
	return func(yield func(checkpoint.Snapshot, error) bool) {
		after := q.After
		read := func(ctx context.Context, n int) (page []checkpoint.Snapshot, err error) {
			err = s.view(ctx, func(v *view) error {
				page, err = v.roots(after, n)
				return err
			})
			if len(page) > 0 {
				after = page[len(page)-1].Thread
			}
			return page, err
		}
		inPages(ctx, q.Limit, read, yield)
	}
}

// roots returns the heads of the first n threads after one.
func (v *view) roots(after string, n int) (page []checkpoint.Snapshot, err error) {
	var heads []head
	var keys []checkpoint.Key
	err = v.query(v.stmts.roots, func(rows *sql.Rows) error {
		var h head
		var k checkpoint.Key
		err := rows.Scan(&h.chain, &k.Thread, &h.seq)
		heads, keys = append(heads, h), append(keys, k)
		return err
	}, after, n)
	for i := 0; i < len(heads) && err == nil; i++ {
		var snap checkpoint.Snapshot
		if snap, err = v.commit(heads[i], keys[i], heads[i].seq); err == nil {
			page = append(page, snap)
		}
	}
	return page, err
}

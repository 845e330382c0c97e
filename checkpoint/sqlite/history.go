package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"math"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/sqlscan"
)

// History implements checkpoint.Store. It leaves out commits that are made during the iteration,
// and ends when the thread is deleted.
func (s *Store) History(ctx context.Context, k checkpoint.Key, q checkpoint.Query) iter.Seq2[checkpoint.Snapshot, error] {
	return func(yield func(checkpoint.Snapshot, error) bool) {
		l := log{store: s, key: k, where: q.Where, before: math.MaxInt64}
		if q.Before > 0 {
			l.before = min(l.before, q.Before)
		}
		sqlscan.Yield(ctx, q.Limit, l.read, yield)
	}
}

// log reads a chain page by page.
type log struct {
	store  *Store
	key    checkpoint.Key
	where  map[string]string
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
		page, err = v.page(h, l.key, checkpoint.Query{Before: l.before, Limit: n, Where: l.where})
		return err
	})
	if len(page) > 0 {
		l.before = page[len(page)-1].Seq
	}
	return page, err
}

// page returns the commits that a query selects, newest first. All bounds of the query must be set.
// A missing head is an error.
func (v *view) page(h head, k checkpoint.Key, q checkpoint.Query) (page []checkpoint.Snapshot, err error) {
	cond, args := having(q.Where, "labels")
	args = append(append([]any{h.chain, int64(q.Before)}, args...), q.Limit)
	rows, err := v.tx.QueryContext(v.ctx, "SELECT seq, id, labels, header, refs FROM commits WHERE chain = ? AND seq < ?"+cond+" ORDER BY seq DESC LIMIT ?", args...)
	err = forEach(rows, err, func(rows *sql.Rows) error {
		snap := checkpoint.Snapshot{Key: k, Head: h.seq}
		var labels, refs []byte
		if err := rows.Scan(&snap.Seq, &snap.ID, &labels, &snap.Header, &refs); err != nil {
			return err
		}
		if err := setColumns(&snap, labels, refs); err != nil {
			return err
		}
		page = append(page, snap)
		return nil
	})
	if err != nil {
		return page, err
	}
	switch atHead := len(page) > 0 && page[0].Seq == h.seq; {
	case atHead:
		err = v.pending(h.chain, &page[0])
	case q.Before > h.seq && len(q.Where) == 0:
		return nil, missingCommit(k, h.seq)
	}
	return page, err
}

func missingCommit(k checkpoint.Key, seq uint64) error {
	return &checkpoint.CorruptError{Key: k, Seq: seq, Field: "header", Why: "the commit is missing"}
}

// Threads implements checkpoint.Store. It returns each thread once. Threads that start or end
// during the iteration may be missing.
func (s *Store) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Snapshot, error] {
	return func(yield func(checkpoint.Snapshot, error) bool) {
		after := q.After
		read := func(ctx context.Context, n int) (page []checkpoint.Snapshot, err error) {
			err = s.view(ctx, func(v *view) error {
				page, err = v.roots(after, n, q.Where)
				return err
			})
			if len(page) > 0 {
				after = page[len(page)-1].Thread
			}
			return page, err
		}
		sqlscan.Yield(ctx, q.Limit, read, yield)
	}
}

// roots returns the heads of the first n threads after one that have some labels. It includes heads
// whose commit is missing, which the caller reports as damage.
func (v *view) roots(after string, n int, where map[string]string) (page []checkpoint.Snapshot, err error) {
	text, args := "SELECT h.chain, h.thread, h.seq FROM head h", []any{after, v.now}
	if cond, labels := having(where, "c.labels"); cond == "" {
		text += " WHERE h.ns = '' AND h.thread > ?" + there
	} else {
		text += " LEFT JOIN commits c ON c.chain = h.chain AND c.seq = h.seq WHERE h.ns = '' AND h.thread > ?" + there +
			" AND (c.seq IS NULL OR 1" + cond + ")"
		args = append(args, labels...)
	}
	var heads []head
	var keys []checkpoint.Key
	rows, err := v.tx.QueryContext(v.ctx, text+" ORDER BY h.thread LIMIT ?", append(args, n)...)
	err = forEach(rows, err, func(rows *sql.Rows) error {
		var h head
		var k checkpoint.Key
		err := rows.Scan(&h.chain, &k.Thread, &h.seq)
		heads, keys = append(heads, h), append(keys, k)
		return err
	})
	for i := 0; i < len(heads) && err == nil; i++ {
		var snap checkpoint.Snapshot
		if snap, err = v.commit(heads[i], keys[i], heads[i].seq); err == nil {
			page = append(page, snap)
		}
	}
	return page, err
}

package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
)

// Load implements checkpoint.Store.
func (s *Store) Load(ctx context.Context, k checkpoint.Key, seq uint64) (snap checkpoint.Snapshot, err error) {
	err = s.view(ctx, func(v *view) error {
		snap, err = v.load(k, seq)
		return err
	})
	if err != nil {
		return checkpoint.Snapshot{}, err
	}
	return snap, nil
}

// reading holds the statements of the readers.
type reading struct {
	head, commit, page, roots, spaces, blobs, pending *sql.Stmt
}

func (r *reading) prepare(ctx context.Context, db *sql.DB) error {
	for _, p := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&r.head, "SELECT chain, seq FROM head WHERE thread = ? AND ns = ?"},
		{&r.commit, "SELECT id, header, refs FROM commits WHERE chain = ? AND seq = ?"},
		{&r.page, "SELECT seq, id, header, refs FROM commits WHERE chain = ? AND seq < ? ORDER BY seq DESC LIMIT ?"},
		{&r.roots, "SELECT chain, thread, seq FROM head WHERE ns = '' AND thread > ? ORDER BY thread LIMIT ?"},
		{&r.spaces, "SELECT ns FROM head WHERE thread = ? ORDER BY ns"},
		{&r.blobs, "SELECT chunk, data FROM blobs WHERE chain = ? AND field = ? AND base = ? AND chunk BETWEEN 0 AND ? ORDER BY chunk"},
		{&r.pending, "SELECT task, slot, data FROM pending WHERE chain = ? ORDER BY task, slot"},
	} {
		stmt, err := db.PrepareContext(ctx, p.text)
		if err != nil {
			return err
		}
		*p.stmt = stmt
	}
	return nil
}

// view is a consistent look at the file. It lives as long as view's f runs.
type view struct {
	ctx   context.Context
	tx    *sql.Tx
	stmts *reading
}

// view runs f on a snapshot of the file. f must not call the user's code.
func (s *Store) view(ctx context.Context, f func(*view) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := ctx.Err(); err != nil {
		return s.typed(err)
	}
	if s.closed {
		return fmt.Errorf("%w: %s", checkpoint.ErrClosed, s.path)
	}
	tx, err := s.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return s.typed(err)
	}
	defer tx.Rollback()
	err = f(&view{ctx, tx, &s.reads})
	if err != nil && ctx.Err() != nil {
		err = ctx.Err() // instead of what its end did to the transaction
	}
	return s.typed(err)
}

// query runs a statement and calls each with every row.
func (v *view) query(stmt *sql.Stmt, each func(*sql.Rows) error, args ...any) error {
	rows, err := v.tx.StmtContext(v.ctx, stmt).QueryContext(v.ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (v *view) load(k checkpoint.Key, seq uint64) (snap checkpoint.Snapshot, err error) {
	h, err := v.head(k)
	if err != nil {
		return snap, notFound(err, k, seq)
	}
	if seq == 0 {
		seq = h.seq
	}
	if seq > h.seq {
		return snap, notFound(sql.ErrNoRows, k, seq)
	}
	if snap, err = v.commit(h, k, seq); err != nil {
		return snap, err
	}
	for _, r := range snap.Refs {
		if err := v.blobs(h.chain, r, &snap); err != nil {
			return snap, err
		}
	}
	return snap, nil
}

// head returns sql.ErrNoRows when there is no such chain.
func (v *view) head(k checkpoint.Key) (h head, err error) {
	err = v.tx.StmtContext(v.ctx, v.stmts.head).QueryRowContext(v.ctx, k.Thread, k.Namespace).Scan(&h.chain, &h.seq)
	return h, err
}

// commit returns a commit without its blobs, and with the pending entries if it is
// the head. A chain has no gaps, so a commit that is missing was damaged.
func (v *view) commit(h head, k checkpoint.Key, seq uint64) (snap checkpoint.Snapshot, err error) {
	snap = checkpoint.Snapshot{Key: k, Seq: seq, Head: h.seq}
	found := false
	err = v.query(v.stmts.commit, func(rows *sql.Rows) error {
		found = true
		var refs []byte
		if err := rows.Scan(&snap.ID, &snap.Header, &refs); err != nil {
			return err
		}
		return setRefs(&snap, refs)
	}, h.chain, int64(seq))
	switch {
	case err != nil:
		return snap, err
	case !found:
		return snap, missingCommit(k, seq)
	case seq == h.seq:
		return snap, v.pending(h.chain, &snap)
	}
	return snap, nil
}

func setRefs(snap *checkpoint.Snapshot, b []byte) (err error) {
	if snap.Refs, err = decodeRefs(b); err != nil {
		return &checkpoint.CorruptError{Key: snap.Key, Seq: snap.Seq, Field: "header", Why: err.Error()}
	}
	return nil
}

// blobs adds the chunks 0 to r.Chunks, all of them.
func (v *view) blobs(chain int64, r checkpoint.Ref, snap *checkpoint.Snapshot) error {
	next := 0
	missing := func() error {
		why := fmt.Sprintf("chunk %d of base %d is missing", next, r.Base)
		return &checkpoint.CorruptError{Key: snap.Key, Seq: snap.Seq, Field: r.Field, Why: why}
	}
	err := v.query(v.stmts.blobs, func(rows *sql.Rows) error {
		b := checkpoint.Blob{Field: r.Field, Base: r.Base}
		if err := rows.Scan(&b.Chunk, &b.Data); err != nil {
			return err
		}
		if b.Chunk != next {
			return missing()
		}
		next++
		snap.Blobs = append(snap.Blobs, b)
		return nil
	}, chain, r.Field, int64(r.Base), r.Chunks)
	if err == nil && next <= r.Chunks {
		return missing()
	}
	return err
}

func (v *view) pending(chain int64, snap *checkpoint.Snapshot) error {
	return v.query(v.stmts.pending, func(rows *sql.Rows) error {
		var e checkpoint.Entry
		if err := rows.Scan(&e.Task, &e.Slot, &e.Data); err != nil {
			return err
		}
		snap.Pending = append(snap.Pending, e)
		return nil
	}, chain)
}

// Namespaces implements checkpoint.Store.
func (s *Store) Namespaces(ctx context.Context, thread string) (list []string, err error) {
	err = s.view(ctx, func(v *view) error {
		return v.query(v.stmts.spaces, func(rows *sql.Rows) error {
			var ns string
			err := rows.Scan(&ns)
			list = append(list, ns)
			return err
		}, thread)
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

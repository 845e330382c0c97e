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

// there is the condition that a thread has not expired; its argument is the time.
const there = " AND NOT EXISTS (SELECT 1 FROM threads t WHERE t.thread = h.thread AND t.expires > 0 AND t.expires <= ?)"

// reading has the statements of the readers.
type reading struct {
	head, commit, spaces, pending *sql.Stmt
	blobs                         [len(batches)]*sql.Stmt
}

func (r *reading) prepare(ctx context.Context, db *sql.DB) error {
	for _, p := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&r.head, "SELECT h.chain, h.seq FROM head h WHERE h.thread = ? AND h.ns = ?" + there},
		{&r.commit, "SELECT id, labels, header, refs FROM commits WHERE chain = ? AND seq = ?"},
		{&r.spaces, "SELECT h.ns FROM head h WHERE h.thread = ?" + there + " ORDER BY h.ns"},
		{&r.pending, "SELECT task, slot, data FROM pending WHERE chain = ? ORDER BY task, slot"},
		{&r.blobs[0], blobsOf(batches[0])},
		{&r.blobs[1], blobsOf(batches[1])},
	} {
		stmt, err := db.PrepareContext(ctx, p.text)
		if err != nil {
			return err
		}
		*p.stmt = stmt
	}
	return nil
}

// view is a consistent snapshot of the file. It is valid while the f of Store.view runs.
type view struct {
	ctx   context.Context
	tx    *sql.Tx
	stmts *reading
	stmt  *sql.Stmt // of the text of viewFor; nil if it is not prepared
	now   int64     // in milliseconds
}

// view runs f on a snapshot of the file. f must not call user code.
func (s *Store) view(ctx context.Context, f func(*view) error) error { return s.viewFor(ctx, "", f) }

// viewFor is view for an f that runs a text, which is prepared before, unless it is empty.
func (s *Store) viewFor(ctx context.Context, text string, f func(*view) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := ctx.Err(); err != nil {
		return s.typed(err)
	}
	if s.closed {
		return fmt.Errorf("%w: %s", checkpoint.ErrClosed, s.path)
	}
	var stmt *sql.Stmt
	if text != "" { // before the transaction has a connection, as this may need another
		var err error
		if stmt, err = s.texts.of(ctx, text); err != nil {
			return s.typed(err)
		}
	}
	tx, err := s.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return s.typed(err)
	}
	defer tx.Rollback()
	err = f(&view{ctx, tx, &s.reads, stmt, s.now().UnixMilli()})
	if err != nil && ctx.Err() != nil {
		err = ctx.Err() // instead of the transaction's error, which follows from it
	}
	return s.typed(err)
}

// forRows runs a query on a snapshot of the file, and f for each row until f returns false.
func (s *Store) forRows(ctx context.Context, f func(*sql.Rows) (bool, error), text string, args ...any) error {
	return s.viewFor(ctx, text, func(v *view) error {
		rows, err := v.rows(text, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if more, err := f(rows); err != nil || !more {
				return err
			}
		}
		return rows.Err()
	})
}

// rows runs the text of viewFor, or any if that is empty.
func (v *view) rows(text string, args ...any) (*sql.Rows, error) {
	if v.stmt == nil {
		return v.tx.QueryContext(v.ctx, text, args...)
	}
	return v.tx.StmtContext(v.ctx, v.stmt).QueryContext(v.ctx, args...)
}

// query runs a statement and calls each with every row.
func (v *view) query(stmt *sql.Stmt, each func(*sql.Rows) error, args ...any) error {
	rows, err := v.tx.StmtContext(v.ctx, stmt).QueryContext(v.ctx, args...)
	return forEach(rows, err, each)
}

func forEach(rows *sql.Rows, err error, each func(*sql.Rows) error) error {
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
		return snap, notFound(err, k, seq)
	}
	return snap, v.blobs(h.chain, &snap)
}

// head returns sql.ErrNoRows when there is no such chain.
func (v *view) head(k checkpoint.Key) (h head, err error) {
	err = v.tx.StmtContext(v.ctx, v.stmts.head).QueryRowContext(v.ctx, k.Thread, k.Namespace, v.now).Scan(&h.chain, &h.seq)
	return h, err
}

// commit returns a commit without its blobs, and with the pending entries if it is
// the head. It returns sql.ErrNoRows when there is none.
func (v *view) commit(h head, k checkpoint.Key, seq uint64) (snap checkpoint.Snapshot, err error) {
	snap = checkpoint.Snapshot{Key: k, Seq: seq, Head: h.seq}
	found := false
	err = v.query(v.stmts.commit, func(rows *sql.Rows) error {
		found = true
		var labels, refs []byte
		if err := rows.Scan(&snap.ID, &labels, &snap.Header, &refs); err != nil {
			return err
		}
		return setColumns(&snap, labels, refs)
	}, h.chain, int64(seq))
	switch {
	case err != nil:
		return snap, err
	case !found && seq == h.seq:
		return snap, missingCommit(k, seq)
	case !found:
		return snap, sql.ErrNoRows
	case seq == h.seq:
		return snap, v.pending(h.chain, &snap)
	}
	return snap, nil
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
		}, thread, v.now)
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

package postgres

import (
	"context"
	"errors"
	"iter"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/sqlscan"
)

// History implements checkpoint.Store. Commits that are made while it is read do not
// show. When the thread is deleted meanwhile, it ends.
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

func (l *log) read(ctx context.Context, n int) ([]checkpoint.Snapshot, error) {
	where, n := ask(l.where, n)
	args := []any{[]byte(l.key.Thread), []byte(l.key.Namespace), l.chain, int64(l.before), where, int64(n)}
	return l.store.page(ctx, l.store.text.history, args, func(rows pgx.Rows) (snap checkpoint.Snapshot, err error) {
		var r row
		if err := rows.Scan(append([]any{&l.chain}, r.places()...)...); err != nil {
			return snap, err
		}
		head := uint64(*r.head)
		switch whole := l.before > head && len(l.where) == 0; {
		case whole && (r.seq == nil || uint64(*r.seq) != head):
			return snap, missingCommit(l.key, head)
		case r.seq == nil:
			return snap, errNothing
		}
		l.before = uint64(*r.seq)
		return r.snapshot(l.key)
	})
}

// errNothing is returned for a row that is none.
var errNothing = errors.New("postgres: no commit")

// Threads implements checkpoint.Store. Threads that start or end while it is read may
// show or not; every other thread shows once.
func (s *Store) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Snapshot, error] {
	return func(yield func(checkpoint.Snapshot, error) bool) {
		after := q.After
		read := func(ctx context.Context, n int) ([]checkpoint.Snapshot, error) {
			where, n := ask(q.Where, n)
			text, args := s.text.threads, []any{[]byte(after), int64(n)}
			if len(q.Where) > 0 {
				text, args = s.text.labelled, append(args, where)
			}
			return s.page(ctx, text, args, func(rows pgx.Rows) (checkpoint.Snapshot, error) {
				var thread []byte
				var r row
				if err := rows.Scan(append([]any{&thread}, r.places()...)...); err != nil {
					return checkpoint.Snapshot{}, err
				}
				after = string(thread)
				return r.snapshot(checkpoint.Key{Thread: after})
			})
		}
		sqlscan.Yield(ctx, q.Limit, read, yield)
	}
}

// ask returns the labels to ask for, and for how many rows: for none when no label that
// is stored can be like these, since those are text.
func ask(where map[string]string, n int) (labels string, rows int) {
	for k, v := range where {
		if !utf8.ValidString(k+v) || strings.ContainsRune(k+v, 0) {
			return "{}", 0
		}
	}
	return encodeLabels(where), n
}

// page returns what read makes of the rows of a query. What it read before an error
// comes with the error.
func (s *Store) page(ctx context.Context, text string, args []any, read func(pgx.Rows) (checkpoint.Snapshot, error)) (page []checkpoint.Snapshot, err error) {
	err = s.call(ctx, false, func(ctx context.Context, conn *pgxpool.Conn) error {
		page = nil
		rows, err := conn.Query(ctx, text, append([]any{s.mode}, args...)...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			snap, err := read(rows)
			if err == errNothing {
				continue
			}
			if err != nil {
				return err
			}
			page = append(page, snap)
		}
		return rows.Err()
	})
	return page, err
}

// Namespaces implements checkpoint.Store.
func (s *Store) Namespaces(ctx context.Context, thread string) (list []string, err error) {
	err = s.call(ctx, false, func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, s.text.namespaces, s.mode, []byte(thread))
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
			var ns []byte
			err := row.Scan(&ns)
			return string(ns), err
		})
		return err
	})
	return list, err
}

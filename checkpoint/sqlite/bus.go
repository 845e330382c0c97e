package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/topic"
)

//go:embed events.sql
var eventSchema string

// Bus returns a bus in this file, for all processes that share it. It stores the newest keep events
// of each topic, 10,000 if keep is 0. It creates its tables if they are missing. Followers in
// other processes get an event within 20 ms. The bus is usable until the Store is closed.
func (s *Store) Bus(ctx context.Context, keep int) (topic.Bus, error) {
	err := s.submit(ctx, func(w *writer) error {
		_, err := w.conn.ExecContext(context.Background(), eventSchema)
		return err
	})
	if err != nil {
		return nil, err
	}
	return topic.Over(events{s}, keep, 0), nil
}

// events is a Store as a topic.Table.
type events struct{ *Store }

var _ topic.Versioned = events{}

// Append implements topic.Table.
func (e events) Append(ctx context.Context, name string, data []byte, keep int) error {
	data = owned(data)
	return e.submit(ctx, func(w *writer) error {
		var last int64
		err := w.queryRow(`INSERT INTO topics (name, last) VALUES (?, 1)
			ON CONFLICT (name) DO UPDATE SET last = last + 1 RETURNING last`, []byte(name)).Scan(&last)
		if err == nil {
			err = w.run("INSERT INTO events (topic, position, data) VALUES (?, ?, ?)", []byte(name), last, data)
		}
		if err == nil && last > int64(keep) {
			err = w.run("DELETE FROM events WHERE topic = ? AND position <= ?", []byte(name), last-int64(keep))
		}
		return err
	})
}

// Remove implements topic.Table.
func (e events) Remove(ctx context.Context, name string) error {
	return e.submit(ctx, func(w *writer) error {
		err := w.run("DELETE FROM events WHERE topic = ?", []byte(name))
		if err == nil {
			err = w.run("DELETE FROM topics WHERE name = ?", []byte(name))
		}
		return err
	})
}

// Last implements topic.Table.
func (e events) Last(ctx context.Context, names ...string) ([]uint64, error) {
	last := make([]uint64, len(names))
	prepared := ""
	if len(names) == 1 {
		prepared = lastOf(1)
	}
	err := e.viewFor(ctx, prepared, func(v *view) error {
		for from := 0; from < len(names); from += lastNames {
			some := names[from:min(from+lastNames, len(names))]
			args := make([]any, len(some))
			for i, name := range some {
				args[i] = []byte(name)
			}
			rows, err := v.rows(lastOf(len(some)), args...)
			i := from
			err = forEach(rows, err, func(rows *sql.Rows) error {
				i++
				return rows.Scan(&last[i-1])
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return last, err
}

// lastOf is the query for the newest positions of n topics.
func lastOf(n int) string {
	return "WITH n (name) AS (VALUES (?)" + strings.Repeat(", (?)", n-1) + ") SELECT coalesce(t.last, 0) FROM n LEFT JOIN topics t ON t.name = n.name"
}

// lastNames is how many topics one statement asks for.
const lastNames = 500

// watch is a connection that notices whether the file has changed.
type watch struct {
	db *sql.DB

	mu     sync.Mutex
	conn   *sql.Conn // nil before the first use, and after an error
	opened uint64    // counts the connections: only the versions of one can be compared
}

// version returns a number that differs from each one before it if another connection has committed
// in between.
func (w *watch) version(ctx context.Context) (uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn == nil {
		conn, err := w.db.Conn(ctx)
		if err != nil {
			return 0, err
		}
		w.conn = conn
		w.opened++
	}
	var n uint64
	if err := w.conn.QueryRowContext(context.WithoutCancel(ctx), "PRAGMA data_version").Scan(&n); err != nil {
		_ = w.conn.Close() // the error is that of the query
		w.conn = nil
		return 0, err
	}
	return w.opened<<32 | n, nil // SQLite counts in 32 bits
}

func (w *watch) close() error {
	if w.conn != nil {
		_ = w.conn.Close() // it only goes back to the pool
	}
	return w.db.Close()
}

// Version implements topic.Versioned.
func (e events) Version(ctx context.Context) (uint64, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return 0, fmt.Errorf("%w: %s", checkpoint.ErrClosed, e.path)
	}
	n, err := e.watch.version(ctx)
	return n, e.typed(err)
}

// Read implements topic.Table.
func (e events) Read(ctx context.Context, name string, after uint64, limit int) (list []topic.Event, err error) {
	size := 0
	err = e.forRows(ctx, func(rows *sql.Rows) (bool, error) {
		var one topic.Event
		err := rows.Scan(&one.Position, &one.Data)
		list, size = append(list, one), size+len(one.Data)
		return size < topic.MaxPage, err
	}, "SELECT position, data FROM events WHERE topic = ? AND position > ? ORDER BY position LIMIT ?", []byte(name), int64(min(after, 1<<62)), limit)
	return list, err
}

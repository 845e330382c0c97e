package sqlite

import (
	"context"
	"database/sql"
	_ "embed"

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

var _ topic.Table = events{}

// Append implements topic.Table.
func (e events) Append(ctx context.Context, name string, data []byte, keep int) error {
	if data == nil {
		data = []byte{}
	}
	return e.submit(ctx, func(w *writer) error {
		var last int64
		err := w.conn.QueryRowContext(context.Background(), `INSERT INTO topics (name, last) VALUES (?, 1)
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
	err := e.view(ctx, func(v *view) error {
		for i, name := range names {
			err := v.tx.QueryRowContext(ctx, "SELECT coalesce(max(last), 0) FROM topics WHERE name = ?", []byte(name)).Scan(&last[i])
			if err != nil {
				return err
			}
		}
		return nil
	})
	return last, err
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

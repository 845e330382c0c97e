package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint/memory"
)

//go:embed memories.sql
var memorySchema string

// Memory returns the long-term memory in this file, for all threads and processes that share it. It
// creates the tables if they are missing. Its clock is Config.Now. It gives the guarantees of the
// Store, and is usable until the Store is closed.
//
// A search finds words through an index (FTS5). Conditions are compared with each item below the
// prefix.
func (s *Store) Memory(ctx context.Context) (memory.Store, error) {
	err := s.submit(ctx, func(w *writer) error {
		_, err := w.conn.ExecContext(context.Background(), memorySchema)
		return err
	})
	if err != nil {
		return nil, err
	}
	return memory.Over(memories{s}), nil
}

// memories is a Store as a memory.Table.
type memories struct{ *Store }

// memoryColumns are the columns that scanMemory reads.
const memoryColumns = "m.version, m.ns, m.key, m.value, m.created, m.updated, m.expires, m.refresh, m.write"

// sweepAtOnce is how many rows that have expired one write removes.
const sweepAtOnce = 32

// Write implements memory.Table.
func (m memories) Write(ctx context.Context, w memory.Write) ([]memory.Item, error) {
	type result struct {
		rows    []memory.Item
		refusal error
	}
	var got result // owned by the writer until submit returns nil
	err := m.submit(ctx, func(wr *writer) (err error) {
		got.rows, err = wr.remember(w)
		got.refusal = nil
		if errors.Is(err, memory.ErrConflict) {
			got.refusal, err = err, nil // nothing was written, so the others in the group go on
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return got.rows, got.refusal
}

// remember makes a write in the writer's transaction.
func (w *writer) remember(wr memory.Write) ([]memory.Item, error) {
	now, ns := w.clock(), []byte(memory.Encode(wr.Namespace))
	current := make([]memory.Stored, len(wr.Changes))
	for i, c := range wr.Changes {
		var err error
		current[i], err = w.memoryAt(ns, []byte(c.Key))
		if err != nil {
			return nil, err
		}
	}
	rows, done, err := wr.Plan(now, slices.Clone(current))
	if err != nil || done {
		return rows, err
	}
	for i, c := range wr.Changes {
		if err := w.replaceMemory(wr.ID, c, current[i], &rows[i]); err != nil {
			return nil, err
		}
	}
	return rows, w.sweepMemories(now)
}

func (w *writer) memoryAt(ns, key []byte) (memory.Stored, error) {
	rows, err := w.query("SELECT "+memoryColumns+" FROM memories m WHERE m.ns = ? AND m.key = ?", ns, key)
	if err != nil {
		return memory.Stored{}, err
	}
	defer rows.Close()
	if !rows.Next() {
		return memory.Stored{}, rows.Err()
	}
	stored, err := scanMemory(rows)
	return stored, errors.Join(err, rows.Close())
}

// scanMemory reads a row of memoryColumns.
func scanMemory(rows *sql.Rows) (st memory.Stored, err error) {
	var ns, key, value []byte
	var version, created, updated, expires, refresh int64
	if err := rows.Scan(&version, &ns, &key, &value, &created, &updated, &expires, &refresh, &st.ID); err != nil {
		return st, err
	}
	st.Item = memory.Item{
		Namespace: memory.Decode(string(ns)), Key: string(key), Value: value, Version: uint64(version),
		Created: time.UnixMicro(created).UTC(), Updated: time.UnixMicro(updated).UTC(), Refresh: time.Duration(refresh) * time.Microsecond,
	}
	if expires != 0 {
		st.Expires = time.UnixMicro(expires).UTC()
	}
	return st, nil
}

func unixMicro(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// replaceMemory makes one change, and gives a new row its version.
func (w *writer) replaceMemory(id string, c memory.Change, old memory.Stored, row *memory.Item) error {
	if c.Touch {
		if row.Version == 0 {
			return nil
		}
		return w.run("UPDATE memories SET expires = ? WHERE version = ?", unixMicro(row.Expires), int64(row.Version))
	}
	if old.Version != 0 {
		if err := w.dropMemory(int64(old.Version)); err != nil {
			return err
		}
	}
	if c.Value == nil {
		return nil
	}
	const insert = `INSERT INTO memories (ns, key, value, created, updated, expires, refresh, write)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING version`
	err := w.queryRow(insert, []byte(memory.Encode(row.Namespace)), []byte(row.Key), []byte(row.Value),
		unixMicro(row.Created), unixMicro(row.Updated), unixMicro(row.Expires), row.Refresh.Microseconds(), id).Scan(&row.Version)
	if err != nil || len(c.Words) == 0 {
		return err
	}
	return w.run("INSERT INTO memory_words (rowid, words) VALUES (?, ?)", int64(row.Version), strings.Join(c.Words, " "))
}

func (w *writer) dropMemory(version int64) error {
	if err := w.run("DELETE FROM memories WHERE version = ?", version); err != nil {
		return err
	}
	return w.run("DELETE FROM memory_words WHERE rowid = ?", version)
}

// sweepMemories removes a few rows that have expired.
func (w *writer) sweepMemories(now time.Time) error {
	const few = "SELECT version FROM memories WHERE expires > 0 AND expires <= ? LIMIT ?"
	versions, err := w.integers(few, now.UnixMicro(), sweepAtOnce)
	for i := 0; i < len(versions) && err == nil; i++ {
		err = w.dropMemory(versions[i])
	}
	return err
}

func (w *writer) integers(text string, args ...any) (list []int64, err error) {
	rows, err := w.query(text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, errors.Join(rows.Err(), rows.Close())
}

// Read implements memory.Table.
func (m memories) Read(ctx context.Context, namespace []string, key string) (item memory.Item, found bool, err error) {
	const text = "SELECT " + memoryColumns + " FROM memories m WHERE m.ns = ? AND m.key = ? AND (m.expires = 0 OR m.expires > ?)"
	err = m.forRows(ctx, func(rows *sql.Rows) (bool, error) {
		stored, err := scanMemory(rows)
		item, found = stored.Item, err == nil
		return false, err
	}, text, []byte(memory.Encode(namespace)), []byte(key), m.now().UnixMicro())
	return item, found, err
}

// Scan implements memory.Table. It selects by words; package memory compares the values.
func (m memories) Scan(ctx context.Context, s memory.Scan) (list []memory.Item, more bool, err error) {
	text := "SELECT " + memoryColumns + " FROM memories m WHERE (m.ns, m.key) > (?, ?) AND (m.expires = 0 OR m.expires > ?)"
	args := []any{[]byte(s.After.Namespace), []byte(s.After.Key), m.now().UnixMicro()}
	text, args = inRange(text, args, s.Range)
	if len(s.Words) > 0 {
		text += " AND m.version IN (SELECT rowid FROM memory_words WHERE memory_words MATCH ?)"
		args = append(args, `"`+strings.Join(s.Words, `" AND "`)+`"`) // words are letters, digits and marks
	}
	size := 0
	err = m.forRows(ctx, func(rows *sql.Rows) (bool, error) {
		if more = len(list) == s.Limit || size > memory.MaxPage; more {
			return false, nil
		}
		stored, err := scanMemory(rows)
		list, size = append(list, stored.Item), size+len(stored.Value)
		return true, err
	}, text+" ORDER BY m.ns, m.key LIMIT ?", append(args, s.Limit+1)...)
	return list, more, err
}

// inRange adds the conditions of a range.
func inRange(text string, args []any, r memory.Range) (string, []any) {
	text, args = text+" AND m.ns >= ?", append(args, []byte(r.From))
	if r.Until != "" {
		text, args = text+" AND m.ns < ?", append(args, []byte(r.Until))
	}
	return text, args
}

// Namespaces implements memory.Table.
func (m memories) Namespaces(ctx context.Context, r memory.Range, after string, limit int) (list []string, more bool, err error) {
	text, args := inRange("SELECT DISTINCT m.ns FROM memories m WHERE m.ns > ? AND (m.expires = 0 OR m.expires > ?)",
		[]any{[]byte(after), m.now().UnixMicro()}, r)
	err = m.forRows(ctx, func(rows *sql.Rows) (bool, error) {
		if more = len(list) == limit; more {
			return false, nil
		}
		var ns []byte
		err := rows.Scan(&ns)
		list = append(list, string(ns))
		return true, err
	}, text+" ORDER BY m.ns LIMIT ?", append(args, limit+1)...)
	return list, more, err
}

var (
	_ memory.Table = memories{}
)

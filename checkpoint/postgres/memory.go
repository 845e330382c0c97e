package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/memory"
)

//go:embed sql/memory.sql
var memorySchema string

// Memory returns the long-term memory of this schema, which all threads and processes share.
// Memory creates a missing table; with MigrateNever it returns an ErrUnsupported instead. The
// returned store uses the server's clock. It is usable until s is closed; the items remain in the
// database.
//
// A search by words or by equality can use an index. A write is a transaction of about six round
// trips, and one more for each change. It waits for other writes to the same namespace. A read is
// one round trip. A search makes one for each 256 rows or 8 MiB that it reads. Get of an item with
// Refresh also makes a write.
func (s *Store) Memory(ctx context.Context) (memory.Store, error) {
	if err := s.ensure(ctx, "memories", memorySchema); err != nil {
		return nil, err
	}
	return memory.Over(memories{s}), nil
}

// ensure runs a script, unless the schema already has name: a table, an index or a function that
// the script creates.
func (s *Store) ensure(ctx context.Context, name, script string) error {
	return s.call(ctx, true, func(ctx context.Context, conn *pgxpool.Conn) error {
		there, err := s.has(ctx, conn, name)
		switch {
		case err != nil || there:
			return err
		case s.migrate == MigrateNever:
			return fmt.Errorf("%w: schema %q lacks %q; repeat the same call once on a Store with MigrateUp, as the role that owns the schema", checkpoint.ErrUnsupported, s.schema, name)
		}
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return s.run(ctx, tx, name, script) })
	})
}

// has reports whether the schema has a table, an index or a function with this name.
func (s *Store) has(ctx context.Context, q querier, name string) (there bool, err error) {
	const text = `SELECT EXISTS (SELECT FROM pg_class WHERE relnamespace = n.oid AND relname = $2)
		OR EXISTS (SELECT FROM pg_proc WHERE pronamespace = n.oid AND proname = $2) FROM pg_namespace n WHERE n.nspname = $1`
	err = q.QueryRow(ctx, text, pgx.QueryExecModeExec, s.schema, name).Scan(&there)
	return there, err
}

// run runs a script, unless another process has run it.
func (s *Store) run(ctx context.Context, tx pgx.Tx, name, script string) error {
	if err := lock(ctx, tx, "weft "+s.schema); err != nil {
		return err
	}
	if there, err := s.has(ctx, tx, name); err != nil || there {
		return err
	}
	_, err := tx.Conn().PgConn().Exec(ctx, strings.ReplaceAll(script, "{schema}", quote(s.schema))).ReadAll()
	return err
}

// lock takes an advisory lock, which ends with the transaction.
func lock(ctx context.Context, tx pgx.Tx, name string) error {
	_, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", pgx.QueryExecModeExec, lockKey(name))
	return err
}

// lockKey returns the key of the lock with a name.
func lockKey(name string) int64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return int64(h.Sum64())
}

// memories is a Store as a memory.Table.
type memories struct{ *Store }

var _ memory.Table = memories{}

// memoryColumns are those that scanMemory reads.
const memoryColumns = "m.ns, m.key, m.version, m.value, m.created, m.updated, m.expires, m.refresh, m.write"

// memoryAlive is the condition for a row that has not expired.
const memoryAlive = "(m.expires IS NULL OR m.expires > clock_timestamp())"

// Write implements memory.Table.
func (m memories) Write(ctx context.Context, w memory.Write) (rows []memory.Item, err error) {
	var refusal error
	err = m.call(ctx, true, func(ctx context.Context, conn *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) (err error) {
			rows, err = m.write(ctx, tx, w)
			refusal = nil
			if errors.Is(err, memory.ErrConflict) {
				refusal, err = err, nil // nothing was written
			}
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return rows, refusal
}

func (m memories) write(ctx context.Context, tx pgx.Tx, w memory.Write) ([]memory.Item, error) {
	if err := lock(ctx, tx, "memory "+m.schema+" "+memory.Encode(w.Namespace)); err != nil {
		return nil, err
	}
	now, current, err := m.current(ctx, tx, w)
	if err != nil {
		return nil, err
	}
	rows, done, err := w.Plan(now, current)
	if err != nil || done {
		return rows, err
	}
	return rows, m.apply(ctx, tx, w, rows)
}

// current returns the server's time and the stored rows of the keys that w changes. The caller
// holds the lock of the namespace, so both are at least as new as the last write.
func (m memories) current(ctx context.Context, tx pgx.Tx, w memory.Write) (now time.Time, list []memory.Stored, err error) {
	keys := make([][]byte, len(w.Changes))
	places := map[string]int{}
	for i, c := range w.Changes {
		keys[i], places[c.Key] = []byte(c.Key), i
	}
	if err := tx.QueryRow(ctx, "SELECT clock_timestamp()", m.mode).Scan(&now); err != nil {
		return now, nil, err
	}
	list = make([]memory.Stored, len(keys))
	err = forRows(ctx, m.Store, tx, scanMemory, func(st memory.Stored) bool {
		list[places[st.Key]] = st
		return true
	}, "SELECT "+memoryColumns+" FROM {schema}.memories m WHERE m.ns = $1::bytea AND m.key = ANY($2::bytea[])",
		[]byte(memory.Encode(w.Namespace)), keys)
	return now, list, err
}

// apply makes the changes of w, and sets the versions of the rows that it puts. It also deletes up
// to 32 expired rows of any namespace.
func (m memories) apply(ctx context.Context, tx pgx.Tx, w memory.Write, rows []memory.Item) error {
	for i, c := range w.Changes {
		if err := m.change(ctx, tx, w, c, &rows[i]); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, m.sql(`DELETE FROM {schema}.memories WHERE (ns, key) IN (SELECT m.ns, m.key FROM {schema}.memories m
		WHERE m.expires <= now() LIMIT 32 FOR UPDATE SKIP LOCKED)`), m.mode)
	return err
}

func (m memories) change(ctx context.Context, tx pgx.Tx, w memory.Write, c memory.Change, row *memory.Item) (err error) {
	ns, key := []byte(memory.Encode(w.Namespace)), []byte(c.Key)
	switch {
	case c.Touch:
		_, err = tx.Exec(ctx, m.sql("UPDATE {schema}.memories SET expires = $3 WHERE ns = $1::bytea AND key = $2::bytea AND version = $4::bigint"),
			m.mode, ns, key, timeOrNull(row.Expires), int64(row.Version))
	case c.Value == nil:
		_, err = tx.Exec(ctx, m.sql("DELETE FROM {schema}.memories WHERE ns = $1::bytea AND key = $2::bytea"), m.mode, ns, key)
	default:
		var facts *string
		if f := memory.Facts(c.Value); f != nil {
			facts = new(string(f))
		}
		var version int64
		err = tx.QueryRow(ctx, m.sql(putMemoryText), m.mode, ns, key, c.Value, facts, append([]string{}, c.Words...),
			row.Created, row.Updated, timeOrNull(row.Expires), row.Refresh.Microseconds(), w.ID).Scan(&version)
		row.Version = uint64(version)
	}
	return err
}

const putMemoryText = `INSERT INTO {schema}.memories AS m (ns, key, value, facts, words, created, updated, expires, refresh, write)
	VALUES ($1, $2, $3, $4::text::jsonb, $5, $6, $7, $8, $9, $10)
	ON CONFLICT (ns, key) DO UPDATE SET version = excluded.version, value = excluded.value, facts = excluded.facts,
		words = excluded.words, created = excluded.created, updated = excluded.updated, expires = excluded.expires,
		refresh = excluded.refresh, write = excluded.write
	RETURNING m.version`

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func scanMemory(rows pgx.Rows) (memory.Stored, error) { return scanMemoryAnd(rows) }

// scanMemoryAnd is scanMemory for rows with more columns, which it scans into more.
func scanMemoryAnd(rows pgx.Rows, more ...any) (st memory.Stored, err error) {
	var ns, key, value []byte
	var version, refresh int64
	var expires *time.Time
	err = rows.Scan(append([]any{&ns, &key, &version, &value, &st.Created, &st.Updated, &expires, &refresh, &st.ID}, more...)...)
	st.Namespace, st.Key, st.Value = memory.Decode(string(ns)), string(key), value
	st.Version, st.Refresh = uint64(version), time.Duration(refresh)*time.Microsecond
	st.Created, st.Updated = st.Created.UTC(), st.Updated.UTC()
	if expires != nil {
		st.Expires = expires.UTC()
	}
	return st, err
}

// Read implements memory.Table.
func (m memories) Read(ctx context.Context, namespace []string, key string) (item memory.Item, found bool, err error) {
	err = m.call(ctx, false, func(ctx context.Context, conn *pgxpool.Conn) error {
		item, found = memory.Item{}, false
		return forRows(ctx, m.Store, conn, scanMemory, func(st memory.Stored) bool {
			item, found = st.Item, true
			return true
		}, "SELECT "+memoryColumns+" FROM {schema}.memories m WHERE m.ns = $1::bytea AND m.key = $2::bytea AND "+memoryAlive,
			[]byte(memory.Encode(namespace)), []byte(key))
	})
	return item, found, err
}

// memoryScanText is the part of the query that all scans share.
const memoryScanText = "SELECT " + memoryColumns + ` FROM {schema}.memories m
	WHERE (m.ns, m.key) > ($1::bytea, $2::bytea) AND m.ns >= $3::bytea AND ($4::bytea IS NULL OR m.ns < $4::bytea)
	AND ` + memoryAlive

// Scan implements memory.Table.
func (m memories) Scan(ctx context.Context, s memory.Scan) (list []memory.Item, more bool, err error) {
	text, args := memoryScanQuery(s)
	err = m.call(ctx, false, func(ctx context.Context, conn *pgxpool.Conn) error {
		list, more = nil, false
		size := 0
		return forRows(ctx, m.Store, conn, scanMemory, func(st memory.Stored) bool {
			if more = len(list) == s.Limit || size > memory.MaxPage; more {
				return false
			}
			list, size = append(list, st.Item), size+len(st.Value)
			return true
		}, text, slices.Clone(args)...)
	})
	return list, more, err
}

// memoryScanQuery returns the query of a scan and its parameters.
func memoryScanQuery(s memory.Scan) (text string, args []any) {
	args = append([]any{[]byte(s.After.Namespace), []byte(s.After.Key)}, bounds(s.Range)...)
	narrow, args := narrowed(s.Words, s.Contains, args)
	args = append(args, int64(s.Limit)+1)
	return memoryScanText + narrow + fmt.Sprintf(" ORDER BY m.ns, m.key LIMIT $%d::bigint", len(args)), args
}

// narrowed returns the SQL conditions for words and contains, and args with their values appended.
// A row without facts meets any contains, because its value cannot be searched as jsonb.
func narrowed(words []string, contains []byte, args []any) (text string, all []any) {
	if len(words) > 0 {
		args = append(args, words)
		text += fmt.Sprintf(" AND m.words @> $%d::text[]", len(args))
	}
	if contains != nil {
		args = append(args, string(contains))
		text += fmt.Sprintf(" AND (m.facts IS NULL OR m.facts @> $%d::text::jsonb)", len(args))
	}
	return text, args
}

// bounds returns a range as parameters.
func bounds(r memory.Range) []any {
	var until []byte
	if r.Until != "" {
		until = []byte(r.Until)
	}
	return []any{[]byte(r.From), until}
}

// Namespaces implements memory.Table.
func (m memories) Namespaces(ctx context.Context, r memory.Range, after string, limit int) (list []string, more bool, err error) {
	const text = `SELECT DISTINCT m.ns FROM {schema}.memories m WHERE m.ns > $1::bytea
		AND m.ns >= $2::bytea AND ($3::bytea IS NULL OR m.ns < $3::bytea) AND ` + memoryAlive + ` ORDER BY m.ns LIMIT $4::bigint`
	args := append(append([]any{m.mode, []byte(after)}, bounds(r)...), int64(limit)+1)
	err = m.call(ctx, false, func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, m.sql(text), args...)
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
		list, more = nil, len(found) > limit
		for _, ns := range found[:min(len(found), limit)] {
			list = append(list, string(ns))
		}
		return err
	})
	return list, more, err
}

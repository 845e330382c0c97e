package postgres

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pgvector/pgvector-go"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/memory"
)

//go:embed sql/vectors.sql
var vectorSchema string

// MaxIndexedDims is the greatest length of vectors in an approximate index of the extension.
const MaxIndexedDims = 2000

// VectorConfig describes the vectors of a memory.Index.
type VectorConfig struct {
	// Name is that of the table, since each model needs a table of its own; "" is "vectors".
	Name string
	// Dims is the length of a vector.
	Dims int
	// Approximate makes an HNSW index. A search is then fast for millions of items, and may leave
	// out some that are similar. It needs version 0.8 of the extension. Otherwise a search compares
	// all vectors below its prefix.
	Approximate bool
}

// Vectors returns an index of the vectors of this schema's memory, by the extension pgvector. It
// makes the extension and the table if they are not there yet, unless Config.Migrate forbids it.
// The error is a memory.ErrNoVectors if the server does not have the extension, or this role may
// not make it: a memory.Index works without, and compares the vectors in this process.
//
// The vectors of an item go with its row. An Index must use them with the Store that Memory
// returns.
func (s *Store) Vectors(ctx context.Context, c VectorConfig) (memory.Vectors, error) {
	c.Name = cmp.Or(c.Name, "vectors")
	switch {
	case !tableName.MatchString(c.Name):
		return nil, fmt.Errorf("%w: VectorConfig.Name must be vectors, or begin with vectors_ and have letters of a to z, digits and _ (got %.100q)", memory.ErrRequest, c.Name)
	case c.Dims < 1 || c.Dims > memory.MaxDims:
		return nil, fmt.Errorf("%w: VectorConfig.Dims must be between 1 and %d (got %d)", memory.ErrRequest, memory.MaxDims, c.Dims)
	case c.Approximate && c.Dims > MaxIndexedDims:
		return nil, fmt.Errorf("%w: an approximate index has at most %d dimensions (got %d)", memory.ErrRequest, MaxIndexedDims, c.Dims)
	}
	if _, err := s.Memory(ctx); err != nil {
		return nil, err
	}
	v := &vectors{Store: s, cfg: c}
	var refusal error // which no other attempt changes
	err := s.call(ctx, true, func(ctx context.Context, conn *pgxpool.Conn) error {
		refusal = nil
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return v.prepare(ctx, tx) })
		if errors.Is(err, memory.ErrNoVectors) || errors.Is(err, memory.ErrRequest) {
			refusal, err = fmt.Errorf("postgres: %w", err), nil
		}
		return err
	})
	if err = cmp.Or(err, refusal); err != nil {
		return nil, err
	}
	return v, nil
}

var tableName = regexp.MustCompile(`^vectors(_[a-z0-9_]{1,40})?$`)

// vectors is a table as memory.Vectors.
type vectors struct {
	*Store
	cfg VectorConfig
	ext string // the quoted schema of the extension
}

var _ memory.Vectors = (*vectors)(nil)

// text writes the names of the schemas and of the table into a statement.
func (v *vectors) text(s string) string {
	return strings.NewReplacer("{schema}", quote(v.schema), "{ext}", v.ext, "{table}", v.cfg.Name, "{dims}", strconv.Itoa(v.cfg.Dims)).Replace(s)
}

// prepare finds or makes the extension and the table.
func (v *vectors) prepare(ctx context.Context, tx pgx.Tx) error {
	if err := lock(ctx, tx, "weft "+v.schema); err != nil {
		return err
	}
	version, err := v.extension(ctx, tx)
	if err != nil {
		return err
	}
	if v.cfg.Approximate && older(version, 0, 8) {
		return fmt.Errorf("%w: an approximate index needs version 0.8 of the extension vector, this one is %s", memory.ErrNoVectors, version)
	}
	var dims int
	err = tx.QueryRow(ctx, `SELECT a.atttypmod FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = $2 AND a.attname = 'v'`, pgx.QueryExecModeExec, v.schema, v.cfg.Name).Scan(&dims)
	switch {
	case err == nil && dims != v.cfg.Dims:
		return fmt.Errorf("%w: the table %s has vectors of %d numbers, not of %d; give the other model a VectorConfig.Name of its own", memory.ErrRequest, v.cfg.Name, dims, v.cfg.Dims)
	case err != nil && !errors.Is(err, pgx.ErrNoRows):
		return err
	}
	text := ""
	if err != nil {
		text = vectorSchema
	}
	if v.cfg.Approximate {
		there, err := v.hasIndex(ctx, tx)
		if err != nil {
			return err
		}
		if !there {
			text += "CREATE INDEX {table}_near ON {schema}.{table} USING hnsw (v {ext}.vector_cosine_ops);"
		}
	}
	switch {
	case text == "":
		return nil
	case v.migrate == MigrateNever:
		return fmt.Errorf("%w: schema %q has no table %s with this index; repeat the same call once on a Store with MigrateUp, as the role that owns the schema", checkpoint.ErrUnsupported, v.schema, v.cfg.Name)
	}
	_, err = tx.Conn().PgConn().Exec(ctx, v.text(text)).ReadAll()
	return err
}

func (v *vectors) hasIndex(ctx context.Context, tx pgx.Tx) (there bool, err error) {
	const text = "SELECT EXISTS (SELECT FROM pg_indexes WHERE schemaname = $1 AND indexname = $2)"
	err = tx.QueryRow(ctx, text, pgx.QueryExecModeExec, v.schema, v.cfg.Name+"_near").Scan(&there)
	return there, err
}

// extension finds the schema of the extension, or makes the extension, and returns its version.
func (v *vectors) extension(ctx context.Context, tx pgx.Tx) (version string, err error) {
	const text = "SELECT n.nspname, e.extversion FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
	var schema string
	for again := true; ; again = false {
		err = tx.QueryRow(ctx, text, pgx.QueryExecModeExec).Scan(&schema, &version)
		if !errors.Is(err, pgx.ErrNoRows) || !again {
			v.ext = quote(schema)
			return version, err
		}
		var available bool
		err = tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector')", pgx.QueryExecModeExec).Scan(&available)
		switch {
		case err != nil:
			return "", err
		case !available:
			return "", fmt.Errorf("%w: the server has no extension vector", memory.ErrNoVectors)
		case v.migrate == MigrateNever:
			return "", fmt.Errorf("%w: the database has no extension vector; create it as a role that is allowed to", memory.ErrNoVectors)
		}
		_, err = tx.Exec(ctx, "CREATE EXTENSION vector", pgx.QueryExecModeExec)
		var refused *pgconn.PgError
		if errors.As(err, &refused) && refused.Code == "42501" {
			return "", fmt.Errorf("%w: this role may not make the extension vector: %s", memory.ErrNoVectors, refused.Message)
		}
		if err != nil {
			return "", err
		}
	}
}

// older reports whether a version such as 0.8.1 is less than major.minor.
func older(version string, major, minor int) bool {
	var a, b int
	_, _ = fmt.Sscanf(version, "%d.%d", &a, &b) // what cannot be read is old
	return a < major || a == major && b < minor
}

// Keep implements memory.Vectors. The rows of the items are locked, so their versions stay.
func (v *vectors) Keep(ctx context.Context, list []memory.Embedded) error {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b memory.Embedded) int {
		return cmp.Or(cmp.Compare(memory.Encode(a.Namespace), memory.Encode(b.Namespace)), cmp.Compare(a.Key, b.Key))
	})
	var ns, keys, allNs, allKeys [][]byte
	var versions, all []int64
	var parts []int32
	var texts []*string
	for _, e := range list {
		n, k := []byte(memory.Encode(e.Namespace)), []byte(e.Key)
		ns, keys, versions = append(ns, n), append(keys, k), append(versions, int64(e.Version))
		for i := range max(1, len(e.Vectors)) {
			var text *string // none for an item without text
			if i < len(e.Vectors) {
				text = new(pgvector.NewVector(e.Vectors[i]).String())
			}
			allNs, allKeys, all = append(allNs, n), append(allKeys, k), append(all, int64(e.Version))
			parts, texts = append(parts, int32(i)), append(texts, text)
		}
	}
	return v.call(ctx, true, func(ctx context.Context, conn *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, v.text(lockItemsText), v.mode, ns, keys); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, v.text(dropVectorsText), v.mode, ns, keys, versions); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, v.text(keepVectorsText), v.mode, allNs, allKeys, all, parts, texts)
			return err
		})
	})
}

const (
	lockItemsText = `SELECT FROM {schema}.memories m JOIN unnest($1::bytea[], $2::bytea[]) AS u (ns, key) ON m.ns = u.ns AND m.key = u.key
		ORDER BY m.ns, m.key FOR SHARE OF m`
	dropVectorsText = `DELETE FROM {schema}.{table} v USING unnest($1::bytea[], $2::bytea[], $3::bigint[]) AS u (ns, key, version), {schema}.memories m
		WHERE v.ns = u.ns AND v.key = u.key AND m.ns = u.ns AND m.key = u.key AND m.version = u.version`
	keepVectorsText = `INSERT INTO {schema}.{table} (ns, key, part, version, v)
		SELECT u.ns, u.key, u.part, u.version, u.v::{ext}.vector
		FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::int[], $5::text[]) AS u (ns, key, version, part, v)
		JOIN {schema}.memories m ON m.ns = u.ns AND m.key = u.key AND m.version = u.version
		ON CONFLICT (ns, key, part) DO NOTHING`
)

// Versions implements memory.Vectors.
func (v *vectors) Versions(ctx context.Context, items []memory.Item) (list []uint64, err error) {
	var ns, keys [][]byte
	for _, i := range items {
		ns, keys = append(ns, []byte(memory.Encode(i.Namespace))), append(keys, []byte(i.Key))
	}
	const text = `SELECT coalesce((SELECT max(v.version) FROM {schema}.{table} v WHERE v.ns = u.ns AND v.key = u.key), 0)
		FROM unnest($1::bytea[], $2::bytea[]) WITH ORDINALITY AS u (ns, key, at) ORDER BY u.at`
	err = v.call(ctx, false, func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, v.text(text), v.mode, ns, keys)
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		list = make([]uint64, len(found))
		for i, n := range found {
			list[i] = uint64(n)
		}
		return err
	})
	return list, err
}

// Remove implements memory.Vectors. The vectors of an item go with its row.
func (v *vectors) Remove(context.Context, []string, string) error { return nil }

// Prune implements memory.Vectors. The vectors of an item go with its row.
func (v *vectors) Prune(context.Context, []string) error { return nil }

// Nearest implements memory.Vectors.
func (v *vectors) Nearest(ctx context.Context, q memory.Nearest) (list []memory.Found, next int, err error) {
	text, args := v.nearestText(q)
	err = v.call(ctx, false, func(ctx context.Context, conn *pgxpool.Conn) error {
		return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
			if v.cfg.Approximate {
				breadth := strconv.Itoa(min(max(minBreadth, q.Skip+q.Limit), maxBreadth))
				if _, err := tx.Exec(ctx, tuneText, v.mode, breadth); err != nil {
					return err
				}
			}
			list = nil
			seen, size := 0, 0
			err := forRows(ctx, v.Store, tx, scanFound, func(f memory.Found) bool {
				if seen++; f.Version != 0 {
					list, size = append(list, f), size+len(f.Value)
				}
				return size <= memory.MaxPage
			}, text, slices.Clone(args)...)
			if next = 0; seen == q.Limit || size > memory.MaxPage {
				next = q.Skip + seen
			}
			return err
		})
	})
	return list, next, err
}

// An approximate search considers so many vectors at once. The more it does, the fewer it misses.
const (
	minBreadth = 200
	maxBreadth = 1000 // more the extension refuses
)

// tuneText lets a scan go on until the range of namespaces leaves enough.
const tuneText = "SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', $1::text, true)"

// nearestText returns a search. An exact one takes the items that are wanted and sorts them. An
// approximate one takes the vectors in the order of their index, and then looks for the items: a
// row without one only counts.
func (v *vectors) nearestText(q memory.Nearest) (text string, args []any) {
	const from = "v.ns >= $2::bytea AND ($3::bytea IS NULL OR v.ns < $3::bytea) AND v.v IS NOT NULL"
	const distance = "v.v OPERATOR({ext}.<=>) $1::text::{ext}.vector AS d"
	const order = " ORDER BY d, m.updated DESC, m.ns, m.key"
	const same = "m.ns = v.ns AND m.key = v.key AND m.version = v.version"
	args = append([]any{pgvector.NewVector(q.Vector).String()}, bounds(q.Range)...)
	narrow, args := narrowed(q.Words, q.Contains, append(args, int64(q.Limit), int64(q.Skip)))
	wanted := memoryAlive + narrow
	if !v.cfg.Approximate {
		return v.text("SELECT " + memoryColumns + ", " + distance + " FROM {schema}.{table} v JOIN {schema}.memories m ON " + same +
			" WHERE " + from + " AND " + wanted + order + " LIMIT $4::bigint OFFSET $5::bigint"), args
	}
	return v.text("SELECT " + memoryColumns + ", v.d FROM (SELECT v.ns, v.key, v.version, " + distance + " FROM {schema}.{table} v WHERE " + from +
		" ORDER BY d, v.ns, v.key, v.part LIMIT $4::bigint OFFSET $5::bigint) v LEFT JOIN {schema}.memories m ON " + same + " AND " + wanted + order), args
}

// scanFound reads an item and its distance. Its version is 0 if there is no item.
func scanFound(rows pgx.Rows) (f memory.Found, err error) {
	if rows.RawValues()[0] == nil {
		return f, nil
	}
	var distance float64
	st, err := scanMemoryAnd(rows, &distance)
	return memory.Found{Item: st.Item, Score: 1 - distance}, err
}

package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weftrun/weft/checkpoint"
)

// migrations holds sql/0001.sql, sql/0002.sql…; each brings a schema from the layout
// before it to its own. None is ever changed once it was released.
//
//go:embed sql/*.sql
var migrations embed.FS

// layout is the newest that this package knows, and the one it works with.
const layout = 3

// oldest is the least PostgreSQL that has all that is used here and is still looked
// after, as server_version_num.
const oldest = 130000

// quote returns the name of a schema as SQL wants it.
func quote(schema string) string { return pgx.Identifier{schema}.Sanitize() }

// prepareSchema makes the schema ours, or makes sure that it is. Several processes
// may do so at once.
func (s *Store) prepareSchema(ctx context.Context, cfg Config) error {
	if strings.ContainsRune(cfg.Schema, 0) || len(cfg.Schema) > 63 {
		return fmt.Errorf("%w: %q cannot be the name of a schema", checkpoint.ErrUnsupported, cfg.Schema)
	}
	var version, server int
	var isolation string
	err := s.call(ctx, false, func(ctx context.Context, conn *pgxpool.Conn) (err error) {
		const text = "SELECT current_setting('server_version_num')::int, current_setting('default_transaction_isolation')"
		if err = conn.QueryRow(ctx, text, pgx.QueryExecModeExec).Scan(&server, &isolation); err != nil {
			return err
		}
		version, err = layoutOf(ctx, conn, cfg.Schema)
		return err
	})
	switch {
	case err != nil:
		return err
	case server < oldest:
		return fmt.Errorf("%w: the server is PostgreSQL %d, this package needs 13 or newer", checkpoint.ErrUnsupported, server/10000)
	case isolation != "read committed": // else a statement would not see what the writer it waited for has written
		return fmt.Errorf("%w: default_transaction_isolation must be 'read committed' (got %q); set it for the role, by ALTER ROLE … SET default_transaction_isolation = 'read committed', or, without PgBouncer, in the connection string",
			checkpoint.ErrUnsupported, isolation)
	case version == layout:
		return nil
	case version > layout:
		return newer(cfg.Schema, version)
	case cfg.Migrate == MigrateNever:
		return fmt.Errorf("%w: schema %q has layout %d, this version needs %d; open it once with MigrateUp, as the role that owns the schema or may create it", checkpoint.ErrUnsupported, cfg.Schema, version, layout)
	}
	return s.call(ctx, true, func(ctx context.Context, conn *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return migrate(ctx, tx, cfg.Schema) })
	})
}

func newer(schema string, version int) error {
	return fmt.Errorf("%w: schema %q has layout %d, this version knows up to %d; use a newer version of the program", checkpoint.ErrUnsupported, schema, version, layout)
}

// querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// layoutOf returns the layout of a schema, or 0 if the schema has none.
func layoutOf(ctx context.Context, q querier, schema string) (version int, err error) {
	// The table is looked for first: a query on one that is missing is an error, which
	// would end a transaction.
	var found bool
	err = q.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = $1 AND tablename = 'layout')", pgx.QueryExecModeExec, schema).Scan(&found)
	if err != nil || !found {
		return 0, err
	}
	err = q.QueryRow(ctx, "SELECT version FROM "+quote(schema)+".layout", pgx.QueryExecModeExec).Scan(&version)
	if foreign(err) || errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("%w: schema %q belongs to another program; give Config.Schema another name (%w)", checkpoint.ErrUnsupported, schema, err)
	}
	return version, err
}

// migrate brings a schema up to date, unless another process was faster. The lock ends
// with the transaction, so it needs no session.
func migrate(ctx context.Context, tx pgx.Tx, schema string) error {
	h := fnv.New64a()
	h.Write([]byte("weft " + schema))
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", pgx.QueryExecModeExec, int64(h.Sum64())); err != nil {
		return err
	}
	version, err := layoutOf(ctx, tx, schema)
	if err != nil {
		return err
	}
	if version > layout {
		return newer(schema, version)
	}
	for next := version + 1; next <= layout; next++ {
		if err := step(ctx, tx, schema, next); err != nil {
			return err
		}
	}
	return nil
}

// step runs one migration.
func step(ctx context.Context, tx pgx.Tx, schema string, version int) error {
	text, err := migrations.ReadFile(fmt.Sprintf("sql/%04d.sql", version))
	if err != nil {
		return err
	}
	script := strings.ReplaceAll(string(text), "{schema}", quote(schema)) +
		fmt.Sprintf("\nDELETE FROM %s.layout; INSERT INTO %[1]s.layout VALUES (%d);", quote(schema), version)
	if version == 1 {
		err = createSchema(ctx, tx, schema)
	}
	if err == nil {
		_, err = tx.Conn().PgConn().Exec(ctx, script).ReadAll()
	}
	if foreign(err) {
		return fmt.Errorf("%w: schema %q has tables of another program; give Config.Schema another name (%w)", checkpoint.ErrUnsupported, schema, err)
	}
	return err
}

// createSchema makes the schema, unless an administrator has made it.
func createSchema(ctx context.Context, tx pgx.Tx, schema string) error {
	var found bool
	err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)", pgx.QueryExecModeExec, schema).Scan(&found)
	if err == nil && !found {
		_, err = tx.Exec(ctx, "CREATE SCHEMA "+quote(schema), pgx.QueryExecModeExec)
	}
	if err == nil {
		_, err = tx.Exec(ctx, "CREATE TABLE "+quote(schema)+".layout (version integer NOT NULL)", pgx.QueryExecModeExec)
	}
	return err
}

// foreign reports whether an error means that a name is taken or a column is missing.
func foreign(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	switch pg.Code {
	case "42P07", "42710", "42723", "42703", "42P01":
		return true
	}
	return false
}

package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/internal/racescale"
	"github.com/weftrun/weft/internal/storetest"
)

// Requirement: round trips of a run and of each call
func TestRun_RoundTrips(t *testing.T) {
	p := newProxy(t, cluster)
	storetest.Trips(t, overOne(t, p.dsn("pool_max_conns=1"), freshSchema()), p.trips.Load)
}

// Requirement: a check of a budget is one round trip
func TestBudget_RoundTrips(t *testing.T) {
	p := newProxy(t, cluster)
	storetest.CheckTrips(t, documentsOf(t, overOne(t, p.dsn("pool_max_conns=1"), freshSchema())), p.trips.Load)
}

// TestRun_BytesDoNotGrow measures what goes over the wire, the rows, and the server's
// log as it is between two checkpoints of the server.
//
// Requirement: the bytes of a step do not grow with the thread
func TestRun_BytesDoNotGrow(t *testing.T) {
	s := extraServer(t, "fsync=off", "full_page_writes=off", "autovacuum=off")
	p := newProxy(t, s)
	schema := freshSchema()
	store := overOne(t, p.dsn("pool_max_conns=1"), schema)
	pool, err := pgxpool.New(t.Context(), s.dsn("pool_max_conns=1"))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	ask := func(sql string) func() int64 {
		return func() (n int64) {
			if err := pool.QueryRow(t.Context(), sql).Scan(&n); err != nil {
				t.Error(err)
			}
			return n
		}
	}
	storetest.Bytes(t, store, map[string]func() int64{
		"on the wire":         p.bytes.Load,
		"in the server's log": ask("SELECT pg_current_wal_insert_lsn() - '0/0'"),
		"in rows":             ask("SELECT (SELECT sum(pg_column_size(c.*)) FROM " + schema + ".commits c) + (SELECT sum(pg_column_size(b.*)) FROM " + schema + ".blobs b)"),
	})
}

// overOne opens a store that has one connection and does not ask whether that still lives.
func overOne(t *testing.T, dsn, schema string) *postgres.Store {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	cfg.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	s, err := postgres.New(t.Context(), pool, postgres.Config{Schema: schema, RetryFor: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestRun_RoomIsBounded(t *testing.T) {
	storetest.Room(t, open(t, cluster.dsn("pool_max_conns=4"), postgres.Config{}))
}

// Requirement: a step allocates the same in a short and a long thread
func TestStep_CostIsFlat(t *testing.T) {
	storetest.Growth(t, open(t, cluster.dsn("pool_max_conns=4"), postgres.Config{}), racescale.Of(10_000, 2_000))
}

package postgres

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/brief"
)

// Config says how a database is used. The zero value is what most want.
type Config struct {
	// Schema is the PostgreSQL schema that holds the tables; "" means "weft". It belongs
	// to this package alone. Stores with different schemas do not see each other.
	Schema string
	// Migrate says what to do when the schema is missing or older than this package.
	Migrate Migrate
	// RetryFor is the most that a call may take, Open and New too; 0 or less means 5 seconds. A
	// call that goes through all that there is, however much (a listing, a query, a search),
	// has it for each page that the server answers. Within it a call is tried again while
	// the server cannot be reached, starts up, or has to break a deadlock. A single try gets
	// half of it, so that a connection which died in silence is replaced in time. What the
	// server needs longer for, such as a large thread to delete or an old schema to bring
	// up to date, wants a greater one. The context of the call ends it sooner.
	//
	// Two things do not count. A call that waits for a connection of the pool while the
	// server answers others is not timed. And on a pool that Open has made, each MiB that
	// moves gives a call a second more.
	RetryFor time.Duration
}

// Migrate says whether Open may change the schema.
type Migrate int

const (
	// MigrateUp makes a missing schema and brings an older one up to date. The role
	// needs CREATE on the database, once.
	MigrateUp Migrate = iota
	// MigrateNever leaves the schema as it is, and Open returns an ErrUnsupported unless it
	// fits. The role needs USAGE on the schema, SELECT, INSERT, UPDATE and DELETE on its
	// tables, USAGE on its sequence and EXECUTE on its functions.
	MigrateNever
)

// Store is a database that holds threads. It is safe for concurrent use, by many
// goroutines and by many processes.
type Store struct {
	pool     *pgxpool.Pool
	own      bool              // Close closes the pool
	mode     pgx.QueryExecMode // never one that leaves a prepared statement in a session
	retryFor time.Duration
	schema   string
	migrate  Migrate
	text     texts
	closed   atomic.Bool

	opened   time.Time
	answered atomic.Int64   // when the server last answered, since opened
	ending   sync.WaitGroup // connections that were given up
	briefs   brief.Pool
}

var (
	_ checkpoint.Store    = (*Store)(nil)
	_ checkpoint.Leaser   = (*Store)(nil)
	_ checkpoint.Dropper  = (*Store)(nil)
	_ checkpoint.Expirer  = (*Store)(nil)
	_ checkpoint.Examiner = (*Store)(nil)
)

// Open connects to the database that a connection string names, as a URL or as
// keywords and values, with pgx's settings of a pool (pool_max_conns…) if you like.
func Open(ctx context.Context, connString string, cfg Config) (*Store, error) {
	parsed, err := pgxpool.ParseConfig(connString)
	if err != nil {
		return nil, fmt.Errorf("%w: postgres: %w", checkpoint.ErrUnavailable, err)
	}
	bounded(parsed, retryFor(cfg))
	pool, err := pgxpool.NewWithConfig(ctx, parsed)
	if err != nil {
		return nil, fmt.Errorf("%w: postgres: %w", checkpoint.ErrUnavailable, err)
	}
	s, err := New(ctx, pool, cfg)
	if err != nil {
		pool.Close()
		return nil, err
	}
	s.own = true
	return s, nil
}

// retryFor returns Config.RetryFor, or its default.
func retryFor(cfg Config) time.Duration {
	if cfg.RetryFor <= 0 {
		return 5 * time.Second
	}
	return cfg.RetryFor
}

// New uses a pool that the caller has, and that stays the caller's to close. Its settings do
// too: give it a ConnectTimeout and a PingTimeout, or a connection attempt that gets no answer
// takes a place of the pool for two minutes. Open does so.
func New(ctx context.Context, pool *pgxpool.Pool, cfg Config) (*Store, error) {
	if cfg.Schema == "" {
		cfg.Schema = "weft"
	}
	s := &Store{pool: pool, retryFor: retryFor(cfg), opened: time.Now(), mode: pgx.QueryExecModeCacheDescribe,
		schema: cfg.Schema, migrate: cfg.Migrate, text: textsFor(cfg.Schema)}
	if pool.Config().ConnConfig.DescriptionCacheCapacity <= 0 {
		s.mode = pgx.QueryExecModeDescribeExec
	}
	if err := s.prepareSchema(brief.OneCall(ctx), cfg); err != nil {
		return nil, err
	}
	return s, nil
}

// Close waits for the calls that are running, which Config.RetryFor bounds, and closes the
// connections, unless the pool is the caller's. Calls that come later return ErrClosed.
// Closing twice does no harm.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	if s.own {
		s.pool.Close()
		s.ending.Wait()
	}
	return nil
}

// address says where the server is, for errors.
func (s *Store) address() string {
	cfg := s.pool.Config().ConnConfig
	network, address := pgconn.NetworkAddress(cfg.Host, cfg.Port)
	return network + " " + address
}

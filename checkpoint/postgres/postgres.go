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

// Config has the settings of a Store. The zero value suits most programs.
type Config struct {
	// Schema is the PostgreSQL schema that holds the tables; "" means "weft". It belongs
	// to this package alone. Stores with different schemas do not see each other.
	Schema string
	// Migrate is what Open does when the schema is missing or older than this package.
	Migrate Migrate
	// RetryFor is the time limit of a call, also of Open and New; 0 or less means 5 seconds. A
	// listing, a query or a search has it for each page. Within it, a call is retried while the
	// server is unreachable, starts up, or breaks a deadlock. A single try gets half of it, so
	// that a dead connection is replaced in time. Set a longer one for operations that take the
	// server longer, such as the deletion of a large thread or the upgrade of an old schema. The
	// context of the call may end it sooner.
	//
	// The limit excludes the time that a call waits for a connection of the pool while the
	// server answers other calls. On a pool that Open made, a call gets one second more for each
	// MiB that it transfers.
	RetryFor time.Duration
}

// Migrate decides whether Open may change the schema.
type Migrate int

const (
	// MigrateUp creates a missing schema and upgrades an older one. The role must own an older
	// schema and its tables, and needs CREATE on the database for a new one.
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

// address returns the address of the server, for errors.
func (s *Store) address() string {
	cfg := s.pool.Config().ConnConfig
	network, address := pgconn.NetworkAddress(cfg.Host, cfg.Port)
	return network + " " + address
}

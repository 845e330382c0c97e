package postgres_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/internal/storetest"
)

// impatience is the RetryFor of the stores whose network swallows bytes.
const impatience = 200 * time.Millisecond

// dsnOver is how to connect over a network.
func dsnOver(n *storetest.Network, settings string) string {
	host, port, _ := net.SplitHostPort(n.Addr)
	return fmt.Sprintf("host=%s port=%s user=weft dbname=postgres sslmode=disable %s", host, port, settings)
}

// prepared makes a schema with all tables and the first commit.
func prepared(t testing.TB) (schema string) {
	t.Helper()
	schema = freshSchema()
	s := open(t, cluster.dsn("pool_max_conns=2"), postgres.Config{Schema: schema})
	if err := s.Commit(t.Context(), storetest.First()); err != nil {
		t.Fatal(err)
	}
	documentsOf(t, s)
	memoryOf(t, s)
	if _, err := s.Blobs(t.Context()); err != nil {
		t.Fatal(err)
	}
	return schema
}

// openSoon opens a store with a short RetryFor, and repeats it while the machine is slow.
func openSoon(t testing.TB, n *storetest.Network, make func(ctx context.Context) (*postgres.Store, error)) (s *postgres.Store) {
	t.Helper()
	storetest.Prepare(t, n, func(ctx context.Context) (err error) {
		s, err = make(ctx)
		return err
	})
	t.Cleanup(func() {
		storetest.Ends(t, "Close", impatience, s.Close)
	})
	return s
}

// Requirement: the store is slow, or silent
func TestCall_ServerSilent(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{true, false} {
		for _, way := range storetest.Ways {
			t.Run(fmt.Sprintf("%v, pool of the caller %t", way, !own), func(t *testing.T) {
				t.Parallel()
				n := storetest.NewNetwork(t, "unix", cluster.socket())
				cfg := postgres.Config{Schema: prepared(t), RetryFor: impatience}
				s := openSoon(t, n, func(ctx context.Context) (*postgres.Store, error) {
					if own {
						return postgres.Open(ctx, dsnOver(n, "pool_max_conns=4"), cfg)
					}
					return onPool(t, ctx, dsnOver(n, "pool_max_conns=4 connect_timeout=1"), cfg)
				})
				ready := func(ctx context.Context) error { _, err := s.Load(ctx, storetest.Thread, 0); return err }
				storetest.Bounded(t, n, way, impatience, ready, callsOf(t, n, s))
			})
		}
	}
}

// TestCall_ServerStops lets the server become silent in the middle of each call.
//
// Requirement: the store is slow, or silent
func TestCall_ServerStops(t *testing.T) {
	t.Parallel()
	n := storetest.NewNetwork(t, "unix", cluster.socket())
	cfg := postgres.Config{Schema: prepared(t), RetryFor: impatience}
	s := openSoon(t, n, func(ctx context.Context) (*postgres.Store, error) {
		return postgres.Open(ctx, dsnOver(n, "pool_max_conns=4"), cfg)
	})
	ready := func(ctx context.Context) error { _, err := s.Load(ctx, storetest.Thread, 0); return err }
	storetest.Stops(t, n, impatience, ready, callsOf(t, n, s))
}

// onPool opens a store on a pool that is the caller's.
func onPool(t testing.TB, ctx context.Context, dsn string, cfg postgres.Config) (*postgres.Store, error) {
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return nil, err
	}
	s, err := postgres.New(ctx, pool, cfg)
	if err != nil {
		pool.Close()
		return nil, err
	}
	t.Cleanup(pool.Close)
	return s, nil
}

// callsOf returns all calls of a store.
func callsOf(t testing.TB, n *storetest.Network, s *postgres.Store) []storetest.Call {
	t.Helper()
	var calls []storetest.Call
	storetest.Prepare(t, n, func(ctx context.Context) error {
		docs, err := s.Documents(ctx)
		if err != nil {
			return err
		}
		mem, err := s.Memory(ctx)
		if err != nil {
			return err
		}
		bus, err := s.Bus(ctx, 0)
		if err != nil {
			return err
		}
		blobs, err := s.Blobs(ctx)
		if err != nil {
			return err
		}
		calls = storetest.Calls(t, s, docs, mem,
			storetest.Call{Name: "Blobs", Do: func(ctx context.Context) error { _, err := s.Blobs(ctx); return err }},
			storetest.Call{Name: "Documents", Do: func(ctx context.Context) error { _, err := s.Documents(ctx); return err }},
			storetest.Call{Name: "Memory", Do: func(ctx context.Context) error { _, err := s.Memory(ctx); return err }},
			storetest.Call{Name: "Vectors", Do: func(ctx context.Context) error {
				_, err := s.Vectors(ctx, postgres.VectorConfig{Dims: 3})
				return err
			}},
			storetest.Call{Name: "Bus", Do: func(ctx context.Context) error { _, err := s.Bus(ctx, 0); return err }})
		calls = append(append(calls, storetest.BusCalls(bus)...), storetest.BlobCalls(blobs)...)
		return nil
	})
	return calls
}

// lateContext is a context whose deadline has passed, but whose timer has not run, as on a busy
// machine.
type lateContext struct{ context.Context }

func (lateContext) Deadline() (time.Time, bool) { return time.Now().Add(-time.Second), true }

// Requirement: the store is slow, or silent
func TestCall_DeadlineWhoseTimerIsLate(t *testing.T) {
	t.Parallel()
	n := storetest.NewNetwork(t, "unix", cluster.socket())
	cfg := postgres.Config{Schema: prepared(t), RetryFor: impatience}
	s := openSoon(t, n, func(ctx context.Context) (*postgres.Store, error) {
		return postgres.Open(ctx, dsnOver(n, "pool_max_conns=4"), cfg)
	})
	n.Set(storetest.Halted)
	err := storetest.Ends(t, "Load", impatience, func() error {
		_, err := s.Load(lateContext{t.Context()}, storetest.Thread, 0)
		return err
	})
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, checkpoint.ErrUnavailable) {
		t.Errorf("rule: the deadline of the caller's context applies\n got: %v", err)
	}
}

// Requirement: the store is slow, or silent
func TestOpen_ServerSilent(t *testing.T) {
	t.Parallel()
	for _, way := range storetest.Ways {
		for _, settings := range []string{"", "pool_min_conns=2"} {
			t.Run(fmt.Sprint(way, " ", settings), func(t *testing.T) {
				t.Parallel()
				n := storetest.NewNetwork(t, "unix", cluster.socket())
				storetest.Bounded(t, n, way, impatience, func(context.Context) error { return nil }, []storetest.Call{{
					Name: "Open", Do: func(ctx context.Context) error {
						s, err := postgres.Open(ctx, dsnOver(n, settings), postgres.Config{RetryFor: impatience})
						if err == nil {
							s.Close()
						}
						return err
					},
				}})
			})
		}
	}
}

// TestCommit_ReplySwallowed loses the reply to a commit in a network that does not say so. The
// commit is made again over another connection, which finds its id. RetryFor is long because each
// of the two tries has half of it, and a busy machine must answer the second one in time.
//
// Requirement: the store is slow, or silent
func TestCommit_ReplySwallowed(t *testing.T) {
	const commits = 10
	n := storetest.NewNetwork(t, "unix", cluster.socket())
	s := open(t, dsnOver(n, "pool_max_conns=4"), postgres.Config{RetryFor: 16 * time.Second})
	for seq := uint64(1); seq <= commits; seq++ {
		if seq%5 == 0 {
			n.SetOnce(storetest.Replies)
		}
		if err := s.Commit(t.Context(), link(storetest.Thread, seq)); err != nil {
			t.Fatalf("rule: a commit whose reply is lost is made again\n got: %v", err)
		}
	}
	if n.Lost() != 2 {
		t.Errorf("got %d replies swallowed, want 2", n.Lost())
	}
	seen := 0
	for snap, err := range s.History(t.Context(), storetest.Thread, checkpoint.Query{}) {
		if err != nil || snap.Seq != uint64(commits-seen) {
			t.Fatalf("rule: each commit is made once\n got: commit %d as number %d from the end, %v", snap.Seq, seen+1, err)
		}
		seen++
	}
	if seen != commits {
		t.Errorf("got %d commits, want %d", seen, commits)
	}
}

func TestConfig_RetryForNotPositive(t *testing.T) {
	schema := freshSchema()
	open(t, cluster.dsn(), postgres.Config{Schema: schema})
	for _, retryFor := range []time.Duration{-1, 0} {
		s, err := postgres.Open(t.Context(), cluster.dsn(), postgres.Config{Schema: schema, RetryFor: retryFor})
		for n := 0; err != nil && n < 10; n++ { // a busy machine may not answer in time
			s, err = postgres.Open(t.Context(), cluster.dsn(), postgres.Config{Schema: schema, RetryFor: retryFor})
		}
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if got := s.RetryFor(); got != 5*time.Second {
			t.Errorf("rule: a RetryFor of 0 or less is the default\n got: %v for %v", got, retryFor)
		}
	}
}

// losses are texts of which the first request that has one gets lost, with its connection.
type losses struct {
	mu    sync.Mutex
	texts []string
}

func (l *losses) set(texts ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.texts = texts
}

func (l *losses) take(request []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, text := range l.texts {
		if bytes.Contains(request, []byte(text)) {
			l.texts = slices.Delete(l.texts, i, i+1)
			return true
		}
	}
	return false
}

func (l *losses) dial(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return lossy{conn, l}, err
	}
}

// lossy is a connection that returns no more replies after a lost request.
type lossy struct {
	net.Conn
	*losses
}

func (c lossy) Write(b []byte) (int, error) {
	if c.take(b) {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// poolOver makes a pool that dials in a way of its own.
func poolOver(t testing.TB, settings string, way func(pgconn.DialFunc) pgconn.DialFunc) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(cluster.dsn(settings))
	if err != nil {
		t.Fatal(err)
	}
	cfg.ConnConfig.DialFunc = way(cfg.ConnConfig.DialFunc)
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// newOver makes a store of a pool that dials in a way of its own.
func newOver(t testing.TB, settings string, way func(pgconn.DialFunc) pgconn.DialFunc, cfg postgres.Config) *postgres.Store {
	t.Helper()
	s, err := postgres.New(t.Context(), poolOver(t, settings, way), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCall_RetryForOfSeveralTrips loses a request of each of the two parts of a call. Each loss
// costs half of the bound, so the second one ends the call.
//
// Requirement: the store is slow, or silent
func TestCall_RetryForOfSeveralTrips(t *testing.T) {
	t.Parallel()
	const retryFor = 4 * time.Second // the calls without a loss succeed on a slow machine too
	check := func(t *testing.T, err error) {
		t.Helper()
		if !errors.Is(err, checkpoint.ErrUnavailable) && !errors.Is(err, checkpoint.ErrUnknownOutcome) {
			t.Errorf("rule: a call of several trips has one bound\n got: %v\nwant: an error after %v", err, retryFor)
		}
	}
	t.Run("New", func(t *testing.T) {
		t.Parallel()
		l := &losses{}
		l.set("server_version_num", "begin")
		_, err := postgres.New(t.Context(), poolOver(t, "pool_max_conns=2", l.dial), postgres.Config{Schema: freshSchema(), RetryFor: retryFor})
		check(t, err)
	})
	t.Run("Memory.Get", func(t *testing.T) {
		t.Parallel()
		l := &losses{}
		m := memoryOf(t, newOver(t, "pool_max_conns=2", l.dial, postgres.Config{Schema: freshSchema(), RetryFor: retryFor}))
		if _, err := m.Put(t.Context(), []string{"n"}, "key", json.RawMessage(`1`), memory.Options{TTL: time.Hour, Refresh: true}); err != nil {
			t.Fatal(err)
		}
		l.set("SELECT", "begin")
		_, err := m.Get(t.Context(), []string{"n"}, "key")
		check(t, err)
	})
}

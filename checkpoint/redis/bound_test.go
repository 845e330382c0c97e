package redis_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/internal/storetest"
)

// impatience is the RetryFor of the stores whose network swallows bytes.
const impatience = 200 * time.Millisecond

// clients are those that a store may be made of: one that keeps to the deadline of a context, as
// OpenURL makes it, and one that does not.
var clients = map[string]goredis.Options{
	"punctual": {ContextTimeoutEnabled: true, MaxRetries: -1},
	"default":  {ReadTimeout: time.Second},
}

// commitFirst makes the commit that the calls need. It takes the time that a busy machine needs,
// which may be more than impatience.
func commitFirst(t *testing.T, s *server, prefix string) {
	t.Helper()
	patient := storeOf(t, s.client(t), redis.Config{Prefix: prefix, RetryFor: time.Minute})
	if err := patient.Commit(t.Context(), storetest.First()); err != nil {
		t.Fatal(err)
	}
}

// Requirement: the store is slow, or silent
func TestCall_ServerSilent(t *testing.T) {
	t.Parallel()
	s, prefix := common(t)
	for name, o := range clients {
		for _, way := range storetest.Ways {
			t.Run(fmt.Sprint(name, " ", way), func(t *testing.T) {
				t.Parallel()
				cfg := redis.Config{Prefix: prefix + name + way.String(), RetryFor: impatience}
				commitFirst(t, s, cfg.Prefix)
				n := storetest.NewNetwork(t, "tcp", s.addr)
				options := o // of this subtest: others run beside it
				options.Addr = n.Addr
				store := storeOf(t, connect(t, options), cfg)
				calls := storetest.Calls(t, store, documentsOf(t, store), store.Memory(), storetest.Call{Name: "Documents"}, storetest.Call{Name: "Blobs"}, vectorCall(store))
				calls = append(append(calls, storetest.BusCalls(store.Bus(0))...), storetest.BlobCalls(blobsOf(t, store))...)
				ready := func(ctx context.Context) error { _, err := store.Load(ctx, storetest.Thread, 0); return err }
				storetest.Bounded(t, n, way, impatience, ready, calls)
				n.Set(way)
				storetest.Ends(t, "Close", impatience+time.Second, store.Close)
			})
		}
	}
}

// TestCall_ServerStops lets the server become silent in the middle of each call.
//
// Requirement: the store is slow, or silent
func TestCall_ServerStops(t *testing.T) {
	t.Parallel()
	s, prefix := common(t)
	for name, o := range clients {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := redis.Config{Prefix: prefix + name, RetryFor: impatience}
			n := storetest.NewNetwork(t, "tcp", s.addr)
			o.Addr = n.Addr
			store := storeOf(t, connect(t, o), cfg)
			commitFirst(t, s, cfg.Prefix)
			ready := func(ctx context.Context) error { _, err := store.Load(ctx, storetest.Thread, 0); return err }
			calls := storetest.Calls(t, store, documentsOf(t, store), store.Memory(), storetest.Call{Name: "Documents"}, storetest.Call{Name: "Blobs"}, vectorCall(store))
			storetest.Stops(t, n, impatience, ready, append(calls, storetest.BlobCalls(blobsOf(t, store))...))
		})
	}
}

// Requirement: the store is slow, or silent
func TestOpenURL_ServerSilent(t *testing.T) {
	t.Parallel()
	s, _ := common(t)
	for _, way := range storetest.Ways {
		t.Run(way.String(), func(t *testing.T) {
			t.Parallel()
			n := storetest.NewNetwork(t, "tcp", s.addr)
			n.Set(way)
			err := storetest.Ends(t, "OpenURL", 5*time.Second/2, func() error {
				_, err := redis.OpenURL(context.Background(), "redis://"+n.Addr)
				return err
			})
			wantError(t, "a server that is silent is an error", err, checkpoint.ErrUnavailable, n.Addr)
		})
	}
}

func TestOpen_RetryForNotPositive(t *testing.T) {
	for _, retryFor := range []time.Duration{-1, 0} {
		store := storeOf(t, connect(t, goredis.Options{Addr: "127.0.0.1:1"}), redis.Config{RetryFor: retryFor})
		if got := store.RetryFor(); got != 5*time.Second {
			t.Errorf("rule: a RetryFor of 0 or less is the default\n got: %v for %v", got, retryFor)
		}
	}
}

// TestCommit_ReplySwallowed loses the reply to a commit in a network that does not say so. The
// commit is made again over another connection, which finds its id.
//
// Requirement: the store is slow, or silent
func TestCommit_ReplySwallowed(t *testing.T) {
	const commits = 10
	s, prefix := common(t)
	n := storetest.NewNetwork(t, "tcp", s.addr)
	o := clients["punctual"]
	o.Addr = n.Addr
	store := storeOf(t, connect(t, o), redis.Config{Prefix: prefix, RetryFor: 6 * time.Second})
	thread := storetest.Thread.Thread
	for seq := uint64(1); seq <= commits; seq++ {
		if seq%5 == 0 {
			n.SetOnce(storetest.Replies)
		}
		if err := store.Commit(t.Context(), link(thread, seq, fmt.Sprint(seq))); err != nil {
			t.Fatalf("rule: a commit whose reply is lost is made again\n got: %v", err)
		}
	}
	if n.Lost() < 2 {
		t.Errorf("got %d connections that lost bytes, want 2 or more", n.Lost())
	}
	seen := 0
	for snap, err := range store.History(t.Context(), storetest.Thread, checkpoint.Query{}) {
		if err != nil || snap.Seq != uint64(commits-seen) {
			t.Fatalf("rule: each commit is made once\n got: commit %d as number %d from the end, %v", snap.Seq, seen+1, err)
		}
		seen++
	}
	if seen != commits {
		t.Errorf("got %d commits, want %d", seen, commits)
	}
}

// TestFollow_ConnectionDies lets the connection die in silence on which a follower waits for
// news. It notices, and goes on over another one.
//
// Requirement: the store is slow, or silent
func TestFollow_ConnectionDies(t *testing.T) {
	t.Parallel()
	s, prefix := common(t)
	n := storetest.NewNetwork(t, "tcp", s.addr)
	o := clients["punctual"]
	o.Addr = n.Addr
	follower := storeOf(t, connect(t, o), redis.Config{Prefix: prefix, RetryFor: 2 * time.Second}).Bus(0)
	publisher := storeOf(t, s.client(t), redis.Config{Prefix: prefix}).Bus(0)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	publish := func() {
		if err := publisher.Publish(ctx, "topic", []byte("x")); err != nil {
			t.Error(err)
		}
	}
	publish()
	got := 0
	for e, err := range follower.Follow(ctx, "topic", 0) {
		if err != nil || e.Position != uint64(got)+1 {
			t.Fatalf("rule: a follower misses nothing\n got: %d, %v\nwant: %d", e.Position, err, got+1)
		}
		if got++; got == 4 {
			return
		}
		n.SetOnce(storetest.Replies)
		publish()
	}
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) || got < 4 {
		t.Errorf("rule: a follower notices that its connection has died\n got: %d events", got)
	}
}

// lossy is a hook that loses every other command, the first one too: no reply comes for a while.
type lossy struct {
	after time.Duration
	trips atomic.Int64
}

func (l *lossy) lose() error {
	if l.trips.Add(1)%2 == 0 {
		return nil
	}
	<-time.After(l.after)
	return os.ErrDeadlineExceeded
}

func (l *lossy) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (l *lossy) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if err := l.lose(); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (l *lossy) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		if err := l.lose(); err != nil {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
			return err
		}
		return next(ctx, cmds)
	}
}

// TestCall_RetryForOfSeveralTrips loses every other command of a call that goes to the server
// several times. Each loss costs more than half of the bound, so a second one ends the call.
//
// Requirement: the store is slow, or silent
func TestCall_RetryForOfSeveralTrips(t *testing.T) {
	t.Parallel()
	const retryFor = 500 * time.Millisecond
	s, prefix := common(t)
	filled := func(t *testing.T, prefix string) *redis.Store {
		store := storeOf(t, s.client(t), redis.Config{Prefix: prefix})
		if err := store.Commit(t.Context(), storetest.First()); err != nil {
			t.Fatal(err)
		}
		if _, err := documentsOf(t, store).Set(t.Context(), document.At("c", "p"), document.Change{ID: "id", Value: json.RawMessage(`1`)}); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Memory().Put(t.Context(), []string{"n"}, "key", json.RawMessage(`1`), memory.Options{TTL: time.Hour, Refresh: true}); err != nil {
			t.Fatal(err)
		}
		return store
	}
	several := func(t *testing.T, store *redis.Store) []storetest.Call {
		calls := storetest.Calls(t, store, documentsOf(t, store), store.Memory(), storetest.Call{Name: "Documents"}, storetest.Call{Name: "Blobs"}, vectorCall(store),
			storetest.Call{Name: "Documents.Query of a collection", Do: func(ctx context.Context) error {
				_, err := documentsOf(t, store).Query(ctx, document.Query{Place: document.At("c", "")})
				return err
			}})
		return slices.DeleteFunc(calls, func(c storetest.Call) bool {
			return !slices.Contains([]string{"Delete", "Threads", "Documents.Set", "Documents.Batch", "Documents.Clear", "Documents.Query of a collection",
				"Memory.Put", "Memory.Batch", "Memory.Get", "Memory.Search", "Memory.Namespaces"}, c.Name)
		})
	}
	names := several(t, filled(t, prefix+"first"))
	for _, c := range names {
		if err := c.Do(t.Context()); err != nil { // and the server knows the scripts
			t.Fatalf("%s: %v", c.Name, err)
		}
	}
	for i, c := range names {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			cfg := redis.Config{Prefix: prefix + c.Name, RetryFor: retryFor}
			filled(t, cfg.Prefix)
			client := connect(t, goredis.Options{Addr: s.addr, ReadTimeout: time.Minute, PoolSize: 1})
			if err := client.Ping(t.Context()).Err(); err != nil { // nothing of the connection is lost
				t.Fatal(err)
			}
			network := &lossy{after: retryFor * 6 / 10}
			client.AddHook(network)
			err := several(t, storeOf(t, client, cfg))[i].Do(t.Context())
			if !errors.Is(err, checkpoint.ErrUnavailable) && !errors.Is(err, checkpoint.ErrUnknownOutcome) {
				t.Errorf("rule: a call of several trips has one bound\n got: %v after %d trips of which every other one took %v\nwant: an error after %v",
					err, network.trips.Load(), network.after, retryFor)
			}
		})
	}
}

// vectorCall asks a server that has no vector sets; TestVectors has the calls of one that has them.
func vectorCall(s *redis.Store) storetest.Call {
	return storetest.Call{Name: "Vectors", Do: func(ctx context.Context) error {
		_, err := s.Vectors(ctx, redis.VectorConfig{Dims: 3})
		return err
	}}
}

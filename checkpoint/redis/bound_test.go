package redis_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/internal/deadnet"
)

// impatience is the Patience of the stores whose network swallows bytes.
const impatience = 200 * time.Millisecond

// clients are those that a store may be made of: one that keeps to the deadline of a context, as
// OpenURL makes it, and one that does not.
var clients = map[string]goredis.Options{
	"punctual": {ContextTimeoutEnabled: true, MaxRetries: -1},
	"default":  {ReadTimeout: time.Second},
}

func TestCall_ServerSilent(t *testing.T) {
	s, prefix := common(t)
	for name, o := range clients {
		for _, way := range deadnet.Ways {
			t.Run(fmt.Sprint(name, " ", way), func(t *testing.T) {
				t.Parallel()
				cfg := redis.Config{Prefix: prefix + name + way.String(), Patience: impatience}
				if err := storeOf(t, s.client(t), redis.Config{Prefix: cfg.Prefix}).Commit(t.Context(), deadnet.First()); err != nil {
					t.Fatal(err)
				}
				n := deadnet.New(t, "tcp", s.addr)
				o.Addr = n.Addr
				store := storeOf(t, connect(t, o), cfg)
				calls := deadnet.Calls(t, store, documentsOf(t, store), store.Memory(), deadnet.Call{Name: "Documents"},
					deadnet.Call{Name: "Bus.Publish", Do: func(ctx context.Context) error { return store.Bus(0).Publish(ctx, "topic", []byte("x")) }},
					deadnet.Call{Name: "Bus.Last", Do: func(ctx context.Context) error { _, err := store.Bus(0).Last(ctx, "topic"); return err }})
				ready := func(ctx context.Context) error { _, err := store.Load(ctx, deadnet.Thread, 0); return err }
				deadnet.Bounded(t, n, way, impatience, ready, calls)
				n.Set(way)
				deadnet.Ends(t, "Close", impatience+time.Second, store.Close)
			})
		}
	}
}

func TestOpenURL_ServerSilent(t *testing.T) {
	s, _ := common(t)
	for _, way := range deadnet.Ways {
		t.Run(way.String(), func(t *testing.T) {
			t.Parallel()
			n := deadnet.New(t, "tcp", s.addr)
			n.Set(way)
			err := deadnet.Ends(t, "OpenURL", 5*time.Second/2, func() error {
				_, err := redis.OpenURL(context.Background(), "redis://"+n.Addr)
				return err
			})
			wantError(t, "a server that is silent is an error", err, checkpoint.ErrUnavailable, n.Addr)
		})
	}
}

func TestOpen_PatienceNotPositive(t *testing.T) {
	for _, patience := range []time.Duration{-1, 0} {
		store := storeOf(t, connect(t, goredis.Options{Addr: "127.0.0.1:1"}), redis.Config{Patience: patience})
		if got := store.Patience(); got != 5*time.Second {
			t.Errorf("rule: a Patience of 0 or less is the default\n got: %v for %v", got, patience)
		}
	}
}

// TestCommit_ReplySwallowed loses the reply to a commit in a network that does not say so. The
// commit is made again over another connection, which finds its id.
func TestCommit_ReplySwallowed(t *testing.T) {
	const commits = 10
	s, prefix := common(t)
	n := deadnet.New(t, "tcp", s.addr)
	o := clients["punctual"]
	o.Addr = n.Addr
	store := storeOf(t, connect(t, o), redis.Config{Prefix: prefix, Patience: 6 * time.Second})
	thread := deadnet.Thread.Thread
	for seq := uint64(1); seq <= commits; seq++ {
		if seq%5 == 0 {
			n.SetOnce(deadnet.Replies)
		}
		if err := store.Commit(t.Context(), link(thread, seq, fmt.Sprint(seq))); err != nil {
			t.Fatalf("rule: a commit whose reply is lost is made again\n got: %v", err)
		}
	}
	if n.Lost() < 2 {
		t.Errorf("got %d connections that lost bytes, want 2 or more", n.Lost())
	}
	seen := 0
	for snap, err := range store.History(t.Context(), deadnet.Thread, checkpoint.Query{}) {
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
func TestFollow_ConnectionDies(t *testing.T) {
	s, prefix := common(t)
	n := deadnet.New(t, "tcp", s.addr)
	o := clients["punctual"]
	o.Addr = n.Addr
	follower := storeOf(t, connect(t, o), redis.Config{Prefix: prefix, Patience: 2 * time.Second}).Bus(0)
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
		n.SetOnce(deadnet.Replies)
		publish()
	}
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) || got < 4 {
		t.Errorf("rule: a follower notices that its connection has died\n got: %d events", got)
	}
}

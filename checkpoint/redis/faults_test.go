package redis_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/redis"
)

// TestConnections_CutAtRandom cuts before the server receives a commit, and after. Each commit is
// made once all the same, and is acknowledged.
//
// Requirement: a connection is cut, a reply is lost
func TestConnections_CutAtRandom(t *testing.T) {
	const writers = 8
	each := fewer(250, 2500, 25000)
	s, prefix := common(t)
	for name, o := range map[string]goredis.Options{
		"AnyClient":        {},
		"AsOpenURLMakesIt": {ContextTimeoutEnabled: true, MaxRetries: -1},
	} {
		t.Run(name, func(t *testing.T) {
			p := startProxy(t, s.addr, func(p *proxy) { p.cut = sometimes(0.03) })
			o.Addr = p.addr
			store := storeOf(t, connect(t, o), redis.Config{Prefix: prefix + name, RetryFor: time.Minute})
			var wg sync.WaitGroup
			for w := range writers {
				wg.Go(func() { writeAlone(t, store, fmt.Sprint("thread ", w), each) })
			}
			wg.Wait()
			direct := storeOf(t, s.client(t), redis.Config{Prefix: prefix + name})
			for w := range writers {
				thread := fmt.Sprint("thread ", w)
				checkIDs(t, direct, thread, each)
			}
			if p.cuts.Load() == 0 {
				t.Error("the proxy cut nothing")
			}
			t.Logf("%d commits, %d cuts", writers*each, p.cuts.Load())
		})
	}
}

// writeAlone makes n commits to a thread without other writers, each with an entry.
func writeAlone(t testing.TB, store checkpoint.Store, thread string, n int) {
	for seq := range uint64(n) {
		c := link(thread, seq+1, fmt.Sprint(seq+1))
		err := store.Commit(t.Context(), c)
		if err == nil {
			err = store.Put(t.Context(), checkpoint.Pending{Key: c.Key, Head: seq + 1, Entries: []checkpoint.Entry{{Task: "t", Slot: "s", Keep: true, Data: []byte(c.ID)}}})
		}
		if err != nil {
			t.Errorf("rule: a broken connection is no reason to fail, nor to conflict with oneself\n got: %v", err)
			return
		}
	}
}

// checkIDs demands the commits 1 to n, each with its own ID, value and, at the head, entry.
func checkIDs(t testing.TB, store checkpoint.Store, thread string, n int) {
	t.Helper()
	checkChain(t, store, thread, uint64(n))
	k := checkpoint.Key{Thread: thread}
	for _, seq := range []uint64{0, 1, uint64(n / 2)} {
		snap, err := store.Load(t.Context(), k, seq)
		if err != nil || snap.ID != fmt.Sprint(snap.Seq) || string(snap.Blobs[0].Data) != "value of "+snap.ID {
			t.Errorf("rule: a commit is whole\n got: commit %d with ID %q, error %v", snap.Seq, snap.ID, err)
			return
		}
		if seq == 0 && (len(snap.Pending) != 1 || string(snap.Pending[0].Data) != snap.ID) {
			t.Errorf("rule: an entry is stored once\n got: %v", snap.Pending)
		}
	}
}

// TestCommit_LostReplyThenOvertaken loses the reply of a commit. Before the writer can ask again,
// others continue the thread or take it over. The commit was made, and the writer's call succeeds.
//
// Requirement: the same commit twice is one commit, so a lost reply is safe to retry
// Requirement: a connection is cut, a reply is lost
// Requirement: ErrUnknownOutcome: repeating the commit decides the outcome
func TestCommit_LostReplyThenOvertaken(t *testing.T) {
	for name, overtake := range map[string]func(t *testing.T, s *redis.Store){
		"by a commit": func(t *testing.T, s *redis.Store) {
			if err := s.Commit(t.Context(), link("thread", 3, "other")); err != nil {
				t.Error(err)
			}
		},
		"by a lease": func(t *testing.T, s *redis.Store) {
			if _, err := s.Acquire(t.Context(), checkpoint.LeaseRequest{Thread: "thread", Owner: "other", TTL: time.Minute}); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, prefix := common(t)
			l := startLoser(t, s, prefix, func(reply string) bool { return reply == "$1\r\nK\r\n" })
			if err := l.store.Commit(t.Context(), link("thread", 1, "first")); err != nil {
				t.Fatal(err)
			}
			if err := l.store.Commit(t.Context(), link("warm", 1, "")); err != nil {
				t.Fatal(err)
			}
			l.losing.Store(true)
			done := make(chan error, 1)
			go func() { done <- l.store.Commit(t.Context(), link("thread", 2, "mine")) }()
			<-l.lost
			overtake(t, storeOf(t, s.client(t), redis.Config{Prefix: prefix}))
			close(l.open)
			if err := <-done; err != nil {
				t.Errorf("rule: a call that did its work succeeds, whatever happened since\n got: %v", err)
			}
			err := l.store.Commit(t.Context(), link("thread", 2, "mine"))
			if !errors.Is(err, checkpoint.ErrConflict) && !errors.Is(err, checkpoint.ErrFenced) {
				t.Errorf("rule: another call for the same commit is refused then\n got: %v", err)
			}
		})
	}
}

// loser is a store behind a proxy that loses one reply.
type loser struct {
	store  *redis.Store
	losing atomic.Bool   // the next such reply is lost
	lost   chan struct{} // closed when it is
	open   chan struct{} // close it, and the store reaches the server again
}

// startLoser starts a proxy before a server, and a store behind it. is reports whether the proxy
// may lose a reply.
func startLoser(t *testing.T, s *server, prefix string, is func(reply string) bool) *loser {
	t.Helper()
	l := &loser{lost: make(chan struct{}), open: make(chan struct{})}
	p := startProxy(t, s.addr, func(p *proxy) {
		p.cut = func(reply bool, b []byte) bool {
			lose := reply && is(string(b)) && l.losing.CompareAndSwap(true, false)
			if lose {
				close(l.lost)
			}
			return lose
		}
		p.gate = func() {
			select {
			case <-l.lost:
				<-l.open
			default:
			}
		}
	})
	client := connect(t, goredis.Options{Addr: p.addr, MaxRetries: -1, PoolSize: 1})
	l.store = storeOf(t, client, redis.Config{Prefix: prefix, RetryFor: time.Minute})
	return l
}

// TestOutcome_Unknown cuts every reply: the store gives up, and reports an unknown outcome.
//
// Requirement: a network partition, and its end
// Requirement: ErrUnknownOutcome: repeating the commit decides the outcome
func TestOutcome_Unknown(t *testing.T) {
	s, prefix := common(t)
	var cutting atomic.Bool
	p := startProxy(t, s.addr, func(p *proxy) {
		p.cut = func(reply bool, _ []byte) bool { return reply && cutting.Load() }
	})
	client := connect(t, goredis.Options{Addr: p.addr, MaxRetries: -1, PoolSize: 1, Protocol: 2, DisableIdentity: true})
	store := storeOf(t, client, redis.Config{Prefix: prefix, RetryFor: time.Second})
	if err := store.Commit(t.Context(), link("thread", 1, "1")); err != nil {
		t.Fatal(err)
	}
	cutting.Store(true)
	err := store.Commit(t.Context(), link("thread", 2, "2"))
	wantError(t, "a commit without a reply has an unknown outcome", err, checkpoint.ErrUnknownOutcome)
	_, err = store.Load(t.Context(), checkpoint.Key{Thread: "thread"}, 0)
	wantError(t, "a load without a reply is only unavailable", err, checkpoint.ErrUnavailable)
	if errors.Is(err, checkpoint.ErrUnknownOutcome) {
		t.Errorf("rule: a load has no outcome to be unknown\n got: %v", err)
	}
	cutting.Store(false)
	if err := store.Commit(t.Context(), link("thread", 2, "2")); err != nil {
		t.Errorf("rule: the same commit again settles the outcome\n got: %v", err)
	}
	checkChain(t, store, "thread", 2)
}

// TestCluster_SlotMoves moves a slot of the cluster to another node and back while its thread
// grows.
//
// Requirement: the server refuses, or is not ready
func TestCluster_SlotMoves(t *testing.T) {
	servers := startCluster(t)
	client := clusterClient(t, servers)
	store := storeOf(t, client, redis.Config{RetryFor: time.Minute})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var head atomic.Uint64
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			seq := head.Load() + 1
			if err := store.Commit(t.Context(), link("thread", seq, fmt.Sprint(seq))); err != nil {
				t.Errorf("rule: a slot that moves fails no call\n got: %v", err)
				return
			}
			head.Store(seq)
			if snap, err := store.Load(t.Context(), checkpoint.Key{Thread: "thread"}, 0); err != nil || snap.Seq != seq {
				t.Errorf("rule: a slot that moves fails no call\n got: commit %d, error %v\nwant: commit %d", snap.Seq, err, seq)
				return
			}
		}
	})
	waitFor(t, "the thread begins", func() bool { return head.Load() > 20 || t.Failed() })
	key := "weft:{thread}"
	slot := servers[0].do(t, "cluster", "keyslot", key)
	home := owner(t, servers, slot)
	away := (home + 1) % len(servers)
	for range fewer(1, 2, 20) {
		move(t, servers, slot, key, home, away)
		waitFor(t, "the thread goes on", func() bool { now := head.Load(); return now > 40 || t.Failed() })
		home, away = away, home
	}
	cancel()
	wg.Wait()
	checkChain(t, store, "thread", head.Load())
}

// owner returns the server that has a slot.
func owner(t testing.TB, servers []*server, slot any) int {
	t.Helper()
	for i, s := range servers {
		if err := s.client(t).Do(t.Context(), "get", "{thread}").Err(); err == nil || errors.Is(err, goredis.Nil) {
			return i
		}
	}
	t.Fatalf("no server has slot %v", slot)
	return 0
}

// move is what redis-cli --cluster reshard does for a slot with one key.
func move(t testing.TB, servers []*server, slot any, key string, from, to int) {
	t.Helper()
	ids := make([]any, len(servers))
	for i, s := range servers {
		ids[i] = s.do(t, "cluster", "myid")
	}
	host, port, err := net.SplitHostPort(servers[to].addr)
	if err != nil {
		t.Fatal(err)
	}
	servers[to].do(t, "cluster", "setslot", slot, "importing", ids[from])
	servers[from].do(t, "cluster", "setslot", slot, "migrating", ids[to])
	servers[from].do(t, "migrate", host, port, key, 0, 5000)
	for _, i := range []int{to, from} {
		servers[i].do(t, "cluster", "setslot", slot, "node", ids[to])
	}
}

// TestCluster_DeadNodeDelaysOnlyItsThreads kills one master of a cluster without replicas.
//
// Requirement: the server refuses, or is not ready
func TestCluster_DeadNodeDelaysOnlyItsThreads(t *testing.T) {
	servers := startCluster(t)
	for _, s := range servers {
		s.do(t, "config", "set", "cluster-require-full-coverage", "no")
	}
	client := clusterClient(t, servers)
	store := storeOf(t, client, redis.Config{RetryFor: 2 * time.Second, Unlisted: true})
	byNode := map[string]string{} // a thread of each node
	for n := 0; len(byNode) < len(servers); n++ {
		thread := fmt.Sprint("thread-", n)
		master, err := client.MasterForKey(t.Context(), "weft:{"+thread+"}")
		if err != nil {
			t.Fatal(err)
		}
		byNode[master.Options().Addr] = thread
	}
	for _, thread := range byNode {
		if err := store.Commit(t.Context(), link(thread, 1, "1")); err != nil {
			t.Fatal(err)
		}
	}
	servers[2].kill()
	for i, s := range servers {
		err := store.Commit(t.Context(), link(byNode[s.addr], 2, "2"))
		if i < 2 && err != nil {
			t.Errorf("rule: threads of the other nodes go on\n got: %v", err)
		}
		if i == 2 && !errors.Is(err, checkpoint.ErrUnavailable) && !errors.Is(err, checkpoint.ErrUnknownOutcome) {
			t.Errorf("rule: a dead node's threads are unavailable\n got: %v", err)
		}
	}
}

// TestCluster_ThatNeverAnswers gives a client the address of a listener that never answers. The
// bound is generous; without care the call takes half a minute.
//
// Requirement: the store is slow, or silent
func TestCluster_ThatNeverAnswers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns []net.Conn
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns = append(conns, c)
		}
	})
	client := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{l.Addr().String()}, ReadTimeout: 30 * time.Second, MaxRedirects: -1})
	store := storeOf(t, client, redis.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	err = store.Commit(ctx, link("thread", 1, "1"))
	wantError(t, "a cluster that does not answer is not waited for longer than the context", err, context.DeadlineExceeded)
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("rule: a context is honoured before the cluster is known\n got: after %v", took)
	}
	l.Close()
	wg.Wait()
	for _, c := range conns {
		c.Close()
	}
	client.Close()
}

// TestPrefixes_AreIndependent gives two prefixes the same threads.
//
// Requirement: hostile names
func TestPrefixes_AreIndependent(t *testing.T) {
	s, prefix := common(t)
	one := storeOf(t, s.client(t), redis.Config{Prefix: prefix})
	two := storeOf(t, s.client(t), redis.Config{Prefix: prefix + ":threads"})
	for _, store := range []*redis.Store{one, two} {
		if err := store.Commit(t.Context(), link("thread", 1, "1")); err != nil {
			t.Fatal(err)
		}
	}
	if err := one.Delete(t.Context(), "thread"); err != nil {
		t.Fatal(err)
	}
	checkChain(t, two, "thread", 1)
	for snap, err := range one.Threads(t.Context(), checkpoint.ThreadQuery{}) {
		t.Errorf("rule: a tenant lists its own threads\n got: %q, error %v", snap.Thread, err)
	}
}

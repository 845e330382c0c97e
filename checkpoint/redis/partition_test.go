package redis_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/checkpointtest"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/internal/storetest"
)

// hole swallows what goes one way, or both, until it is closed: then the bytes arrive
// after all, as they do over TCP, or the connection is cut.
type hole struct {
	mu      sync.Mutex
	swallow func(reply bool) bool // nil when there is no hole
	closed  chan struct{}
	reset   bool
}

// pass is a proxy's cut: it holds a piece back while there is a hole.
func (h *hole) pass(reply bool, _ []byte) bool {
	h.mu.Lock()
	swallow, closed := h.swallow, h.closed
	h.mu.Unlock()
	if swallow == nil || !swallow(reply) {
		return false
	}
	<-closed
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reset
}

func (h *hole) open(swallow func(reply bool) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.swallow, h.closed = swallow, make(chan struct{})
}

func (h *hole) close(reset bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.swallow != nil {
		h.swallow, h.reset = nil, reset
		close(h.closed)
	}
}

// ways are what a partition may swallow.
var ways = []struct {
	name    string
	swallow func(reply bool) bool
}{
	{"requests", func(reply bool) bool { return !reply }},
	{"replies", func(reply bool) bool { return reply }},
	{"both", func(bool) bool { return true }},
}

// holed returns a store whose way to the server has a hole that is closed still.
func holed(t testing.TB, s *server, prefix string, o goredis.Options) (*redis.Store, *hole) {
	t.Helper()
	h := new(hole)
	p := startProxy(t, s.addr, func(p *proxy) { p.cut = h.pass })
	t.Cleanup(func() { h.close(true) }) // before the proxy stops
	o.Addr = p.addr
	return storeOf(t, connect(t, o), redis.Config{Prefix: prefix, RetryFor: patient}), h
}

// TestPartition swallows what goes to the server, what comes from it, or both. The bound
// is generous; without care a call takes half a minute.
//
// Requirement: the store is slow, or silent
// Requirement: a network partition, and its end
func TestPartition(t *testing.T) {
	const bound = 5 * time.Second
	for _, way := range ways {
		for _, reset := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, reset %t", way.name, reset), func(t *testing.T) {
				s, prefix := common(t)
				store, h := holed(t, s, prefix, goredis.Options{ContextTimeoutEnabled: true, MaxRetries: -1, ReadTimeout: 30 * time.Second})
				if err := store.Commit(t.Context(), link("thread", 1, "1")); err != nil {
					t.Fatal(err)
				}
				h.open(way.swallow)
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				begin := time.Now()
				err := store.Commit(ctx, link("thread", 2, "2"))
				wantError(t, "a commit into a partition ends with its context", err, context.DeadlineExceeded)
				wantError(t, "what became of it is unknown", err, checkpoint.ErrUnknownOutcome)
				_, err = store.Load(ctx, checkpoint.Key{Thread: "thread"}, 0)
				wantError(t, "a load in a partition ends with its context", err, context.DeadlineExceeded)
				if took := time.Since(begin); took > bound {
					t.Errorf("rule: a deadline is honoured in a partition\n got: after %v", took)
				}
				done := make(chan error, 1)
				go func() { done <- store.Commit(t.Context(), link("thread", 2, "2")) }()
				h.close(reset)
				if err := <-done; err != nil {
					t.Errorf("rule: after the partition the same commit decides the outcome\n got: %v", err)
				}
				checkIDsAlone(t, store, 2)
			})
		}
	}
}

func checkIDsAlone(t testing.TB, store checkpoint.Store, head uint64) {
	t.Helper()
	checkChain(t, store, "thread", head)
	snap, err := store.Load(t.Context(), checkpoint.Key{Thread: "thread"}, 0)
	if err != nil || snap.ID != fmt.Sprint(head) {
		t.Errorf("rule: a partition splits no chain\n got: %q, %v\nwant: commit %d", snap.ID, err, head)
	}
}

// TestPartitions_UnderWriters opens and closes holes while writers append, each to a thread
// of its own and all to one.
//
// Requirement: a network partition, and its end
// Requirement: readers or the store are slow under load
func TestPartitions_UnderWriters(t *testing.T) {
	s, prefix := common(t)
	store, h := holed(t, s, prefix, goredis.Options{ContextTimeoutEnabled: true, MaxRetries: -1, ReadTimeout: 100 * time.Millisecond})
	list := startWriters(t, store, 4)
	stop := make(chan struct{})
	var racing sync.WaitGroup
	won := make([]int, 3)
	for i := range won {
		racing.Go(func() { won[i] = raceOn(t, store, fmt.Sprint("racer ", i), stop) })
	}
	n := fewer(4, 10, 300)
	for range n {
		list.wait(t, 20)
		h.open(ways[rand.IntN(len(ways))].swallow)
		time.Sleep(time.Duration(rand.IntN(fewer(50, 100, 1000))) * time.Millisecond) // how long a partition lasts
		h.close(rand.IntN(2) == 0)
	}
	close(stop)
	racing.Wait()
	list.end(t, store)
	total := won[0] + won[1] + won[2]
	checkChain(t, store, "shared", uint64(total))
	if list.lost.Load() > 0 {
		t.Errorf("rule: a partition loses nothing\n got: %d commits lost", list.lost.Load())
	}
	t.Logf("%d partitions, %d commits acknowledged to threads of one writer, %d to one of three", n, list.acked.Load(), total)
}

// raceOn appends to one thread until stop is closed and returns how many of its commits
// were acknowledged. It looks at the conflict for the head.
func raceOn(t testing.TB, store checkpoint.Store, name string, stop chan struct{}) (won int) {
	head := uint64(0)
	for n := 0; ; n++ {
		select {
		case <-stop:
			return won
		default:
		}
		var lost *checkpoint.ConflictError
		err := store.Commit(context.Background(), link("shared", head+1, fmt.Sprintf("%s, %d", name, n)))
		switch {
		case err == nil:
			won++
			head++
		case errors.As(err, &lost):
			head = lost.Head
		default:
			t.Errorf("rule: a racer fails only because of another one\n got: %v", err)
			return won
		}
	}
}

// TestStore_OverConnectionsThatAreCut is the whole suite over a proxy that cuts the connection at
// three of a hundred pieces, before or after the server receives them. Of a long message only the
// end is cut, since some have a thousand pieces. With -short, it is a part of the suite.
//
// Requirement: the same request for a lease twice is one lease
// Requirement: the same commit twice is one commit, so a lost reply is safe to retry
// Requirement: a connection is cut, a reply is lost
func TestStore_OverConnectionsThatAreCut(t *testing.T) {
	s, _ := common(t)
	p := startProxy(t, s.addr, func(p *proxy) {
		p.cut = func(_ bool, b []byte) bool { return len(b) < 16<<10 && rand.IntN(100) < 3 }
	})
	client := connect(t, goredis.Options{Addr: p.addr, ContextTimeoutEnabled: true, MaxRetries: -1})
	direct := s.client(t)
	checkpointtest.RunFull(t, func(t testing.TB) checkpoint.Store {
		storetest.SkipMostRules(t)
		_, prefix := common(t)
		return watched{storeOf(t, client, redis.Config{Prefix: prefix, RetryFor: time.Minute}), t, direct, prefix}
	})
	if p.cuts.Load() == 0 {
		t.Error("the proxy cut nothing")
	}
	t.Logf("%d cuts", p.cuts.Load())
}

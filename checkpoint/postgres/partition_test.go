package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/checkpointtest"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/internal/racescale"
	"github.com/weftrun/weft/internal/storetest"
)

// ways are what a partition may swallow.
var ways = []hole{{requests: true}, {replies: true}, {requests: true, replies: true}}

// open begins a partition.
func (p *proxy) open(way hole, reset bool) {
	way.reset, way.closed = reset, make(chan struct{})
	p.hole.Store(&way)
}

// TestPartition swallows what goes to the server, what comes from it, or both. The bound
// is generous; without care a call waits for ever.
//
// Requirement: the store is slow, or silent
// Requirement: a network partition, and its end
func TestPartition(t *testing.T) {
	const bound = 5 * time.Second
	for _, way := range ways {
		for _, reset := range []bool{false, true} {
			t.Run(fmt.Sprintf("requests %t, replies %t, reset %t", way.requests, way.replies, reset), func(t *testing.T) {
				p := newProxy(t, cluster)
				s := open(t, p.dsn("pool_max_conns=4"), postgres.Config{RetryFor: time.Hour})
				k := checkpoint.Key{Thread: "thread"}
				if err := s.Commit(t.Context(), link(k, 1)); err != nil {
					t.Fatal(err)
				}
				p.open(way, reset)
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				begin := time.Now()
				err := s.Commit(ctx, link(k, 2))
				if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, checkpoint.ErrUnknownOutcome) {
					t.Errorf("rule: a commit into a partition ends with its context, and its outcome is unknown\n got: %v", err)
				}
				if _, err := s.Load(ctx, k, 0); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("rule: a load in a partition ends with its context\n got: %v", err)
				}
				if took := time.Since(begin); took > bound {
					t.Errorf("rule: a deadline is honoured in a partition\n got: after %v", took)
				}
				done := make(chan error, 1)
				go func() { done <- s.Commit(t.Context(), link(k, 2)) }()
				p.restore()
				if err := <-done; err != nil {
					t.Errorf("rule: after the partition the same commit succeeds\n got: %v", err)
				}
				if snap, err := s.Load(t.Context(), k, 0); err != nil || snap.Seq != 2 || len(snap.Blobs) != 2 {
					t.Errorf("rule: a partition splits no chain\n got: commit %d, %v", snap.Seq, err)
				}
			})
		}
	}
}

// TestPartitions_UnderWriters begins and ends partitions while writers append. A call that
// gets no reply ends with the deadline that its writer gives it, and is made again.
//
// Requirement: a network partition, and its end
// Requirement: readers or the store are slow under load
func TestPartitions_UnderWriters(t *testing.T) {
	p := newProxy(t, cluster)
	w := startWriters(hasty{open(t, p.dsn("pool_max_conns=4"), postgres.Config{RetryFor: time.Hour})}, 4)
	n := racescale.Soak(10, 300)
	for range n {
		w.wait(20)
		p.open(ways[rand.IntN(len(ways))], rand.IntN(2) == 0)
		time.Sleep(time.Duration(rand.IntN(racescale.Soak(100, 1000))) * time.Millisecond) // how long a partition lasts
		p.restore()
	}
	w.wait(20)
	w.check(t)
	t.Logf("%d partitions", n)
}

// hasty gives each commit a deadline.
type hasty struct{ *postgres.Store }

func (h hasty) Commit(ctx context.Context, c checkpoint.Commit) error {
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	err := h.Store.Commit(ctx, c)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", checkpoint.ErrUnavailable, err) // whether a write was sent or not
	}
	return err
}

// TestStore_OverConnectionsThatAreCut is the whole suite over a proxy that cuts the connection at
// one of a hundred pieces, or at three of them in the long form. With -short, it is a part of the
// suite, and PgBouncer is behind the proxy.
//
// Requirement: the same request for a lease twice is one lease
// Requirement: the same commit twice is one commit, so a lost reply is safe to retry
// Requirement: a connection is cut, a reply is lost
func TestStore_OverConnectionsThatAreCut(t *testing.T) {
	socket := cluster.socket()
	if testing.Short() {
		_, socket = pooler(t, cluster)
	}
	p, chance := newProxyTo(t, socket), int64(racescale.Soak(10, 30))
	checkpointtest.RunFull(t, func(t testing.TB) checkpoint.Store {
		storetest.SkipMostRules(t)
		p.chance.Store(0)
		w := openWatched(t, p.dsn("pool_max_conns=8"), postgres.Config{RetryFor: time.Minute})
		p.chance.Store(chance)
		return w
	})
	p.chance.Store(0)
	if p.cuts.Load() == 0 {
		t.Error("the proxy cut nothing")
	}
	t.Logf("%d cuts", p.cuts.Load())
}

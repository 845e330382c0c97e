package redis_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// pair is a primary with a replica, and a proxy that leads to whichever is the primary.
type pair struct {
	testing.TB
	primary, replica *server
	proxy            *proxy
	store            *redis.Store
}

func newPair(t testing.TB) *pair {
	t.Helper()
	p := &pair{TB: t, primary: start(t, "--repl-diskless-sync-delay", "0"), replica: start(t)}
	host, port, err := net.SplitHostPort(p.primary.addr)
	if err != nil {
		t.Fatal(err)
	}
	p.replica.do(t, "replicaof", host, port)
	waitFor(t, "the replica has all", func() bool {
		return parse(p.replica.do(t, "info", "replication").(string))["master_link_status"] == "up"
	})
	p.proxy = startProxy(t, p.primary.addr)
	client := connect(t, goredis.Options{Addr: p.proxy.addr, ContextTimeoutEnabled: true, MaxRetries: -1})
	p.store = storeOf(t, client, redis.Config{RetryFor: time.Minute})
	return p
}

// lag cuts the replica off. What the primary acknowledges from now on it will not have.
func (p *pair) lag() {
	p.Helper()
	offset := parse(p.primary.do(p, "info", "replication").(string))["master_repl_offset"]
	waitFor(p, "the replica has what there is", func() bool {
		have := parse(p.replica.do(p, "info", "replication").(string))
		return have["slave_repl_offset"] == offset || len(have["slave_repl_offset"]) > len(offset) || have["slave_repl_offset"] > offset
	})
	p.replica.do(p, "replicaof", "no", "one")
}

// failOver kills the primary and leads everybody to the replica.
func (p *pair) failOver() {
	p.proxy.moved.Store(p.replica)
	p.primary.kill()
}

// diary is the state of a run that a failover hits.
type diary struct {
	Log state.List[string] `json:"log"`
}

// days is a chain of n nodes that each write one entry; before node i, happen[i] happens.
func days(t testing.TB, store checkpoint.Store, n int, ran map[string]int, happen map[int]func()) *graph.Graph[diary] {
	t.Helper()
	b := graph.New[diary]("days")
	from := graph.Start
	for i := range n {
		name := fmt.Sprint("day", i)
		b.Node(name, graph.Func(func(_ context.Context, d *diary) error {
			if f := happen[i]; f != nil {
				f()
			}
			ran[name]++
			d.Log.Append(name)
			return nil
		}))
		b.Edge(from, name)
		from = name
	}
	b.Edge(from, graph.End)
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func want(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprint("day", i))
	}
	return list
}

// TestFailover_RunRecovers promotes a replica that lacks the newest commits of a run.
// The run goes on over what is left: nothing runs twice, and the chain is one.
//
// Requirement: a failover loses acknowledged commits
func TestFailover_RunRecovers(t *testing.T) {
	const n = 8
	for _, durability := range []graph.Durability{graph.Sync, graph.Async} {
		for lost := 1; lost <= 4; lost++ {
			t.Run(fmt.Sprintf("%v, %d steps behind", durability, lost), func(t *testing.T) {
				p, ran := newPair(t), map[string]int{}
				g := days(t, p.store, n, ran, map[int]func(){5 - lost: p.lag, 5: p.failOver})
				res, err := g.Invoke(t.Context(), diary{}, graph.RunOptions{Thread: "t", Durability: durability})
				if err != nil || res.Status != graph.Done || !slices.Equal(res.State.Log.Slice(), want(n)) {
					t.Fatalf("rule: a run outlives a failover\n got: %q %q, %v", res.Status, res.State.Log.Slice(), err)
				}
				for _, name := range want(n) {
					if ran[name] != 1 {
						t.Errorf("rule: a live run repeats nothing\n got: %s ran %d times", name, ran[name])
					}
				}
				d, _, err := g.Thread("t").State(t.Context(), 0)
				if err != nil || !slices.Equal(d.Log.Slice(), want(n)) {
					t.Errorf("rule: what it stored is what it has\n got: %q, %v", d.Log.Slice(), err)
				}
				if !recoveredOnce(t, p.store) && (durability == graph.Sync || lost > 1) { // with Async nothing may have been lost yet
					t.Error("rule: a commit records that it recovered what was lost\n got: none")
				}
			})
		}
	}
}

// recoveredOnce reads the chain of t and reports whether exactly one commit recovered it.
func recoveredOnce(t testing.TB, store checkpoint.Store) bool {
	t.Helper()
	recovered, next := 0, uint64(0)
	for snap, err := range store.History(t.Context(), checkpoint.Key{Thread: "t"}, checkpoint.Query{}) {
		if err != nil || next != 0 && snap.Seq != next {
			t.Fatalf("rule: a chain has no gaps\n got: commit %d, %v\nwant: %d", snap.Seq, err, next)
		}
		next = snap.Seq - 1
		rec, err := checkpoint.ReadRecord(snap)
		if err != nil {
			t.Fatal(err)
		}
		if rec.Recovered {
			recovered++
		}
	}
	return recovered == 1
}

// TestFailover_IdleThreadIsAnEarlierOne has no run that could recover the thread. The thread
// is at an earlier commit, whole, and the next resume repeats the lost steps.
//
// Requirement: a failover loses acknowledged commits
func TestFailover_IdleThreadIsAnEarlierOne(t *testing.T) {
	const n, stop = 8, 5
	p, ran := newPair(t), map[string]int{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	g := days(t, p.store, n, ran, map[int]func(){3: p.lag, stop: cancel})
	if _, err := g.Invoke(ctx, diary{}, graph.RunOptions{Thread: "t"}); !errors.Is(err, context.Canceled) {
		t.Fatalf("the run was to be cancelled: %v", err)
	}
	p.failOver()
	d, point, err := g.Thread("t").State(t.Context(), 0)
	if err != nil || !slices.Equal(d.Log.Slice(), want(3)) && !slices.Equal(d.Log.Slice(), want(2)) || point.Status != graph.Pending {
		t.Fatalf("rule: after a failover a thread is as it was, whole\n got: %q %q, %v", d.Log.Slice(), point.Status, err)
	}
	left := len(d.Log.Slice())
	g = days(t, p.store, n, ran, nil)
	res, err := g.Resume(t.Context(), graph.Answers{}, graph.RunOptions{Thread: "t", Lease: checkpoint.HoldOptions{Policy: checkpoint.TakeOver}})
	if err != nil || res.Status != graph.Done || !slices.Equal(res.State.Log.Slice(), want(n)) {
		t.Fatalf("rule: a thread that went back can be resumed\n got: %q %q, %v", res.Status, res.State.Log.Slice(), err)
	}
	for i, name := range want(n) {
		times := 1
		if i >= left && i <= stop {
			times = 2 // acknowledged, and lost; and the one that was cancelled
		}
		if ran[name] != times {
			t.Errorf("rule: what was lost is done again, and nothing else\n got: %s ran %d times\nwant: %d", name, ran[name], times)
		}
	}
}

// TestFailover_RunWhoseLeaseWasLostStops loses all of a thread, its lease too.
//
// Requirement: a failover loses acknowledged commits
func TestFailover_RunWhoseLeaseWasLostStops(t *testing.T) {
	p, ran := newPair(t), map[string]int{}
	p.lag()
	_, err := days(t, p.store, 4, ran, map[int]func(){2: p.failOver}).Invoke(t.Context(), diary{}, graph.RunOptions{Thread: "t"})
	if !errors.Is(err, checkpoint.ErrFenced) && !errors.Is(err, checkpoint.ErrLeaseLost) {
		t.Errorf("rule: without its lease a run writes nothing and names the reason\n got: %v", err)
	}
	if _, err := p.store.Load(t.Context(), checkpoint.Key{Thread: "t"}, 0); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("rule: a thread that is gone is gone as a whole\n got: %v", err)
	}
}

package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/postgres"
)

// proxy forwards connections between a store and its server. It counts round trips, and cuts
// connections on request.
type proxy struct {
	listener net.Listener
	socket   string
	trips    atomic.Int64
	bytes    atomic.Int64 // both ways
	cuts     atomic.Int64
	chance   atomic.Int64 // of a reply, or a request, to end its connection instead, in 1/1000
	wg       sync.WaitGroup
	seed     atomic.Uint64
	hole     atomic.Pointer[hole]
}

// hole swallows what goes one way, or both, until it is closed: then the bytes arrive
// after all, as they do over TCP, or the connection is cut.
type hole struct {
	requests, replies bool
	reset             bool
	closed            chan struct{}
}

// swallows waits in a hole. It reports whether the connection is cut then.
func (p *proxy) swallows(reply bool) bool {
	h := p.hole.Load()
	if h == nil || reply && !h.replies || !reply && !h.requests {
		return false
	}
	<-h.closed
	return h.reset
}

func (p *proxy) restore() {
	if h := p.hole.Swap(nil); h != nil {
		close(h.closed)
	}
}

func newProxy(t testing.TB, s *server) *proxy {
	t.Helper()
	return newProxyTo(t, s.socket())
}

// newProxyTo starts a proxy of what listens on a socket.
func newProxyTo(t testing.TB, socket string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, socket: socket}
	p.wg.Go(p.serve)
	t.Cleanup(func() {
		l.Close()
		p.restore()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) dsn(settings string) string {
	return fmt.Sprintf("host=127.0.0.1 port=%d user=weft dbname=postgres sslmode=disable %s", p.listener.Addr().(*net.TCPAddr).Port, settings)
}

func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", p.socket)
		if err != nil {
			client.Close()
			continue
		}
		asked := &atomic.Bool{} // whether the client spoke last
		p.wg.Go(func() { p.pass(server, client, false, func() { p.turn(asked, true) }) })
		p.wg.Go(func() { p.pass(client, server, true, func() { p.turn(asked, false) }) })
	}
}

// turn counts a round trip when the server was the last to speak and the client does now.
func (p *proxy) turn(asked *atomic.Bool, client bool) {
	if asked.Swap(client) != client && client {
		p.trips.Add(1)
	}
}

func (p *proxy) pass(to, from net.Conn, reply bool, seen func()) {
	defer to.Close()
	defer from.Close()
	r := rand.New(rand.NewPCG(1, p.seed.Add(1)))
	for buf := make([]byte, 64<<10); ; {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		seen()
		p.bytes.Add(int64(n))
		if p.swallows(reply) {
			return
		}
		if n < len(buf)/4 && r.Int64N(1000) < p.chance.Load() { // of a long message only the end
			p.cuts.Add(1)
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// count returns how many round trips f makes.
func (p *proxy) count(f func()) int64 {
	before := p.trips.Load()
	f()
	return p.trips.Load() - before
}

// Requirement: round trips of a run and of each call
func TestCall_IsOneRoundTrip(t *testing.T) {
	p := newProxy(t, cluster)
	cfg, err := pgxpool.ParseConfig(p.dsn("pool_max_conns=1"))
	if err != nil {
		t.Fatal(err)
	}
	cfg.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	s, err := postgres.New(t.Context(), pool, postgres.Config{Schema: freshSchema(), RetryFor: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	// The first time round, the connection asks what each statement's parameters are.
	for round := range 2 {
		for _, c := range calls(t, s, fmt.Sprint("round ", round)) {
			if trips := p.count(c.do); round > 0 && trips != 1 {
				t.Errorf("rule: every call is one round trip\n got: %d for %s\nwant: 1", trips, c.name)
			}
		}
	}
}

type namedCall struct {
	name string
	do   func()
}

// calls are one of each kind, in an order in which all of them work.
func calls(t *testing.T, s *postgres.Store, thread string) []namedCall {
	ctx := t.Context()
	k := checkpoint.Key{Thread: thread}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	var fence string
	return []namedCall{
		{"the first commit", func() { must(s.Commit(ctx, link(k, 1))) }},
		{"the same again", func() { must(s.Commit(ctx, link(k, 1))) }},
		{"a lease", func() {
			l, err := s.Acquire(ctx, checkpoint.LeaseRequest{Thread: thread, Owner: "me", TTL: 1 << 40})
			must(err)
			fence = l.Fence
		}},
		{"a commit with everything", func() {
			c := link(k, 2)
			c.Fence, c.TTL, c.Labels = fence, 1<<50, map[string]string{"a": "b"}
			c.Pending = []checkpoint.Entry{{Task: "t", Slot: "s"}}
			must(s.Commit(ctx, c))
		}},
		{"a put", func() {
			must(s.Put(ctx, checkpoint.Pending{Key: k, Head: 2, Fence: fence, Entries: []checkpoint.Entry{{Task: "u", Data: []byte("x")}}}))
		}},
		{"a refused commit", func() {
			c := link(k, 2)
			c.ID, c.Fence = "late", fence
			if err := s.Commit(ctx, c); err == nil {
				t.Error("a late commit was not refused")
			}
		}},
		{"a load", func() {
			snap, err := s.Load(ctx, k, 0)
			must(err)
			if len(snap.Blobs) != 2 || len(snap.Pending) != 2 {
				t.Errorf("got %d blobs and %d entries, want 2 and 2", len(snap.Blobs), len(snap.Pending))
			}
		}},
		{"a drop", func() { must(s.Drop(ctx, checkpoint.Drop{Key: k, Head: 2, Commits: []uint64{1}, Fence: fence})) }},
		{"a release", func() { must(s.Release(ctx, thread, fence)) }},
		{"an expiry", func() { must(s.Expire(ctx, thread, 1<<50)) }},
		{"a page of history", func() {
			for _, err := range s.History(ctx, k, checkpoint.Query{}) {
				must(err)
			}
		}},
		{"a page of threads", func() {
			for _, err := range s.Threads(ctx, checkpoint.ThreadQuery{}) {
				must(err)
			}
		}},
		{"the namespaces", func() {
			_, err := s.Namespaces(ctx, thread)
			must(err)
		}},
		{"a delete", func() { must(s.Delete(ctx, thread)) }},
	}
}

// link returns commit seq of a chain that adds a chunk to its log in each.
func link(k checkpoint.Key, seq uint64) checkpoint.Commit {
	return checkpoint.Commit{
		Key: k, ID: fmt.Sprint(k.Thread, " ", seq), Head: seq - 1, Header: fmt.Append(nil, "header ", seq),
		Refs:  []checkpoint.Ref{{Field: "log", Base: 1, Chunks: int(seq) - 1}},
		Blobs: []checkpoint.Blob{{Field: "log", Base: 1, Chunk: int(seq) - 1, Data: fmt.Append(nil, "chunk ", seq)}},
	}
}

package redis_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/document/documenttest"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/checkpoint/redis"
)

func TestDocuments(t *testing.T) {
	documenttest.Run(t, func(t testing.TB) document.Store {
		s, prefix := common(t)
		return documentsOf(t, storeOf(t, s.client(t), redis.Config{Prefix: prefix}))
	})
	if !testing.Short() {
		t.Run("OnACluster", documentsOnACluster)
	}
}

func documentsOnACluster(t *testing.T) {
	nodes := startCluster(t)
	used := 0
	documenttest.Run(t, func(t testing.TB) document.Store {
		used++
		c := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{nodes[0].addr}})
		t.Cleanup(func() { c.Close() })
		return documentsOf(t, storeOf(t, c, redis.Config{Prefix: fmt.Sprint("cluster", used)}))
	})
}

func BenchmarkDocuments(b *testing.B) {
	s, prefix := common(b)
	documenttest.Benchmark(b, documentsOf(b, storeOf(b, s.client(b), redis.Config{Prefix: prefix})))
}

// TestDocuments_LastAreOneRoundTrip counts on the wire.
//
// Requirement: the last documents are one round trip
func TestDocuments_LastAreOneRoundTrip(t *testing.T) {
	s, prefix := common(t)
	p := startProxy(t, s.addr)
	d := documentsOf(t, storeOf(t, connect(t, goredis.Options{Addr: p.addr, PoolSize: 1}), redis.Config{Prefix: prefix}))
	at, ctx := document.At("conversations", "thread"), t.Context()
	documenttest.Fill(t, d, at, 10_000)
	last := document.Query{Place: at, Reverse: true, Limit: new(20)}
	for round := range 2 { // the first round lets the server learn the scripts
		for _, c := range []struct {
			what string
			do   func() error
		}{
			{"the last 20 of 10,000", func() error {
				docs, err := d.Query(ctx, last)
				if err == nil && (len(docs) != 20 || docs[0].ID != "9999") {
					t.Errorf("rule: the last come first\n got: %d documents, %v", len(docs), docs)
				}
				return err
			}},
			{"a get", func() error { _, err := d.Get(ctx, at, "7"); return err }},
			{"a set", func() error {
				_, err := d.Set(ctx, at, document.Change{ID: "7", Value: json.RawMessage(`1`), Order: "00000007"})
				return err
			}},
			{"a batch of many", func() error {
				_, err := d.Batch(ctx, at, []document.Change{{ID: "a"}, {ID: "b"}, {ID: "c", Value: json.RawMessage(`1`)}, {ID: "d"}})
				return err
			}},
			{"a deletion", func() error { return d.Delete(ctx, at, "c") }},
		} {
			before, up := p.trips.Load(), p.up.Load()
			if err := c.do(); err != nil {
				t.Fatalf("%s: %v", c.what, err)
			}
			if got := p.trips.Load() - before; round > 0 && got != 1 {
				t.Errorf("rule: %s is one round trip\n got: %d", c.what, got)
			}
			if up == p.up.Load() {
				t.Errorf("rule: the counting sees %s\n got: no bytes", c.what)
			}
		}
	}
}

func TestDocuments_DeletedLeaveNoKeys(t *testing.T) {
	s, prefix := common(t)
	d := documentsOf(t, storeOf(t, s.client(t), redis.Config{Prefix: prefix}))
	at, ctx := document.At("c", "p"), t.Context()
	for _, end := range []func() error{func() error { return d.Delete(ctx, at, "id") }, func() error { return d.Clear(ctx, at) }} {
		if _, err := d.Set(ctx, at, document.Change{ID: "id", Value: json.RawMessage(`1`)}); err != nil {
			t.Fatal(err)
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if keys := s.do(t, "keys", prefix+":d:c:*").([]any); len(keys) != 0 {
			t.Errorf("rule: an empty partition has no keys\n got: %q", keys)
		}
	}
	for _, want := range []int64{1, 0} {
		if docs, err := d.Query(ctx, document.Query{Place: document.At("c", "")}); err != nil || len(docs) != 0 {
			t.Errorf("rule: an empty partition holds nothing\n got: %v, %v", docs, err)
		}
		if n := s.do(t, "zcard", prefix+":d:{@}"); n != want {
			t.Errorf("rule: an empty partition leaves the list when no write can be under way\n got: %v on it\nwant: %d", n, want)
		}
		s.do(t, "hset", prefix+":d:{@}:t", "c\x00p", time.Now().Add(-3*time.Hour).Unix())
	}
}

// TestDocuments_ListIsRenewedAfterALoss removes what a failover to a lagging replica loses: a new
// partition, and that it is on the list.
//
// Requirement: a failover loses acknowledged commits
func TestDocuments_ListIsRenewedAfterALoss(t *testing.T) {
	s, prefix := common(t)
	d := documentsOf(t, storeOf(t, s.client(t), redis.Config{Prefix: prefix}))
	at, ctx := document.At("c", "p"), t.Context()
	for round := range 2 {
		if round > 0 {
			s.do(t, "del", prefix+":d:c:{p}", prefix+":d:c:{p}:o", prefix+":d:{@}", prefix+":d:{@}:t")
		}
		if _, err := d.Set(ctx, at, document.Change{ID: "id", Value: json.RawMessage(`1`), If: new(uint64(0))}); err != nil {
			t.Fatal(err)
		}
		if docs, err := d.Query(ctx, document.Query{Place: document.At("c", "")}); err != nil || len(docs) != 1 {
			t.Errorf("rule: a query of the collection finds the document, in round %d\n got: %v, %v", round, docs, err)
		}
	}
}

func TestDocuments_KeysOfOthersAreRefused(t *testing.T) {
	s, prefix := common(t)
	d := documentsOf(t, storeOf(t, s.client(t), redis.Config{Prefix: prefix}))
	at, ctx := document.At("c", "p"), t.Context()
	s.do(t, "set", prefix+":d:c:{other}", "mine")
	_, err := d.Set(ctx, document.At("c", "other"), document.Change{ID: "id", Value: json.RawMessage(`1`)})
	wantError(t, "a key of another program is left alone", err, checkpoint.ErrUnavailable, "another program")
	s.do(t, "hset", prefix+":d:c:{p}", "id", "no record")
	s.do(t, "zadd", prefix+":d:c:{p}:o", 0, "\x000000000000000001id")
	_, err = d.Get(ctx, at, "id")
	wantError(t, "what is no record is damage", err, checkpoint.ErrCorrupt, `"p"`)
	_, err = d.Query(ctx, document.Query{Place: at})
	wantError(t, "what is no record is damage", err, checkpoint.ErrCorrupt, `"p"`)
	_, err = d.Set(ctx, at, document.Change{ID: "id", Value: json.RawMessage(`1`)})
	wantError(t, "what is no record is damage", err, checkpoint.ErrCorrupt, `"p"`)
}

func TestDocuments_LargerThanTheServerAllowsAreRefused(t *testing.T) {
	s, prefix := common(t)
	d := documentsOf(t, storeOf(t, s.client(t), redis.Config{Prefix: prefix, MaxBytes: 1000}))
	_, err := d.Set(t.Context(), document.At("c", "p"), document.Change{ID: "id", Value: json.RawMessage(`"` + strings.Repeat("x", 1000) + `"`)})
	wantError(t, "Config.MaxBytes holds for documents", err, document.ErrTooLarge, "MaxBytes")
}

// TestDocuments_OverConnectionsThatAreCut counts up by compare-and-set. A set that was made and not
// acknowledged, and is then reported as a conflict, would stop it.
func TestDocuments_OverConnectionsThatAreCut(t *testing.T) {
	s, prefix := common(t)
	p := startProxy(t, s.addr, func(p *proxy) { p.cut = sometimes(0.05) })
	d := documentsOf(t, storeOf(t, connect(t, goredis.Options{Addr: p.addr}), redis.Config{Prefix: prefix, RetryFor: time.Minute}))
	version := uint64(0)
	for i := range 300 {
		doc, err := d.Set(t.Context(), document.At("c", "p"), document.Change{ID: "id", Value: fmt.Append(nil, i), Order: fmt.Sprint(i), If: new(version)})
		if err != nil || doc.Version <= version || doc.Order != fmt.Sprint(i) || string(doc.Value) != fmt.Sprint(i) {
			t.Fatalf("rule: a set is made once and acknowledged, however often connections break\n got: %+v, %v", doc, err)
		}
		version = doc.Version
	}
	if p.cuts.Load() == 0 {
		t.Error("the proxy cut nothing")
	}
}

func TestDocuments_WithoutAReplyHaveAnUnknownOutcome(t *testing.T) {
	s, prefix := common(t)
	var cutting atomic.Bool
	p := startProxy(t, s.addr, func(p *proxy) {
		p.cut = func(reply bool, _ []byte) bool { return reply && cutting.Load() }
	})
	client := connect(t, goredis.Options{Addr: p.addr, MaxRetries: -1, PoolSize: 1, Protocol: 2, DisableIdentity: true})
	d := documentsOf(t, storeOf(t, client, redis.Config{Prefix: prefix, RetryFor: time.Second}))
	at := document.At("c", "p")
	if _, err := d.Set(t.Context(), at, document.Change{ID: "id", Value: json.RawMessage(`1`)}); err != nil {
		t.Fatal(err)
	}
	cutting.Store(true)
	_, err := d.Set(t.Context(), at, document.Change{ID: "id", Value: json.RawMessage(`2`)})
	wantError(t, "a set without a reply has an unknown outcome", err, checkpoint.ErrUnknownOutcome)
	_, err = d.Get(t.Context(), at, "id")
	wantError(t, "a get without a reply is only unavailable", err, checkpoint.ErrUnavailable)
}

func TestDocuments_ClosedStore(t *testing.T) {
	s := open(t)
	d, at := documentsOf(t, s), document.At("c", "p")
	s.Close()
	_, setErr := d.Set(t.Context(), at, document.Change{ID: "id", Value: json.RawMessage(`1`)})
	_, getErr := d.Get(t.Context(), at, "id")
	_, queryErr := d.Query(t.Context(), document.Query{Place: document.At("c", "")})
	for _, err := range []error{setErr, getErr, queryErr} {
		wantError(t, "the documents of a closed store say so", err, checkpoint.ErrClosed)
	}
}

// TestDelete_OfASlowServerIsOnce blocks the server for longer than a caller waits that sends its
// command itself. A conditional deletion that was done and is sent twice would find nothing and
// conflict.
func TestDelete_OfASlowServerIsOnce(t *testing.T) {
	s, prefix := common(t)
	cfg := redis.Config{Prefix: prefix}
	t.Run("documents", func(t *testing.T) {
		docs, at := documentsOf(t, storeOf(t, s.quick(t), cfg)), document.At("c", "p")
		deleteThroughout(t, s, func(keys []string) (remove []func() error) {
			var puts []document.Change
			for _, key := range keys {
				puts = append(puts, document.Change{ID: key, Value: json.RawMessage(`1`)})
			}
			put, err := docs.Batch(t.Context(), at, puts)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range put {
				remove = append(remove, func() error {
					_, err := docs.Batch(t.Context(), at, []document.Change{{ID: d.ID, If: &d.Version}})
					return err
				})
			}
			return remove
		})
	})
	t.Run("memories", func(t *testing.T) {
		items, ns := storeOf(t, s.quick(t), cfg).Memory(), []string{"m"}
		deleteThroughout(t, s, func(keys []string) (remove []func() error) {
			var puts []memory.Op
			for _, key := range keys {
				puts = append(puts, memory.Op{Key: key, Value: json.RawMessage(`1`)})
			}
			put, err := items.Batch(t.Context(), ns, puts)
			if err != nil {
				t.Fatal(err)
			}
			for _, it := range put {
				remove = append(remove, func() error {
					_, err := items.Batch(t.Context(), ns, []memory.Op{{Key: it.Key, Options: memory.Options{If: &it.Version}}})
					return err
				})
			}
			return remove
		})
	})
}

// deleteThroughout deletes one after the other while the server is quick, is silent for a time, and
// answers again.
func deleteThroughout(t *testing.T, s *server, put func(keys []string) []func() error) {
	var left []func() error
	for busy, done := chan error(nil), false; !done || len(left) > 0; {
		if len(left) == 0 {
			keys := make([]string, 500)
			for i := range keys {
				keys[i] = fmt.Sprint("k", i)
			}
			left = put(keys)
		}
		if busy == nil {
			busy = occupy(t, s)
		}
		if err := left[0](); err != nil {
			t.Fatalf("rule: a deletion that was done is no conflict\n got: %v", err)
		}
		left = left[1:]
		select {
		case err := <-busy:
			if done = true; err != nil {
				t.Fatal(err)
			}
		default:
		}
	}
}

// documentsOf returns the documents of a store.
func documentsOf(t testing.TB, s *redis.Store) document.Store {
	t.Helper()
	docs, err := s.Documents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

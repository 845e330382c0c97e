package redis_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/graph"
)

// pages are the days of a diary in a graph inside another, which ask a person about the last.
func pages(t *testing.T, store checkpoint.Store, look func(when string)) *graph.Graph[diary] {
	t.Helper()
	inner := days(t, store, 3, map[string]int{}, map[int]func(){1: func() { look("inside a graph inside") }})
	b := graph.New[diary]("pages")
	b.Node("days", graph.Subgraph(inner, func(*diary) (diary, error) { return diary{}, nil }, func(d, end *diary) error {
		d.Log.Append(end.Log.Slice()...)
		return nil
	}))
	b.Node("asks", graph.Func(func(ctx context.Context, d *diary) error {
		look("beside it")
		s, err := graph.Ask[string](ctx, graph.Question{Prompt: "and today?"})
		d.Log.Append(s)
		return err
	}))
	for _, name := range []string{"days", "asks"} {
		b.Edge(graph.Start, name)
		b.Edge(name, graph.End)
	}
	g, err := b.Compile(graph.Config{Store: store, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// keysOf returns all keys below a prefix but those of the index, which is of no one thread.
func keysOf(t *testing.T, s *server, prefix string) (keys []string) {
	t.Helper()
	for _, k := range s.do(t, "keys", prefix+":*").([]any) {
		if s.do(t, "type", k) != "zset" {
			keys = append(keys, k.(string))
		}
	}
	return keys
}

func TestTTL_OfEveryKeyOfAThread(t *testing.T) {
	s, prefix := common(t)
	store := storeOf(t, s.client(t), redis.Config{Prefix: prefix})
	var looks atomic.Int64
	look := func(when string) {
		looks.Add(1)
		keys := keysOf(t, s, prefix)
		for _, k := range keys {
			if left := s.do(t, "pttl", k).(int64); left <= 0 {
				t.Errorf("rule: every key of a thread has a TTL\n got: %s has %d ms left %s", k, left, when)
			}
		}
		if len(keys) != 1 {
			t.Errorf("rule: a thread is one key, so nothing of it outlives the rest\n got: %q %s", keys, when)
		}
	}
	g := pages(t, store, look)
	for turn := range 3 {
		if res, err := g.Invoke(t.Context(), diary{}, graph.RunOptions{Thread: "t"}); err != nil || res.Status != graph.Interrupted {
			t.Fatalf("turn %d: %q, %v", turn, res.Status, err)
		}
		look("with a pending question")
		if _, err := g.Resume(t.Context(), graph.Reply("rain"), graph.RunOptions{Thread: "t"}); err != nil {
			t.Fatal(err)
		}
		look("at the end of a turn")
	}
	if n := looks.Load(); n != 3*(2+1+2) { // the node that asks runs twice a turn
		t.Errorf("looked %d times", n)
	}
}

func TestPrune_LeavesNoOrphan(t *testing.T) {
	s, prefix := common(t)
	store := storeOf(t, s.client(t), redis.Config{Prefix: prefix})
	g := pages(t, store, func(string) {})
	for range 5 {
		if _, err := g.Invoke(t.Context(), diary{}, graph.RunOptions{Thread: "t"}); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Resume(t.Context(), graph.Reply("rain"), graph.RunOptions{Thread: "t"}); err != nil {
			t.Fatal(err)
		}
	}
	before := pieces(t, s, prefix)
	if err := checkpoint.Prune(t.Context(), store, "t", checkpoint.Keep{Last: 1}); err != nil {
		t.Fatal(err)
	}
	there, needed := pieces(t, s, prefix), map[string]bool{}
	spaces, err := store.Namespaces(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	for _, ns := range spaces {
		for snap, err := range store.History(t.Context(), checkpoint.Key{Thread: "t", Namespace: ns}, checkpoint.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			need(needed, snap)
		}
	}
	for piece := range there {
		if !needed[piece] {
			t.Errorf("rule: pruning leaves no orphan\n got: %s, which no commit needs", piece)
		}
	}
	for piece := range needed {
		if !there[piece] {
			t.Errorf("rule: pruning leaves each commit whole\n got: no %s", piece)
		}
	}
	if len(needed) < 2 || len(before) < 4*len(there) {
		t.Errorf("%d pieces of %d are left, and %d needed: is anything pruned?", len(there), len(before), len(needed))
	}
}

// pieces returns the fields of the thread t that hold commits, chunks and entries.
func pieces(t *testing.T, s *server, prefix string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, f := range s.do(t, "hkeys", prefix+":{t}").([]any) {
		if kind, _, _ := strings.Cut(f.(string), "/"); kind == "c" || kind == "b" || kind == "e" {
			all[f.(string)] = true
		}
	}
	return all
}

// need adds the pieces that a commit refers to.
func need(pieces map[string]bool, snap checkpoint.Snapshot) {
	ns := redis.Encode(snap.Namespace)
	pieces[fmt.Sprintf("c/%s/%d", ns, snap.Seq)] = true
	for _, r := range snap.Refs {
		for chunk := range r.Chunks + 1 {
			pieces[fmt.Sprintf("b/%s/%s/%d/%d", ns, redis.Encode(r.Field), r.Base, chunk)] = true
		}
	}
}

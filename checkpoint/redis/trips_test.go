package redis_test

import (
	"fmt"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/redis"
)

// TestCall_RoundTrips counts on the wire. A caller on a busy machine may send a command twice, so
// the least of several rounds counts.
//
// Requirement: round trips of a run and of each call
func TestCall_RoundTrips(t *testing.T) {
	s, prefix := common(t)
	p := startProxy(t, s.addr)
	client := connect(t, goredis.Options{Addr: p.addr, PoolSize: 1, ContextTimeoutEnabled: true, MaxRetries: -1})
	store := storeOf(t, client, redis.Config{Prefix: prefix})
	ctx := t.Context()
	k := checkpoint.Key{Thread: "thread"}
	head := uint64(0)
	least := map[string]int64{}
	for round := range 6 { // the first one lets the server learn the scripts
		for _, c := range []struct {
			what string
			want int64
			do   func() error
		}{
			{"a commit", 1, func() error { head++; return store.Commit(ctx, link("thread", head, "id")) }},
			{"a load with entries", 1, func() error { _, err := store.Load(ctx, k, 0); return err }},
			{"a load by number", 1, func() error { _, err := store.Load(ctx, k, head); return err }},
			{"a put", 1, func() error {
				return store.Put(ctx, checkpoint.Pending{Key: k, Head: head, Entries: []checkpoint.Entry{{Task: "t", Slot: "s"}, {Task: "u", Slot: "s"}}})
			}},
			{"a commit after entries", 1, func() error {
				head++
				c := link("thread", head, "id")
				c.Pending, c.TTL = []checkpoint.Entry{{Task: "t", Slot: "s"}}, time.Hour
				return store.Commit(ctx, c)
			}},
			{"a page of history", 1, func() error {
				for _, err := range store.History(ctx, k, checkpoint.Query{Limit: 60}) {
					if err != nil {
						return err
					}
				}
				return nil
			}},
			{"a lease and its release", 2, func() error {
				l, err := store.Acquire(ctx, checkpoint.LeaseRequest{Thread: "thread", Owner: "o", TTL: time.Minute})
				if err != nil {
					return err
				}
				return store.Release(ctx, "thread", l.Fence)
			}},
			{"a drop", 1, func() error {
				return store.Drop(ctx, checkpoint.Drop{Key: k, Head: head, Commits: []uint64{head - 1}})
			}},
			{"an expiry", 1, func() error { return store.Expire(ctx, "thread", time.Hour) }},
			{"the namespaces", 1, func() error { _, err := store.Namespaces(ctx, "thread"); return err }},
		} {
			before := p.trips.Load()
			if err := c.do(); err != nil {
				t.Fatalf("%s: %v", c.what, err)
			}
			got := p.trips.Load() - before
			if round > 1 {
				got = min(got, least[c.what])
			}
			if least[c.what] = got; round == 5 && got != c.want {
				t.Errorf("rule: %s is %d round trip(s)\n got: %d", c.what, c.want, got)
			}
		}
	}
}

// TestStep_BytesDoNotGrow compares step 100 of a thread with step 1000.
func TestStep_BytesDoNotGrow(t *testing.T) {
	s, prefix := common(t)
	p := startProxy(t, s.addr)
	store := storeOf(t, connect(t, goredis.Options{Addr: p.addr, PoolSize: 1}), redis.Config{Prefix: prefix})
	var wire, memory [2]int64
	used := func() int64 { return s.do(t, "memory", "usage", prefix+":{thread}", "samples", 0).(int64) }
	const around = 50
	seq := 0
	grow := func(to int) {
		for ; seq < to; seq++ {
			if err := store.Commit(t.Context(), step("thread", seq+1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, at := range []int{100, 1000} {
		grow(at - around/2)
		up, bytes := p.up.Load(), used()
		grow(at + around/2)
		wire[i], memory[i] = (p.up.Load()-up)/around, (used()-bytes)/around
	}
	t.Logf("bytes a step: %d on the wire at step 100, %d at step 1000; %d and %d in memory", wire[0], wire[1], memory[0], memory[1])
	if wire[1] > wire[0]*105/100 {
		t.Errorf("rule: what a step sends does not grow with the thread\n got: %d bytes at step 1000\nwant: about %d, as at step 100", wire[1], wire[0])
	}
	if wire[0] < 1424 || memory[0] < 1424 {
		t.Errorf("rule: the counting sees what is stored\n got: %d and %d bytes\nwant: more than 1424", wire[0], memory[0])
	}
}

// TestNumbers_AreFoundInLongChains looks for a place that no commit marks any more.
func TestNumbers_AreFoundInLongChains(t *testing.T) {
	store := open(t)
	const n = 6000 // more than the server looks through in one call
	for seq := range n {
		c := checkpoint.Commit{Key: checkpoint.Key{Thread: "thread"}, ID: fmt.Sprint(seq), Head: uint64(seq)}
		if err := store.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	k := checkpoint.Key{Thread: "thread"}
	if err := store.Drop(t.Context(), checkpoint.Drop{Key: k, Head: n, Commits: []uint64{4, 6, 5}}); err != nil {
		t.Fatal(err)
	}
	for _, before := range []uint64{7, 6, 5, 4} {
		var got []uint64
		for snap, err := range store.History(t.Context(), k, checkpoint.Query{Before: before}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, snap.Seq)
		}
		if fmt.Sprint(got) != "[3 2 1]" {
			t.Errorf("rule: a history begins below Before, whether or not that is a commit\n got: %v below %d\nwant: [3 2 1]", got, before)
		}
	}
}

package redis_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/redis"
)

// TestIndex_ListingBesideAFirstCommit lists the threads while the server has a part of a first
// commit: the thread is on the index and does not exist.
func TestIndex_ListingBesideAFirstCommit(t *testing.T) {
	s, prefix := common(t)
	other := storeOf(t, s.client(t), redis.Config{Prefix: prefix})
	list := func() (ids []string) {
		for snap, err := range other.Threads(t.Context(), checkpoint.ThreadQuery{}) {
			if err != nil {
				t.Error(err)
			}
			ids = append(ids, snap.Thread)
		}
		return ids
	}
	indexed := func() (n int64) {
		for i := range 16 {
			n += s.do(t, "zcard", fmt.Sprintf("%s:threads:%d", prefix, i)).(int64)
		}
		return n
	}
	var begun atomic.Bool // the commit, which is sent in several pieces
	p := startProxy(t, s.addr, func(p *proxy) {
		p.cut = func(reply bool, b []byte) bool {
			if !reply && len(b) > 8<<10 && begun.CompareAndSwap(false, true) {
				waitFor(t, "the thread is on the index", func() bool { return indexed() == 2 })
				if ids := list(); len(ids) != 1 {
					t.Errorf("a listing before the commit has %q", ids)
				}
			}
			return false
		}
	})
	client := connect(t, goredis.Options{Addr: p.addr, PoolSize: 1, ContextTimeoutEnabled: true, MaxRetries: -1})
	store := storeOf(t, client, redis.Config{Prefix: prefix})
	if err := store.Commit(t.Context(), link("warm", 1, "1")); err != nil {
		t.Fatal(err)
	}
	c := link("large", 1, "1")
	c.Blobs[0].Data = make([]byte, 1<<20)
	if err := store.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if ids := list(); fmt.Sprint(ids) != "[large warm]" {
		t.Errorf("rule: a thread is listed from its first commit on, whatever was listed meanwhile\n got: %q", ids)
	}
	if !begun.Load() {
		t.Error("the commit was sent in small pieces")
	}
}

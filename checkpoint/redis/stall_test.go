package redis_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/redis"
)

// TestStalledServer_LeavesNothingInMemory pauses the server under many threads whose commits have
// deadlines, again and again. Abandoned calls leave nothing in memory, and each thread continues.
//
// Requirement: readers or the store are slow under load
func TestStalledServer_LeavesNothingInMemory(t *testing.T) {
	const pause = 30 * time.Second
	threads, rounds := fewer(50, 200, 10000), fewer(2, 3, 20)
	s := start(t)
	store := storeOf(t, connect(t, goredis.Options{Addr: s.addr, ReadTimeout: time.Second, ContextTimeoutEnabled: true, MaxRetries: -1}), redis.Config{Unlisted: true})
	var heap []uint64
	var gaveUp atomic.Int64
	for round := range rounds {
		seq := uint64(round) + 1
		each(threads, func(i int) {
			if err := store.Commit(t.Context(), link(fmt.Sprint("thread ", i), seq, fmt.Sprint(seq))); err != nil {
				t.Errorf("rule: after a stall each thread goes on\n got: %v", err)
			}
		})
		s.do(t, "client", "pause", pause.Milliseconds(), "write")
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		each(threads, func(i int) {
			if store.Commit(ctx, link(fmt.Sprint("thread ", i), seq+1, fmt.Sprint(seq+1))) != nil {
				gaveUp.Add(1)
			}
		})
		cancel()
		if n := store.Waiting(); n > 0 {
			t.Errorf("rule: who gave up leaves nothing in a queue\n got: %d calls that wait", n)
		}
		s.do(t, "client", "unpause")
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		heap = append(heap, m.HeapAlloc)
	}
	if gaveUp.Load() == 0 {
		t.Error("the server was never stalled")
	}
	if first, last := heap[0], heap[rounds-1]; last > 2*first+(8<<20) {
		t.Errorf("rule: stalls gather nothing\n got: %d bytes after the first, %d after the last", first, last)
	}
	for i := range threads {
		if snap, err := store.Load(t.Context(), checkpoint.Key{Thread: fmt.Sprint("thread ", i)}, 0); err != nil || snap.Seq < uint64(rounds) {
			t.Fatalf("rule: no stall costs a commit that was acknowledged\n got: commit %d, %v", snap.Seq, err)
		}
	}
	t.Logf("%d threads, %d stalls, %d calls given up, heap %d", threads, rounds, gaveUp.Load(), heap)
}

// each calls f for each number below n, at once.
func each(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

package redis_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/checkpointtest"
	"github.com/weftrun/weft/checkpoint/redis"
)

func BenchmarkStore(b *testing.B) {
	checkpointtest.Bench(b, func(t testing.TB) checkpoint.Store { return open(t) })
}

// BenchmarkCommitBesideSet compares a commit with a SET of the same bytes, on a server that
// appends to a file every second.
func BenchmarkCommitBesideSet(b *testing.B) {
	s := start(b, "--appendonly", "yes", "--appendfsync", "everysec")
	client := s.quick(b)
	var n atomic.Int64
	checkpointtest.BenchBeside(b, func(t testing.TB) checkpoint.Store {
		return storeOf(t, client, redis.Config{Prefix: fmt.Sprint("bench", n.Add(1))})
	},
		func(_ int, data []byte) error {
			return client.Set(context.Background(), fmt.Sprint("set:", n.Add(1)), data, 0).Err()
		})
}

// step is a header of 400 bytes and a chunk of 1 KiB at the end of a log.
func step(thread string, seq int) checkpoint.Commit {
	return checkpoint.Commit{
		Key: checkpoint.Key{Thread: thread}, ID: fmt.Sprint(seq), Head: uint64(seq - 1), Header: bytes.Repeat([]byte("h"), 400),
		Refs:  []checkpoint.Ref{{Field: "log", Base: 1, Chunks: seq - 1}},
		Blobs: []checkpoint.Blob{{Field: "log", Base: 1, Chunk: seq - 1, Data: bytes.Repeat([]byte("b"), 1024)}},
	}
}

// BenchmarkOldBesideNew commits to a thread of 10,000 commits and to a new one in turns, so the
// load of the machine is the same for both.
func BenchmarkOldBesideNew(b *testing.B) {
	s := start(b, "--appendonly", "yes", "--appendfsync", "everysec")
	store := storeOf(b, s.quick(b), redis.Config{Prefix: "bench"})
	put := func(thread string, seq int) float64 {
		c := step(thread, seq)
		began := time.Now()
		if err := store.Commit(context.Background(), c); err != nil {
			b.Fatal(err)
		}
		return float64(time.Since(began))
	}
	length := 0
	for length < 10_000 {
		length++
		put("old", length)
	}
	var old, young []float64
	for round := 0; b.Loop(); round++ {
		thread := fmt.Sprint("new", round)
		for seq := 1; seq <= 200; seq++ {
			length++
			late, early := put("old", length), put(thread, seq)
			if seq > 100 {
				old, young = append(old, late), append(young, early)
			}
		}
	}
	slices.Sort(old)
	slices.Sort(young)
	b.ReportMetric(old[len(old)/2]/1e3, "old-µs")
	b.ReportMetric(young[len(young)/2]/1e3, "new-µs")
	b.ReportMetric(old[len(old)/2]/young[len(young)/2], "old/new")
}

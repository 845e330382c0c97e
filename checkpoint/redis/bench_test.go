package redis_test

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/checkpointtest"
	"github.com/weftrun/weft/checkpoint/redis"
)

func BenchmarkStore(b *testing.B) {
	checkpointtest.Bench(b, func(t testing.TB) checkpoint.Store { return open(t) })
}

// BenchmarkAgainstSet measures commits and bare SETs of the same bytes in turns, on a
// server that appends to a file every second, and reports the ratio: what compare-and-set,
// fencing, exactly-once and a loadable thread cost.
func BenchmarkAgainstSet(b *testing.B) {
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) { againstSet(b, writers) })
	}
}

func againstSet(b *testing.B, writers int) {
	s := start(b, "--appendonly", "yes", "--appendfsync", "everysec")
	client := s.quick(b)
	store := storeOf(b, client, redis.Config{})
	ctx := b.Context()
	body := bytes.Repeat([]byte("s"), 1424)
	const share = 500
	var commits, sets rate
	round := 0
	for b.Loop() {
		round++
		sets.add(measure(writers, share, func(w, n int) error {
			return client.Set(ctx, fmt.Sprintf("set:%d:%d:%d", round, w, n), body, 0).Err()
		}))
		steps := make([][]checkpoint.Commit, writers)
		for w := range steps {
			for n := range share {
				steps[w] = append(steps[w], step(fmt.Sprintf("thread-%d-%d", round, w), n+1))
			}
		}
		commits.add(measure(writers, share, func(w, n int) error { return store.Commit(ctx, steps[w][n]) }))
	}
	b.ReportMetric(median(commits.p50)/1e3, "commit-µs")
	b.ReportMetric(median(sets.p50)/1e3, "set-µs")
	b.ReportMetric(median(ratios(commits.p50, sets.p50)), "latency-ratio")
	b.ReportMetric(median(commits.each), "commits/s")
	b.ReportMetric(median(sets.each), "sets/s")
	b.ReportMetric(median(ratios(commits.each, sets.each)), "throughput-ratio")
}

// rate has the median latency in ns and the calls a second of each round.
type rate struct{ p50, each []float64 }

func (r *rate) add(p50, each float64) { r.p50, r.each = append(r.p50, p50), append(r.each, each) }

func measure(writers, share int, f func(w, n int) error) (p50, each float64) {
	took := make([][]float64, writers)
	start := time.Now()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := range share {
				t := time.Now()
				if err := f(w, n); err != nil {
					panic(err)
				}
				took[w] = append(took[w], float64(time.Since(t)))
			}
		})
	}
	wg.Wait()
	return median(slices.Concat(took...)), float64(writers*share) / time.Since(start).Seconds()
}

func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

func ratios(a, b []float64) (list []float64) {
	for i := range a {
		list = append(list, a[i]/b[i])
	}
	return list
}

// step is a header of 400 bytes and a chunk of 1 KiB at the end of a log.
func step(thread string, seq int) checkpoint.Commit {
	return checkpoint.Commit{
		Key: checkpoint.Key{Thread: thread}, ID: fmt.Sprint(seq), Head: uint64(seq - 1), Header: bytes.Repeat([]byte("h"), 400),
		Refs:  []checkpoint.Ref{{Field: "log", Base: 1, Chunks: seq - 1}},
		Blobs: []checkpoint.Blob{{Field: "log", Base: 1, Chunk: seq - 1, Data: bytes.Repeat([]byte("b"), 1024)}},
	}
}

package checkpointtest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

// BenchBeside compares commits with plain writes of the same bytes to the same server or disk. The
// difference is the cost of compare-and-set, fencing, exactly-once and a thread that can be loaded.
// The function plain writes 1424 bytes. A commit has a header of 400 bytes and a chunk of 1 KiB.
// Rounds of plain writes and of commits alternate, with 1 writer and with 64. Each commit is
// compared with the plain writes of its own round, so the ratios hold on a busy machine too.
//
// It reports medians over the rounds: the median latency of a commit and of a plain write in µs,
// the number of each per second, and the ratios latency-ratio and throughput-ratio. A larger
// -benchtime makes more rounds; 10x is enough.
func BenchBeside(b *testing.B, open func(t testing.TB) checkpoint.Store, plain func(writer int, data []byte) error) {
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s := open(b)
			defer s.Close()
			benchBeside(b, s, writers, plain)
		})
	}
}

func benchBeside(b *testing.B, s checkpoint.Store, writers int, plain func(writer int, data []byte) error) {
	data := bytes.Repeat([]byte("s"), 1424)
	each := max(2000/writers, 100)
	var commits, plains rates
	for round := 0; b.Loop(); round++ {
		plains.add(b, writers, each, func(w, _ int) error { return plain(w, data) })
		steps := make([][]checkpoint.Commit, writers)
		for w := range steps {
			for n := range each {
				steps[w] = append(steps[w], growing(key(fmt.Sprintf("thread %d of round %d", w, round)), n+1))
			}
		}
		commits.add(b, writers, each, func(w, n int) error { return s.Commit(context.Background(), steps[w][n]) })
	}
	b.ReportMetric(median(commits.latency)/1e3, "commit-µs")
	b.ReportMetric(median(plains.latency)/1e3, "plain-µs")
	b.ReportMetric(median(ratios(commits.latency, plains.latency)), "latency-ratio")
	b.ReportMetric(median(commits.persec), "commits/s")
	b.ReportMetric(median(plains.persec), "plains/s")
	b.ReportMetric(median(ratios(commits.persec, plains.persec)), "throughput-ratio")
}

// rates has of each round the median latency in ns, and the calls a second.
type rates struct{ latency, persec []float64 }

// add has writers make so many calls each, together.
func (r *rates) add(b *testing.B, writers, each int, call func(w, n int) error) {
	took := make([][]float64, writers)
	start := time.Now()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := range each {
				t := time.Now()
				if err := call(w, n); err != nil {
					b.Error(err)
					return
				}
				took[w] = append(took[w], float64(time.Since(t)))
			}
		})
	}
	wg.Wait()
	if b.Failed() {
		b.FailNow()
	}
	r.latency = append(r.latency, median(slices.Concat(took...)))
	r.persec = append(r.persec, float64(writers*each)/time.Since(start).Seconds())
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

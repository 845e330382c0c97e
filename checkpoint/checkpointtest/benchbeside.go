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

// BenchBeside compares commits with a bare write of the same bytes to the same server or
// disk: what compare-and-set, fencing, exactly-once and a thread that can be loaded cost.
// bare writes data, 1424 bytes; a commit has a header of 400 and a chunk of 1 KiB. By 1 and
// by 64 writers, rounds of bare writes and of commits take turns, and each commit is
// compared with the bare writes of its own round: trust the ratios, whatever else the
// machine does.
//
// It reports the medians over the rounds: of the median latency of a commit and of a bare
// write in µs, of how many there are a second, and of their ratios, latency-ratio and
// throughput-ratio. Rounds get more with -benchtime; 10x is a good one.
func BenchBeside(b *testing.B, open func(t testing.TB) checkpoint.Store, bare func(writer int, data []byte) error) {
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s := open(b)
			defer s.Close()
			benchBeside(b, s, writers, bare)
		})
	}
}

func benchBeside(b *testing.B, s checkpoint.Store, writers int, bare func(writer int, data []byte) error) {
	data := bytes.Repeat([]byte("s"), 1424)
	each := max(2000/writers, 100)
	var commits, bares rates
	for round := 0; b.Loop(); round++ {
		bares.add(b, writers, each, func(w, _ int) error { return bare(w, data) })
		steps := make([][]checkpoint.Commit, writers)
		for w := range steps {
			for n := range each {
				steps[w] = append(steps[w], growing(key(fmt.Sprintf("thread %d of round %d", w, round)), n+1))
			}
		}
		commits.add(b, writers, each, func(w, n int) error { return s.Commit(context.Background(), steps[w][n]) })
	}
	b.ReportMetric(median(commits.latency)/1e3, "commit-µs")
	b.ReportMetric(median(bares.latency)/1e3, "bare-µs")
	b.ReportMetric(median(ratios(commits.latency, bares.latency)), "latency-ratio")
	b.ReportMetric(median(commits.persec), "commits/s")
	b.ReportMetric(median(bares.persec), "bares/s")
	b.ReportMetric(median(ratios(commits.persec, bares.persec)), "throughput-ratio")
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

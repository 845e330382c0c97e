package server

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// metrics counts requests. init must be called before the first use.
type metrics struct {
	mu       sync.Mutex
	requests map[requestKey]int
	times    map[string]*histogram
}

type requestKey struct {
	route  string
	status int
}

// bounds are those of the buckets of a histogram, in seconds.
var bounds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

type histogram struct {
	counts []int // by bucket; the last is for longer times
	sum    float64
}

func (m *metrics) init() {
	m.requests, m.times = map[requestKey]int{}, map[string]*histogram{}
}

// observe counts a request.
func (m *metrics) observe(route string, status int, elapsed time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests[requestKey{route, status}]++
	h := m.times[route]
	if h == nil {
		h = newHistogram()
		m.times[route] = h
	}
	h.observe(elapsed)
}

func newHistogram() *histogram { return &histogram{counts: make([]int, len(bounds)+1)} }

func (h *histogram) observe(elapsed time.Duration) {
	seconds := elapsed.Seconds()
	i, _ := slices.BinarySearch(bounds, seconds)
	h.counts[i]++
	h.sum += seconds
}

// text returns the metrics in the format of Prometheus.
func (m *metrics) text() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	b.WriteString("# TYPE weft_http_requests_total counter\n")
	keys := slices.SortedFunc(maps.Keys(m.requests), func(a, b requestKey) int {
		return cmp.Or(cmp.Compare(a.route, b.route), cmp.Compare(a.status, b.status))
	})
	for _, k := range keys {
		fmt.Fprintf(&b, "weft_http_requests_total{route=%q,status=\"%d\"} %d\n", k.route, k.status, m.requests[k])
	}
	b.WriteString("# TYPE weft_http_request_seconds histogram\n")
	for _, route := range slices.Sorted(maps.Keys(m.times)) {
		m.times[route].write(&b, "weft_http_request_seconds", fmt.Sprintf("route=%q", route))
	}
	return b.String()
}

// write writes a histogram. label, unless it is "", is that of all its lines.
func (h *histogram) write(b *strings.Builder, name, label string) {
	total, comma, braces := 0, "", ""
	if label != "" {
		comma, braces = label+",", "{"+label+"}"
	}
	for i, n := range h.counts {
		bound := "+Inf"
		if i < len(bounds) {
			bound = strconv.FormatFloat(bounds[i], 'g', -1, 64)
		}
		total += n
		fmt.Fprintf(b, "%s_bucket{%sle=%q} %d\n", name, comma, bound, total)
	}
	fmt.Fprintf(b, "%s_sum%s %g\n", name, braces, h.sum)
	fmt.Fprintf(b, "%s_count%s %d\n", name, braces, total)
}

func writeRuntime(b *strings.Builder) {
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	for _, m := range []struct {
		name  string
		value uint64
	}{
		{"go_goroutines", uint64(runtime.NumGoroutine())},
		{"go_memstats_heap_alloc_bytes", mem.HeapAlloc},
		{"go_memstats_sys_bytes", mem.Sys},
	} {
		fmt.Fprintf(b, "# TYPE %s gauge\n%s %d\n", m.name, m.name, m.value)
	}
}

// write writes the load in the format of Prometheus.
func (l *load) write(b *strings.Builder) {
	fmt.Fprintf(b, "# TYPE weft_streams_open gauge\nweft_streams_open %d\n", l.streams.Load())
	if worker := l.worker.Load(); worker != nil {
		slots, busy := worker.Slots()
		fmt.Fprintf(b, "# TYPE weft_worker_slots gauge\nweft_worker_slots %d\n# TYPE weft_worker_runs gauge\nweft_worker_runs %d\n", slots, busy)
	}
	if runs := l.runs.Load(); runs != nil {
		fmt.Fprintf(b, "# TYPE weft_oldest_pending_seconds gauge\nweft_oldest_pending_seconds %g\n", runs.Oldest.Seconds())
		fmt.Fprintf(b, "# TYPE weft_runs gauge\nweft_runs{status=\"pending\"} %d\nweft_runs{status=\"running\"} %d\n", runs.Pending, runs.Running)
	}
}

func getMetrics(c *call) error {
	var b strings.Builder
	b.WriteString(c.server.metrics.text())
	c.server.load.write(&b)
	c.server.counts.write(&b, c.server.hub.Stats())
	writeRuntime(&b)
	return c.write(200, "text/plain; version=0.0.4; charset=utf-8", []byte(b.String()))
}

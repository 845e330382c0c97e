package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph/eventlog"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/work"
)

// counts are what the metrics show beside the requests.
type counts struct {
	appended, bytes atomic.Uint64 // batches of events that were published here
	dropped         atomic.Uint64 // streams that were ended since their clients were too slow
	reaped          atomic.Uint64 // runs that were claimed after their process had died
	lag             timings
	store           timings
}

func newCounts() *counts {
	return &counts{lag: timings{by: map[string]*histogram{"": newHistogram()}}, store: timings{by: map[string]*histogram{}}}
}

// claimed counts a claim.
func (c *counts) claimed(claim queue.Claimed) {
	c.lag.observe("", claim.Lag)
	if claim.Reaped {
		c.reaped.Add(1)
	}
}

// slow counts the error of a reader that was too slow, and returns the error.
func (c *counts) slow(err error) error {
	if errors.Is(err, work.ErrSlow) {
		c.dropped.Add(1)
	}
	return err
}

// write writes the counts in the format of Prometheus.
func (c *counts) write(b *strings.Builder, hub work.HubStats) {
	for _, m := range []struct {
		name, kind string
		value      uint64
	}{
		{"weft_threads_followed", "gauge", uint64(hub.Threads)},
		{"weft_readers", "gauge", uint64(hub.Readers)},
		{"weft_readers_behind_total", "counter", hub.Behind},
		{"weft_streams_dropped_total", "counter", c.dropped.Load()},
		{"weft_event_batches_appended_total", "counter", c.appended.Load()},
		{"weft_event_bytes_appended_total", "counter", c.bytes.Load()},
		{"weft_event_batches_missed_total", "counter", hub.Missed},
		{"weft_runs_reaped_total", "counter", c.reaped.Load()},
	} {
		fmt.Fprintf(b, "# TYPE %s %s\n%s %d\n", m.name, m.kind, m.name, m.value)
	}
	c.lag.write(b, "weft_claim_lag_seconds", "")
	c.store.write(b, "weft_store_seconds", "call")
}

// timings are histograms by name.
type timings struct {
	mu sync.Mutex
	by map[string]*histogram
}

func (t *timings) observe(name string, elapsed time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.by[name]
	if h == nil {
		h = newHistogram()
		t.by[name] = h
	}
	h.observe(elapsed)
}

// write writes the histograms, with their names as the values of a label.
func (t *timings) write(b *strings.Builder, metric, label string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(b, "# TYPE %s histogram\n", metric)
	for _, name := range slices.Sorted(maps.Keys(t.by)) {
		text := ""
		if label != "" {
			text = fmt.Sprintf("%s=%q", label, name)
		}
		t.by[name].write(b, metric, text)
	}
}

// countedBus counts what is published on a bus.
type countedBus struct {
	topic.Bus
	counts *counts
}

// Publish implements topic.Bus.
func (b countedBus) Publish(ctx context.Context, name string, data []byte) error {
	err := b.Bus.Publish(ctx, name, data)
	if err == nil && strings.HasPrefix(name, eventlog.Topic("")) {
		b.counts.appended.Add(1)
		b.counts.bytes.Add(uint64(len(data)))
	}
	return err
}

// timedDocuments measures the calls of a store of documents.
type timedDocuments struct {
	document.Store
	timings *timings
}

func (d timedDocuments) since(call string, began time.Time) {
	d.timings.observe(call, time.Since(began))
}

// Get implements document.Store.
func (d timedDocuments) Get(ctx context.Context, p document.Place, id string) (document.Doc, error) {
	defer d.since("get", time.Now())
	return d.Store.Get(ctx, p, id)
}

// Set implements document.Store.
func (d timedDocuments) Set(ctx context.Context, p document.Place, c document.Change) (document.Doc, error) {
	defer d.since("set", time.Now())
	return d.Store.Set(ctx, p, c)
}

// Batch implements document.Store.
func (d timedDocuments) Batch(ctx context.Context, p document.Place, changes []document.Change) ([]document.Doc, error) {
	defer d.since("batch", time.Now())
	return d.Store.Batch(ctx, p, changes)
}

// Query implements document.Store.
func (d timedDocuments) Query(ctx context.Context, q document.Query) ([]document.Doc, error) {
	defer d.since("query", time.Now())
	return d.Store.Query(ctx, q)
}

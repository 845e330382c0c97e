package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/weftrun/weft/capabilities/budget"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// thread is the state of the graphs here.
type thread struct {
	Log state.List[string] `json:"log"`
}

// Trips runs graphs on a store and fails the test if their number of round trips is wrong. A run
// makes one round trip to load the thread, one for its input, one for each superstep, and two for
// the lease. The results of a fan-out are stored while other tasks run, so there is one round trip
// from the end of the last task to the next step. trips returns the round trips so far.
func Trips(t testing.TB, store checkpoint.Store, trips func() int64) {
	linear(t, store, trips, "first") // a connection learns scripts and statements
	fanOut(t, store, trips, "first fan")
	seen := linear(t, store, trips, "linear")
	for i := 1; i < len(seen); i++ {
		if n := seen[i] - seen[i-1]; n != 1 {
			t.Errorf("rule: a superstep of one task is 1 round trip\n got: %d for step %d\nwant: 1", n, i)
		}
	}
	before := trips()
	linear(t, store, trips, "whole")
	if n, want := trips()-before, int64(steps+4); n != want {
		t.Errorf("rule: a run is a load, an input, its steps, and 2 for the lease\n got: %d round trips for %d steps\nwant: %d", n, steps, want)
	}
	before = trips()
	run(t, loop(t, store, func() bool { return false }), "free", checkpoint.NoLease)
	if n := trips() - before; n != 3 {
		t.Errorf("rule: without a lease, a run of one step is a load, an input and a step\n got: %d round trips\nwant: 3", n)
	}
	ended, next := fanOut(t, store, trips, "fan")
	if next-ended != 1 {
		t.Errorf("rule: from the last result of a fan-out to the next step there is 1 round trip\n got: %d\nwant: 1", next-ended)
	}
}

const steps = 20

// linear runs a graph of one node that goes to itself, and returns the round trips before each
// step.
func linear(t testing.TB, store checkpoint.Store, trips func() int64, name string) (seen []int64) {
	t.Helper()
	run(t, loop(t, store, func() bool {
		seen = append(seen, trips())
		return len(seen) < steps
	}), name, checkpoint.Reject)
	return seen
}

// loop compiles a graph whose node adds 1 KiB to the log and goes to itself while more returns
// true.
func loop(t testing.TB, store checkpoint.Store, more func() bool) *graph.Graph[thread] {
	t.Helper()
	return loopOf(t, graph.Config{Store: store}, more)
}

func loopOf(t testing.TB, cfg graph.Config, more func() bool) *graph.Graph[thread] {
	t.Helper()
	b := graph.New[thread]("loop")
	b.Node("add", graph.Router(func(_ context.Context, s *thread) (graph.Command, error) {
		s.Log.Append(kilobyte())
		if more() {
			return graph.Goto("add"), nil
		}
		return graph.Goto(graph.End), nil
	}, "add", graph.End))
	b.Edge(graph.Start, "add")
	return compile(t, b, cfg)
}

func compile(t testing.TB, b *graph.Builder[thread], cfg graph.Config) *graph.Graph[thread] {
	t.Helper()
	g, err := b.Compile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// run runs a graph under a lease of an hour, which needs no renewal.
func run(t testing.TB, g *graph.Graph[thread], name string, lease checkpoint.HoldPolicy) {
	t.Helper()
	if _, err := g.Invoke(t.Context(), thread{}, graph.RunOptions{Thread: name, Lease: checkpoint.HoldOptions{Policy: lease, TTL: time.Hour}}); err != nil {
		t.Fatal(err)
	}
}

// fanOut runs tasks of which the first ends when the results of all others are stored. It
// returns the trips at its end and at the beginning of the next step.
func fanOut(t testing.TB, store checkpoint.Store, trips func() int64, name string) (ended, next int64) {
	t.Helper()
	const tasks = 8
	p := &puts{Store: store, want: tasks - 1, full: make(chan struct{})}
	b := graph.New[thread]("fan")
	b.Node("split", graph.Router(func(context.Context, *thread) (c graph.Command, err error) {
		for n := range tasks {
			c = c.Send("work", n)
		}
		return c, nil
	}, "work"))
	b.Node("work", graph.Worker(func(ctx context.Context, s *thread, n int) error {
		s.Log.Append(kilobyte())
		if n > 0 {
			return nil
		}
		select {
		case <-p.full:
			ended = trips()
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}))
	b.Node("after", graph.Func(func(context.Context, *thread) error { next = trips(); return nil }))
	b.Edge(graph.Start, "split")
	b.Edge("work", "after")
	b.Edge("after", graph.End)
	run(t, compile(t, b, graph.Config{Store: p}), name, checkpoint.NoLease)
	return ended, next
}

// puts is a store that closes full once want results were put. It has no leases.
type puts struct {
	checkpoint.Store
	want, results int
	full          chan struct{}
}

func (p *puts) Put(ctx context.Context, w checkpoint.Pending) error { // never called concurrently
	if err := p.Store.Put(ctx, w); err != nil {
		return err
	}
	if p.results += len(w.Entries); p.results == p.want {
		close(p.full)
	}
	return nil
}

// CheckTrips makes reservations of a budget and fails the test if one of them, or its end, is not
// one round trip. The first one learns scripts and statements, and reads.
func CheckTrips(t testing.TB, docs document.Store, trips func() int64) {
	t.Helper()
	l, err := budget.Over(docs, budget.Config{Limits: []budget.Limit{
		{Name: "tokens", Most: budget.Amount{Tokens: 1e9}, Per: budget.Month},
		{Name: "pace", By: budget.ByModel, Rate: budget.Rate{Calls: 1e6, Per: time.Second}, Concurrency: 10},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		before := trips()
		r, err := l.Reserve(t.Context(), "m", budget.Amount{Tokens: 10})
		if err != nil {
			t.Fatal(err)
		}
		reserved := trips()
		if err := r.Settle(t.Context(), budget.Spent{Input: 1}); err != nil {
			t.Fatal(err)
		}
		if check, end := reserved-before, trips()-reserved; i > 0 && (check != 1 || end != 1) {
			t.Errorf("rule: the check of a budget is one round trip, and so is the end of its call\n got: %d and %d", check, end)
		}
	}
}

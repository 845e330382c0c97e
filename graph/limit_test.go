package graph_test

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/graph"
)

// limits returns one limit by the name of "api".
func limits(tb testing.TB, l graph.Limit) *graph.Limits {
	tb.Helper()
	all, err := graph.NewLimits(map[string]graph.Limit{"api": l})
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// gauge measures how many are at work at once.
type gauge struct {
	mu        sync.Mutex
	now, most int
	begun     []time.Time
}

func (g *gauge) work(d time.Duration) {
	g.mu.Lock()
	g.now++
	g.most = max(g.most, g.now)
	g.begun = append(g.begun, time.Now())
	g.mu.Unlock()
	time.Sleep(d)
	g.mu.Lock()
	g.now--
	g.mu.Unlock()
}

// calls is a graph of n nodes that each work a second under the limit.
func calls(t *testing.T, l *graph.Limits, g *gauge, n int, p graph.Policy) *graph.Graph[world] {
	b := graph.New[world]("calls")
	p.Limit = "api"
	for i := range n {
		name := nodeName(i)
		b.Node(name, graph.Func(func(context.Context, *world) error { g.work(time.Second); return nil }).With(p))
		b.Edge(graph.Start, name)
		b.Edge(name, graph.End)
	}
	return build(t, b, graph.Config{Limits: l})
}

// Requirement: policy: limits
func TestLimits_AreSharedByGraphsAndRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gauge
		shared := limits(t, graph.Limit{Concurrency: 3})
		start := time.Now()
		var runs sync.WaitGroup
		for range 2 { // two graphs, two runs of each, three nodes in each
			each := calls(t, shared, &g, 3, graph.Policy{})
			for range 2 {
				runs.Go(func() {
					if _, err := each.Invoke(ctx, world{}, graph.RunOptions{}); err != nil {
						t.Error(err)
					}
				})
			}
		}
		runs.Wait()
		if took := time.Since(start); g.most != 3 || took != 4*time.Second {
			t.Errorf("%d ran at once, for %v; want 3, for 4 s", g.most, took)
		}
	})
}

func TestLimits_RateSpacesTheStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gauge
		start := time.Now()
		each := calls(t, limits(t, graph.Limit{Rate: 2, Burst: 3}), &g, 7, graph.Policy{})
		invoke(t, each, "", graph.Done)
		for i, at := range []int{0, 0, 0, 500, 1000, 1500, 2000} { // three at once, and then one each half second
			if got := g.begun[i].Sub(start).Milliseconds(); got != int64(at) {
				t.Errorf("number %d began after %d ms, want %d", i+1, got, at)
			}
		}
	})
}

// The wait for a place counts neither for Timeout nor for Idle, nor as idleness of the
// node around a subgraph.
//
// Requirement: policy: limits
func TestLimits_WaitIsNotTheNodesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gauge
		p := graph.Policy{Timeout: 1500 * time.Millisecond, Idle: 1200 * time.Millisecond}
		invoke(t, calls(t, limits(t, graph.Limit{Concurrency: 1}), &g, 4, p), "", graph.Done)

		shared := limits(t, graph.Limit{Concurrency: 1})
		b := graph.New[inner]("child")
		b.Node("c", graph.Func(func(context.Context, *inner) error { g.work(time.Second); return nil }).With(graph.Policy{Limit: "api"}))
		b.Edge(graph.Start, "c")
		b.Edge("c", graph.End)
		c := build(t, b, graph.Config{Limits: shared})
		outer := graph.New[world]("outer")
		for _, name := range []string{"x", "y", "z"} {
			outer.Node(name, hosts(c, "", nil).With(graph.Policy{Idle: 1200 * time.Millisecond}))
			outer.Edge(graph.Start, name)
			outer.Edge(name, graph.End)
		}
		invoke(t, build(t, outer, graph.Config{}), "", graph.Done)
	})
}

func TestLimits_CancelEndsTheWait(t *testing.T) {
	for name, l := range map[string]graph.Limit{"a place": {Concurrency: 1}, "a turn": {Rate: 0.001}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var g gauge
				c, cancel := context.WithTimeoutCause(ctx, 5*time.Second, errBoom)
				defer cancel()
				shared := limits(t, l)
				b := graph.New[world]("waits")
				for _, n := range []string{"x", "y"} {
					b.Node(n, graph.Func(func(ctx context.Context, _ *world) error { <-ctx.Done(); return ctx.Err() }).With(graph.Policy{Limit: "api"}))
					b.Edge(graph.Start, n)
					b.Edge(n, graph.End)
				}
				start := time.Now()
				_, err := build(t, b, graph.Config{Limits: shared}).Invoke(c, world{}, graph.RunOptions{})
				if is(t, err, errBoom); time.Since(start) != 5*time.Second {
					t.Errorf("the run ended after %v, want 5 s", time.Since(start))
				}
				if name == "a place" { // what was held was given back
					invoke(t, calls(t, shared, &g, 1, graph.Policy{}), "", graph.Done)
				}
			})
		})
	}
}

func TestLimits_PermitIsReleasedBetweenAttemptsAndAfterPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := limits(t, graph.Limit{Concurrency: 1})
		for _, timeout := range []time.Duration{0, time.Hour} {
			var ran counter
			b := graph.New[world]("places")
			for _, n := range []string{"x", "y"} {
				b.Node(n, graph.Func(func(context.Context, *world) error {
					if ran.add(n) == 1 {
						panic(n)
					}
					return nil
				}).With(graph.Policy{Limit: "api", Timeout: timeout, Retry: graph.Retry{Attempts: 2, Initial: time.Second, If: func(error) bool { return true }}}))
				b.Edge(graph.Start, n)
				b.Edge(n, graph.End)
			}
			start := time.Now()
			invoke(t, build(t, b, graph.Config{Limits: shared}), "", graph.Done)
			if took := time.Since(start); took != time.Second {
				t.Errorf("it took %v, want both to wait beside each other for 1 s", took)
			}
		}
	})
}

// Requirement: policy: limits
func TestAbandonedAttempt_KeepsItsLimitPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := limits(t, graph.Limit{Concurrency: 1})
		late := make(chan error, 2)
		start := time.Now()
		_, err := single(t, unresponsive(late), graph.Policy{Timeout: time.Second, Limit: "api"}, graph.Config{Limits: shared}).Invoke(ctx, world{}, graph.RunOptions{})
		is(t, err, graph.ErrAbandoned)
		var g gauge
		invoke(t, calls(t, shared, &g, 1, graph.Policy{}), "", graph.Done)
		if took := time.Since(start); took != time.Minute+time.Second {
			t.Errorf("the next had its turn after %v, want when the unresponsive node had returned", took)
		}
	})
}

func TestLimits_InnerNodeDoesNotWaitForThePermitOfTheOuter(t *testing.T) {
	shared := limits(t, graph.Limit{Concurrency: 1})
	b := graph.New[inner]("child")
	b.Node("c", steps("c", new(counter), nil).With(graph.Policy{Limit: "api"}))
	b.Edge(graph.Start, "c")
	b.Edge("c", graph.End)
	c := build(t, b, graph.Config{Limits: shared})
	invoke(t, single(t, hosts(c, "", nil), graph.Policy{Limit: "api"}, graph.Config{Limits: shared}), "", graph.Done)
}

func TestLimits_InvalidAreErrors(t *testing.T) {
	_, err := graph.NewLimits(map[string]graph.Limit{
		"none": {}, "less": {Concurrency: -1}, "nan": {Rate: math.NaN()}, "inf": {Rate: math.Inf(1)}, "burst": {Concurrency: 1, Burst: 2}, "": {Rate: 1},
	})
	for _, name := range []string{`"none"`, `"less"`, `"nan"`, `"inf"`, `"burst"`, "needs a name"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error that names %s", err, name)
		}
	}
	for _, l := range []*graph.Limits{nil, limits(t, graph.Limit{Rate: 1})} {
		b := graph.New[world]("unknown")
		b.Node("a", logs("a").With(graph.Policy{Limit: "apo"}))
		b.Edge(graph.Start, "a")
		b.Edge("a", graph.End)
		_, err := b.Compile(graph.Config{Limits: l})
		if err == nil || !strings.Contains(err.Error(), `node "a": policy: Config.Limits has no "apo"`) || !strings.Contains(err.Error(), "limit_test.go:") {
			t.Errorf("got %v, want a mistake with its line", err)
		}
	}
}

func TestLimits_InnerRunDoesNotWaitForThePermitOfItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gauge
		shared := limits(t, graph.Limit{Concurrency: 1})
		whole := calls(t, shared, &g, 1, graph.Policy{})
		around := func(next func(ctx context.Context) error) *graph.Graph[world] {
			return single(t, graph.Func(func(ctx context.Context, _ *world) error { return next(ctx) }), graph.Policy{Limit: "api"}, graph.Config{Limits: shared})
		}
		run := func(g *graph.Graph[world]) func(ctx context.Context) error {
			return func(ctx context.Context) error { _, err := g.Invoke(ctx, world{}, graph.RunOptions{}); return err }
		}
		bounded, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		if err := run(around(run(around(run(whole)))))(bounded); err != nil {
			t.Error(err)
		}

		var left *graph.Handle[world] // one that outlives the node waits like any other
		free := make(chan struct{})
		g2 := around(func(ctx context.Context) error {
			left = whole.Start(context.WithoutCancel(ctx), world{}, graph.RunOptions{Hold: true})
			return nil
		})
		if err := run(g2)(bounded); err != nil {
			t.Error(err)
		}
		other := single(t, graph.Func(func(context.Context, *world) error { <-free; return nil }), graph.Policy{Limit: "api"}, graph.Config{Limits: shared}).Start(ctx, world{}, graph.RunOptions{})
		synctest.Wait()
		begun := len(g.begun)
		go func() { _, _ = left.Wait() }()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(g.begun) != begun {
			t.Error("it passed the limit beside another")
		}
		close(free)
		for _, l := range []*graph.Handle[world]{left, other} {
			if _, err := l.Wait(); err != nil {
				t.Error(err)
			}
		}
	})
}

// Requirement: policy: limits
func TestLimits_ATaskThatWaitsIsReported(t *testing.T) {
	api := func(l graph.Limit) func(*testing.T, *gauge) *graph.Graph[world] {
		return func(t *testing.T, g *gauge) *graph.Graph[world] { return calls(t, limits(t, l), g, 3, graph.Policy{}) }
	}
	for name, c := range map[string]struct {
		flow func(*testing.T, *gauge) *graph.Graph[world]
		want string // the limits that the tasks wait for, in the order of the events
	}{
		"a place":             {api(graph.Limit{Concurrency: 1}), "api api "},
		"a rate":              {api(graph.Limit{Rate: 1, Burst: 2}), "api "},
		"a place with a rate": {api(graph.Limit{Rate: 2, Burst: 1, Concurrency: 3}), "api api "},
		"nothing":             {api(graph.Limit{Rate: 1, Burst: 3, Concurrency: 3}), ""},
		"parallel": {func(t *testing.T, g *gauge) *graph.Graph[world] {
			return sentTo(t, g, 4, graph.Policy{Parallel: 2})
		}, "parallel parallel "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var g gauge
				live := c.flow(t, &g).Start(t.Context(), world{}, graph.RunOptions{Hold: true})
				got, last := "", map[string]graph.Phase{}
				for ev := range live.Events(graph.Tasks) {
					if ev.Mode != graph.Tasks {
						continue
					}
					var read graph.Event
					if data, err := json.Marshal(ev); err != nil || json.Unmarshal(data, &read) != nil || read.Limit != ev.Limit || read.Phase != ev.Phase {
						t.Errorf("got %+v from JSON, %v, want %+v", read, err, ev)
					}
					if ev.Phase == graph.Waiting {
						got += cmp.Or(ev.Limit, "parallel") + " "
						if last[ev.Task] != "" {
							t.Errorf("%s waits after it was %s", ev.Task, last[ev.Task])
						}
					} else if ev.Limit != "" {
						t.Errorf("an event of the phase %s has the limit %s", ev.Phase, ev.Limit)
					}
					last[ev.Task] = ev.Phase
				}
				for task, phase := range last {
					if phase != graph.Finished {
						t.Errorf("the last event of %s is %s", task, phase)
					}
				}
				if got != c.want {
					t.Errorf("got waits for %q, want %q", got, c.want)
				}
			})
		})
	}
}

package graph_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/weftrun/weft/graph"
)

// meeting is nodes that wait until all of them are there.
type meeting struct {
	missing atomic.Int32
	all     chan struct{}
}

func newMeeting(n int) *meeting {
	m := &meeting{all: make(chan struct{})}
	m.missing.Store(int32(n))
	return m
}

func (m *meeting) node(ctx context.Context, s *world) error {
	if m.missing.Add(-1) == 0 {
		close(m.all)
	}
	select {
	case <-m.all:
		s.Count.Add(1)
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A node that waits holds up no other of its step, up to Concurrency of them, on one processor too:
// if one were not started the test would hang, which the bubble reports.
func TestTasks_OfAStepMayWaitForEachOther(t *testing.T) {
	for _, procs := range []int{1, runtime.NumCPU()} {
		for _, n := range []int{2, 64, 200} {
			for kind, config := range map[string]func() graph.Config{"no store": func() graph.Config { return graph.Config{} }, "a store": stored} {
				for _, quick := range []int{0, 1, 2, 300} {
					t.Run(fmt.Sprint(procs, " processors, ", n, " beside ", quick, " with ", kind), func(t *testing.T) {
						defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
						synctest.Test(t, func(t *testing.T) {
							cfg := config()
							cfg.Concurrency = n
							meet(t, cfg, n, quick)
						})
					})
				}
			}
		}
	}
}

// meet runs n nodes that wait for each other, with quick ones between them.
func meet(t *testing.T, cfg graph.Config, n, quick int) {
	m, nodes := newMeeting(n), map[string]graph.Node[world]{}
	for i := range max(n, quick) {
		if i < n {
			nodes[fmt.Sprintf("n%03d waits", i)] = graph.Func(m.node)
		}
		if i < quick {
			nodes[fmt.Sprintf("n%03d", i)] = graph.Func(func(_ context.Context, s *world) error { s.Count.Add(1); return nil })
		}
	}
	thread := ""
	if cfg.Store != nil {
		thread = "t1"
	}
	if res := invoke(t, build(t, parallel(nodes), cfg), thread, graph.Done); res.State.Count.Get() != n+quick {
		t.Errorf("%d nodes counted, want %d", res.State.Count.Get(), n+quick)
	}
}

// The graph inside and the one around it take their places from one Concurrency; a node that waits
// for its graph gives its place away, so two in each of two are at work together.
func TestTasks_OfSubgraphsMayWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMeeting(4)
		two := map[string]graph.Node[world]{"a": graph.Func(m.node), "b": graph.Func(m.node)}
		child := build(t, parallel(two), graph.Config{})
		sub := func(ctx context.Context, s *world) error {
			end, err := child.Call(ctx, world{})
			s.Count.Add(end.Count.Get())
			return err
		}
		top := parallel(map[string]graph.Node[world]{"a": graph.Func(sub), "b": graph.Func(sub)})
		if res := invoke(t, build(t, top, graph.Config{Concurrency: 4}), "", graph.Done); res.State.Count.Get() != 4 {
			t.Errorf("%d nodes counted, want 4", res.State.Count.Get())
		}
	})
}

// A node may end any worker, even the coordinator of a run without a store. The other nodes end,
// and the error names a node that ended its goroutine before the step was cancelled.
func TestGoexit_OfEveryNodeOfAStep(t *testing.T) {
	for kind, cfg := range map[string]graph.Config{"no store": {}, "a store": stored(), "one at a time": {Concurrency: 1}} {
		t.Run(kind, func(t *testing.T) {
			m, nodes := newMeeting(3), map[string]graph.Node[world]{}
			for i := range 3 {
				nodes[fmt.Sprint("n", i)] = graph.Func(func(ctx context.Context, s *world) error {
					if cfg.Concurrency != 1 {
						_ = m.node(ctx, s)
					}
					runtime.Goexit()
					return nil
				})
			}
			run := graph.RunOptions{}
			if cfg.Store != nil {
				run = t1
			}
			res, err := build(t, parallel(nodes), cfg).Invoke(ctx, world{}, run)
			var failed *graph.NodeError
			if !errors.As(err, &failed) || failed.Cancelled || res.Status != graph.Failed {
				t.Errorf("got %q, %v; want the failure of a node that was not cancelled", res.Status, err)
			} else if cfg.Concurrency == 1 && failed.Node != "n0" {
				t.Errorf("got %v, want the failure of node n0, after which no other starts", err)
			}
		})
	}
}

// The workers of a wide step of quick nodes come late, or not at all, while the coordinator is
// already at the end of the step: none of them may be at work in the next one.
func TestSteps_OfQuickNodesDoNotOverlap(t *testing.T) {
	const n, laps = 40, 50
	d := graph.New[world]("laps")
	count := graph.Func(func(_ context.Context, s *world) error { s.Count.Add(1); return nil })
	d.Node("start", count)
	d.Edge(graph.Start, "start")
	for i := range n {
		name := fmt.Sprintf("n%03d", i)
		d.Node(name, count)
		d.Edge("start", name)
		d.Edge(name, "end")
	}
	d.Node("end", graph.Router(func(_ context.Context, s *world) (graph.Command, error) {
		if s.Count.Get() < laps*(n+1) {
			return graph.Goto("start"), nil
		}
		return graph.Goto(graph.End), nil
	}, "start", graph.End))
	g := build(t, d, graph.Config{MaxSteps: 3*laps + 1})
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8)) // so that the system takes the processor from a worker anywhere
	for range 600 {
		if res := invoke(t, g, "", graph.Done); res.State.Count.Get() != laps*(n+1) {
			t.Fatalf("%d nodes counted, want %d", res.State.Count.Get(), laps*(n+1))
		}
	}
}

package graph_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// chaos makes graphs of wide steps whose nodes do random things. They make calls and call graphs,
// fail once or for good, end their goroutine, panic in a function of their Policy, or ignore the
// end of their time.
type chaos struct {
	*rand.Rand
	stuck     chan struct{} // unresponsive nodes wait for it; nil: there are none
	bound     int32
	now, over atomic.Int32 // nodes at work; and how often they exceeded the bound
}

// work is the part of a node that Concurrency bounds.
func (c *chaos) work() {
	if c.now.Add(1) > c.bound {
		c.over.Add(1)
	}
	runtime.Gosched()
	c.now.Add(-1)
}

// policy returns a random Policy.
func (c *chaos) policy() (p graph.Policy) {
	p.Retry = graph.Retry{Attempts: 2, Initial: time.Nanosecond}
	switch c.IntN(5) {
	case 0:
		p.Parallel = 1 + c.IntN(2)
	case 1:
		p.Limit = "api"
	case 2:
		p.Timeout = time.Hour // it runs on a goroutine of its own
	}
	return p
}

// node returns a node that does something random and then adds one to Count; a bad node fails.
func (c *chaos) node(inner *graph.Graph[world], bad bool) (graph.Node[world], graph.Policy) {
	p, kind, failed := c.policy(), c.IntN(5), new(atomic.Bool)
	if bad {
		kind = 5 + c.IntN(4)
		if c.stuck != nil && c.IntN(3) > 0 { // it keeps its permits, so it gets none
			kind, p = 9, graph.Policy{Timeout: time.Microsecond, Retry: p.Retry}
		}
	}
	if kind == 8 {
		p.Retry.If = func(error) bool { panic("in the policy") }
	}
	return graph.Func(func(ctx context.Context, s *world) error {
		c.work()
		switch kind {
		case 1:
			for i := range 3 {
				graph.Go(ctx, fmt.Sprint("call ", i), func(context.Context) (int, error) { c.work(); return i, nil })
			}
		case 2:
			if _, err := graph.Call(ctx, "call", func(context.Context) (int, error) { c.work(); return 1, nil }); err != nil {
				return err
			}
		case 3:
			if inner != nil {
				end, err := inner.Go(ctx, world{}).Wait(ctx)
				if s.Log.Append(end.Log.Slice()...); err != nil {
					return err
				}
			}
		case 4:
			if failed.CompareAndSwap(false, true) {
				return errors.New("once")
			}
		case 5:
			runtime.Goexit()
		case 6:
			panic("in the node")
		case 7, 8:
			return errors.New("for good")
		case 9:
			<-c.stuck
			s.Log.Append("late")
			return nil
		}
		c.work()
		s.Count.Add(1)
		return nil
	}), p
}

// graph returns a graph of two laps over a wide step, and how many nodes of it are bad.
func (c *chaos) graph(t *testing.T, cfg graph.Config, inner *graph.Graph[world], width int, bad float64) (g *graph.Graph[world], spoilt int) {
	b := graph.New[world]("chaos")
	b.Node("start", graph.Func(func(context.Context, *world) error { return nil }))
	b.Edge(graph.Start, "start")
	for i := range width {
		isBad := c.Float64() < bad
		if isBad {
			spoilt++
		}
		n, p := c.node(inner, isBad)
		name := fmt.Sprintf("n%02d", i)
		b.Node(name, n.With(p))
		b.Edge("start", name)
		b.Edge(name, "end")
	}
	b.Node("end", graph.Router(func(_ context.Context, s *world) (graph.Command, error) {
		if s.Count.Get() < 2*width {
			return graph.Goto("start"), nil
		}
		return graph.Goto(graph.End), nil
	}, "start", graph.End))
	return build(t, b, cfg), spoilt
}

// A run of wide steps ends with the writes of all nodes, or with the failure of a bad one. At no
// time do more nodes work than its Concurrency. TestMain looks for goroutines that are left.
func TestWideSteps_EndWhateverTheirNodesDo(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	l := limits(t, graph.Limit{Concurrency: 2})
	for seed := range uint64(150) {
		runtime.GOMAXPROCS([]int{1, 2, 8}[seed%3])
		c := &chaos{Rand: rand.New(rand.NewPCG(seed, 1))}
		c.bound = 1 + c.Int32N(4)
		cfg := graph.Config{Concurrency: int(c.bound), Limits: l}
		if seed%4 == 0 {
			cfg.Grace, c.stuck = time.Millisecond, make(chan struct{})
		}
		inner, _ := c.graph(t, cfg, nil, 1+c.IntN(4), 0)
		run := graph.RunOptions{}
		if c.IntN(3) == 0 {
			cfg.Store, run.Thread = new(checkpoint.Memory), "t1"
		}
		width := 1 + c.IntN(20)
		g, spoilt := c.graph(t, cfg, inner, width, []float64{0, 0.2}[c.IntN(2)])
		ctx, cancel := context.WithCancelCause(ctx)
		cut := c.IntN(4) == 0
		if cut {
			go cancel(errLeave)
		}
		res, err := g.Invoke(ctx, world{}, run)
		cancel(nil)
		if c.stuck != nil {
			close(c.stuck)
		}
		if late := slices.Contains(res.State.Log.Slice(), "late"); late {
			t.Errorf("seed %d: what a node wrote that was given up has landed", seed)
		}
		var failed *graph.NodeError
		switch {
		case c.over.Load() > 0 && spoilt == 0 && !cut: // a run that is cancelled goes on without slots to its end
			t.Errorf("seed %d: %d times more than %d at work", seed, c.over.Load(), c.bound)
		case cut && errors.Is(err, errLeave):
		case spoilt > 0 && (!errors.As(err, &failed) || res.Status != graph.Failed):
			t.Errorf("seed %d: got %q, %v with %d bad nodes, want the failure of a node", seed, res.Status, err, spoilt)
		case spoilt == 0 && (err != nil || res.State.Count.Get() != 2*width):
			t.Errorf("seed %d: %d nodes counted, %v; want %d", seed, res.State.Count.Get(), err, 2*width)
		}
	}
}

var errLeave = errors.New("the caller leaves")

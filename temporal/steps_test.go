package temporal

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"go.temporal.io/sdk/testsuite"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// A step that was left for a worker that stops counts when it is committed, and not before.
func TestSegment_CountsNoStepThatItLeaves(t *testing.T) {
	store := new(checkpoint.Memory)
	child, stopped, ends := spinning(t)
	b := graph.New[tally]("g")
	b.Node("child", graph.Inline(child))
	b.Edge(graph.Start, "child")
	b.Edge("child", graph.End)
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	begun(t, g.Untyped())
	cfg, j := WorkerConfig{Graphs: []graph.Untyped{g.Untyped()}, Store: store}, job{Step: stepRef{Run: "r", MaxSteps: 1}, Turn: 1, Attempt: 1}
	res := runJob(t, cfg, j, func(_ *activities, env *testsuite.TestActivityEnvironment) { env.SetWorkerStopChannel(stopped) })
	if res.End != nil || res.Steps != 0 {
		t.Fatalf("the first segment ended with %+v after %d steps, want none and that another goes on", res.End, res.Steps)
	}
	ends.Store(true)
	for _, counted := range []int{0, 1} { // an older worker has counted the step
		j.Steps = counted
		res = runJob(t, cfg, j, func(*activities, *testsuite.TestActivityEnvironment) {})
		if res.End == nil || res.End.Status != graph.Done || j.Steps+res.Steps != 1 {
			t.Errorf("after %d steps the next segment ended with %+v after %d, want done and one in all", counted, res.End, res.Steps)
		}
	}
}

// spinning returns a graph that loops until ends is true, and closes stopped when it begins.
func spinning(t *testing.T) (g *graph.Graph[tally], stopped chan struct{}, ends *atomic.Bool) {
	t.Helper()
	stopped, ends = make(chan struct{}), new(atomic.Bool)
	var once sync.Once
	b := graph.New[tally]("inner")
	b.Node("spin", graph.Router(func(context.Context, *tally) (graph.Command, error) {
		once.Do(func() { close(stopped) })
		if ends.Load() {
			return graph.Goto(graph.End), nil
		}
		return graph.Goto("spin"), nil
	}, "spin", graph.End))
	b.Edge(graph.Start, "spin")
	g, err := b.Compile(graph.Config{MaxSteps: 100_000_000})
	if err != nil {
		t.Fatal(err)
	}
	return g, stopped, ends
}

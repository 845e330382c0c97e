package graph_test

// These tests cover the cases of LangGraph's tests of edges, joins and cycles.

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// A source of a join counts, whether a branch or a Command led to it.
func TestJoin_SourceReachedByAChoiceCounts(t *testing.T) {
	b := graph.New[world]("choice")
	b.Node("r", goes("r", graph.Goto("a", "b"), "a", "b"))
	for _, n := range []string{"a", "b", "b2", "end"} {
		b.Node(n, logs(n))
	}
	b.Branch("b", func(context.Context, *world) (graph.Command, error) { return graph.Goto("b2"), nil }, "b2", graph.End)
	b.Edge(graph.Start, "r")
	b.Join("end", "a", "b2")
	b.Edge("end", graph.End)
	res := invoke(t, build(t, b, graph.Config{}), "", graph.Done)
	if logged(t, res, "r a b b2 end"); len(res.Starved) != 0 {
		t.Errorf("%v starved", res.Starved)
	}
}

// The deferred nodes that were reached run together when no other node is due. A deferred node that
// leads to another one makes it run again.
func TestDeferredNodes_AreReleasedTogether(t *testing.T) {
	b := graph.New[world]("deferred")
	line(b, "a", "b")
	for _, n := range []string{"d1", "d2"} {
		b.Node(n, logs(n))
		b.Edge("a", n)
		b.Defer(n)
	}
	b.Edge("d1", "d2")
	b.Edge("d2", graph.End)
	res := invoke(t, build(t, b, graph.Config{}), "", graph.Done)
	if logged(t, res, "a b d1 d2 d2"); res.Steps != 4 {
		t.Errorf("it took %d steps, want a; b; d1 and d2; d2", res.Steps)
	}
}

// A turn begins at the edges from Start. To let the input choose the first nodes, the node after
// Start is a Router, which may name several.
func TestStart_MayFanOut(t *testing.T) {
	for input, want := range map[string]string{"a": "a", "a b": "a b", "b a c": "a b c"} {
		b := start(graph.Router(func(_ context.Context, s *world) (graph.Command, error) {
			return graph.Goto(strings.Fields(s.Name.Get())...), nil
		}, "a", "b", "c"))
		res, err := build(t, b, graph.Config{}).Invoke(ctx, world{Name: state.Of(input)}, graph.RunOptions{})
		if logged(t, ended(t, graph.Done, res, err), want); res.Steps != 2 {
			t.Errorf("%q took %d steps, want 2", input, res.Steps)
		}
	}
}

func TestBranch_TargetsAreCheckedAndEndEndsItsPathOnly(t *testing.T) {
	branching := func(to string) *graph.Builder[world] {
		b := start(logs("r"))
		b.Edge("r", "a")
		b.Edge("r", "c")
		b.Branch("r", func(_ context.Context, s *world) (graph.Command, error) {
			if s.Name.Get() == "stop" {
				return graph.Goto(graph.End), nil
			}
			return graph.Goto("b"), nil
		}, to, graph.End)
		return b
	}
	found := mistakes(t, branching("beta"), graph.Config{})
	if text := fmt.Sprint(found); !strings.Contains(text, `a branch from "r" goes to "beta"`) {
		t.Errorf("the mistakes are %s, want one that names the target", text)
	}
	g := build(t, branching("b"), graph.Config{})
	logged(t, invoke(t, g, "", graph.Done), "r a b c")
	res, err := g.Invoke(ctx, inputOf("stop"), graph.RunOptions{})
	logged(t, ended(t, graph.Done, res, err), "r a c")
}

// Several ways from one node to another start the other once. A node that writes nothing is no
// exception.
func TestNode_ReachedByManyWaysStartsOnce(t *testing.T) {
	b := graph.New[world]("multi")
	b.Node("a", graph.Func(nop))
	b.Node("b", graph.Func(nop))
	b.Node("end", logs("end"))
	for range 2 {
		b.Edge(graph.Start, "a")
		b.Edge(graph.Start, "b")
		b.Edge("a", "end")
		b.Edge("b", "end")
	}
	b.Branch("a", func(context.Context, *world) (graph.Command, error) { return graph.Goto("end", "end"), nil }, "end")
	b.Edge("end", graph.End)
	g := build(t, b, graph.Config{})
	logged(t, invoke(t, g, "", graph.Done), "end")
	sameLines(t, eventLines(t, g.Stream(ctx, world{}, graph.RunOptions{})), `
wrote a {}
wrote b {}
wrote end {"log":["end"]}
ended done [end]`)
}

// Ten goroutines share a graph with a loop, Sends, a join and a child. Each has its own count.
func TestGraph_RunsInManyGoroutinesAtOnce(t *testing.T) {
	var ran counter
	b := graph.New[world]("shared")
	b.Node("plan", graph.Router(func(_ context.Context, s *world) (c graph.Command, err error) {
		for i := range s.Tries.Get() - 7 {
			c = c.Send("w", i)
		}
		s.Count.Add(1)
		return c.Goto("sub"), nil
	}, "w", "sub"))
	b.Node("w", graph.Worker(func(_ context.Context, s *world, n int) error {
		s.Log.Append(fmt.Sprint(n))
		return nil
	}))
	b.Node("sub", hosts(child(t, &ran, graph.Config{}, nil), "", nil))
	b.Node("again", graph.Router(func(_ context.Context, s *world) (graph.Command, error) {
		if s.Count.Get() < 3 {
			return graph.Goto("plan"), nil
		}
		return graph.Goto(graph.End), nil
	}, "plan", graph.End))
	b.Edge(graph.Start, "plan")
	b.Join("again", "w", "sub")
	g := build(t, b, stored())
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			lap := "c1 c2 c3"
			for n := range i + 1 {
				lap += fmt.Sprint(" ", n)
			}
			want := strings.Join([]string{lap, lap, lap}, " ")
			for turn := range 3 {
				o := graph.RunOptions{Thread: fmt.Sprint(i, " ", turn)}
				res, err := g.Invoke(ctx, world{Tries: state.SumOf(i + 1)}, o)
				if got := strings.Join(res.State.Log.Slice(), " "); err != nil || got != want {
					t.Errorf("goroutine %d: got %q, %v; want %q", i, got, err, want)
				}
			}
		})
	}
	wg.Wait()
	ran.want(t, "c2", 10*3*3)
}

// A graph may have Commands and no edges. The targets that a node declares also bind it: it may go
// nowhere else.
func TestGraph_MayConsistOfCommandsOnly(t *testing.T) {
	b := graph.New[world]("commands")
	b.Node("a", goes("a", graph.Goto("b"), "b", "c"))
	b.Node("b", goes("b", graph.Goto("c"), "c"))
	b.Node("c", goes("c", graph.Goto(graph.End), "a", graph.End))
	b.Edge(graph.Start, "a")
	g := build(t, b, graph.Config{})
	logged(t, invoke(t, g, "", graph.Done), "a b c")
	var drawn []string
	for _, e := range g.Draw(0).Edges {
		drawn = append(drawn, e.From+">"+e.To+":"+e.Kind)
	}
	want := "start>n0:edge n0>n1:choice n0>n2:choice n1>n2:choice n2>n0:choice n2>stop:choice"
	if got := strings.Join(drawn, " "); got != want {
		t.Errorf("the drawing shows %s, want %s", got, want)
	}
}

func TestPlan_RunsInParallelAndReturnsToItsPlannerOnce(t *testing.T) {
	plan := [][]string{{"s1", "s3"}, {"s2"}, {"s1", "s2", "s3"}, {graph.End}}
	b := graph.New[world]("plan")
	b.Node("planner", graph.Router(func(_ context.Context, s *world) (graph.Command, error) {
		lap := s.Count.Get()
		s.Count.Add(1)
		s.Log.Append("plan")
		return graph.Goto(plan[lap]...), nil
	}, "s1", "s2", "s3", graph.End))
	for _, n := range []string{"s1", "s2", "s3"} {
		b.Node(n, logs(n))
		b.Edge(n, "planner")
	}
	b.Edge(graph.Start, "planner")
	res := invoke(t, build(t, b, graph.Config{}), "", graph.Done)
	if logged(t, res, "plan s1 s3 plan s2 plan s1 s2 s3 plan"); res.Steps != 7 {
		t.Errorf("it took %d steps, want 7: those of a lap run at once", res.Steps)
	}
}

package graph_test

import (
	"context"
	"slices"
	"testing"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// Requirement: Joins
func TestJoin_OfUnevenBranchesFiresOnce(t *testing.T) {
	b := graph.New[world]("uneven")
	for _, name := range []string{"a", "b1", "b2", "b3", "end"} {
		b.Node(name, logs(name))
	}
	b.Edge(graph.Start, "a")
	b.Edge(graph.Start, "b1")
	b.Edge("b1", "b2")
	b.Edge("b2", "b3")
	b.Join("end", "a", "b3")
	b.Join("end", "b3", "a", "b3") // the same join again
	b.Edge("end", graph.End)
	res := invoke(t, build(t, b, stored()), "t1", graph.Done)
	logged(t, res, "a b1 b2 b3 end")
	if len(res.Starved) != 0 {
		t.Errorf("%v starved, want none", res.Starved)
	}
}

// laps is a loop of a fork into a short and a long branch, a join, and a router that
// goes around n times.
func laps(n int) *graph.Builder[world] {
	b := graph.New[world]("laps")
	for _, name := range []string{"fork", "a", "b1", "b2"} {
		b.Node(name, logs(name))
	}
	b.Node("join", graph.Router(func(_ context.Context, s *world) (graph.Command, error) {
		s.Log.Append("join")
		s.Count.Add(1)
		if s.Count.Get() < n {
			return graph.Goto("fork"), nil
		}
		return graph.Goto(graph.End), nil
	}, "fork", graph.End))
	b.Edge(graph.Start, "fork")
	b.Edge("fork", "a")
	b.Edge("fork", "b1")
	b.Edge("b1", "b2")
	b.Join("join", "a", "b2")
	return b
}

// Requirement: Joins
func TestJoin_OfUnevenBranchesFiresOnceInEachLap(t *testing.T) {
	res := invoke(t, build(t, laps(3), graph.Config{}), "", graph.Done)
	logged(t, res, "fork a b1 b2 join fork a b1 b2 join fork a b1 b2 join")
}

func TestJoin_HalfFullSurvivesAResume(t *testing.T) {
	cfg := stored()
	cfg.InterruptAfter = []string{"a", "b2"}
	g := build(t, laps(2), cfg)
	res := invoke(t, g, "t1", graph.Interrupted)
	for res.Status == graph.Interrupted {
		next, err := build(t, laps(2), cfg).Resume(ctx, graph.Answers{}, t1)
		if err != nil {
			t.Fatal(err)
		}
		res = next
	}
	logged(t, res, "fork a b1 b2 join fork a b1 b2 join")
}

// half is a join of which only one source runs when the input has no name.
func half() *graph.Builder[world] {
	b := graph.New[world]("half")
	b.Node("a", graph.Router(func(_ context.Context, s *world) (graph.Command, error) {
		s.Log.Append("a")
		if s.Name.Get() == "" {
			return graph.Goto(graph.End), nil
		}
		return graph.Goto("b"), nil
	}, "b", graph.End))
	b.Node("b", logs("b"))
	b.Node("end", logs("end"))
	b.Edge(graph.Start, "a")
	b.Join("end", "a", "b")
	b.Edge("end", graph.End)
	return b
}

// Requirement: Joins
func TestJoin_StarvedIsReportedAndForgotten(t *testing.T) {
	g := build(t, half(), stored())
	res := invoke(t, g, "t1", graph.Done)
	logged(t, res, "a")
	if !slices.Equal(res.Starved, []string{"end"}) {
		t.Errorf("%v starved, want end", res.Starved)
	}
	if res = resume(t, g, graph.Answers{}, graph.Done); !slices.Equal(res.Starved, []string{"end"}) {
		t.Errorf("after a resume %v starved, want end", res.Starved)
	}
	res, err := g.Invoke(ctx, world{Name: state.Of("go")}, t1)
	logged(t, ended(t, graph.Done, res, err), "a a b end") // and not: a a end b end
	if len(res.Starved) != 0 {
		t.Errorf("%v starved in a turn of its own, want none", res.Starved)
	}
}

// Requirement: Joins
func TestJoin_OfAWorkerFiresOnceForAllItsTasks(t *testing.T) {
	b := graph.New[world]("crowd")
	b.Node("fork", goes("fork", graph.Goto("other").Send("w", 1).Send("w", 2).Send("w", 3), "w", "other"))
	b.Node("w", graph.Worker(func(_ context.Context, s *world, _ int) error {
		s.Log.Append("w")
		return nil
	}))
	b.Node("other", logs("other"))
	b.Node("end", logs("end"))
	b.Edge(graph.Start, "fork")
	b.Join("end", "w", "other")
	b.Edge("end", graph.End)
	res := invoke(t, build(t, b, graph.Config{}), "", graph.Done)
	logged(t, res, "fork other w w w end")
	if len(res.Starved) != 0 {
		t.Errorf("%v starved, want none: all that arrives in one step is one arrival", res.Starved)
	}
}

func TestJoin_AndPlainEdgeIntoOneNodeBothFire(t *testing.T) {
	b := graph.New[world]("both")
	line(b, "a", "b")
	b.Node("end", logs("end"))
	b.Edge("a", "end")
	b.Join("end", "a", "b")
	b.Edge("end", graph.End)
	logged(t, invoke(t, build(t, b, graph.Config{}), "", graph.Done), "a b end end")
}

// Requirement: Joins
func TestDeferredNode_WaitsForAllOthers(t *testing.T) {
	b := graph.New[world]("deferred")
	b.Node("fork", goes("fork", graph.Goto("last", "long").Send("w", "x"), "last", "long", "w"))
	b.Node("w", graph.Worker(func(_ context.Context, s *world, p string) error {
		s.Log.Append(p)
		return nil
	}))
	b.Node("last", logs("last"))
	b.Node("long", goes("long", graph.Send("w", "y").Send("w", "z"), "w"))
	b.Edge(graph.Start, "fork")
	b.Edge("w", "last")
	b.Edge("last", graph.End)
	b.Defer("last")
	g := build(t, b, stored())
	logged(t, invoke(t, g, "t1", graph.Done), "fork long x y z last")
}

func TestDeferredNode_WaitingSurvivesAResume(t *testing.T) {
	b := graph.New[world]("deferred")
	line(b, "a", "b", "c")
	b.Node("last", logs("last"))
	b.Edge("a", "last")
	b.Edge("last", graph.End)
	b.Defer("last")
	cfg := stored()
	cfg.InterruptBefore = []string{"*"}
	g := build(t, b, cfg)
	invoke(t, g, "t1", graph.Interrupted)
	for range 3 {
		resume(t, build(t, b, cfg), graph.Answers{}, graph.Interrupted)
	}
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "a b c last")
}

func TestDeferredNode_WithAJoin(t *testing.T) {
	b := graph.New[world]("deferred join")
	line(b, "a", "b", "c")
	b.Node("last", logs("last"))
	b.Join("last", "a", "b")
	b.Edge("last", graph.End)
	b.Defer("last")
	logged(t, invoke(t, build(t, b, graph.Config{}), "", graph.Done), "a b c last")
}

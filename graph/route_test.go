package graph_test

import (
	"context"
	"testing"

	"github.com/weftrun/weft/graph"
)

// goes is a router that logs its name and returns c.
func goes(name string, c graph.Command, targets ...string) graph.Node[world] {
	return graph.Router(func(_ context.Context, s *world) (graph.Command, error) {
		s.Log.Append(name)
		return c, nil
	}, targets...)
}

// start returns a graph of a node "r" after Start, and a, b and c before End.
func start(r graph.Node[world]) *graph.Builder[world] {
	b := graph.New[world]("route")
	b.Node("r", r)
	b.Edge(graph.Start, "r")
	for _, name := range []string{"a", "b", "c"} {
		b.Node(name, logs(name))
		b.Edge(name, graph.End)
	}
	return b
}

func TestCommands_LeadToTheirTargets(t *testing.T) {
	all := []string{"a", "b", "c", graph.End}
	for name, c := range map[string]struct {
		c    graph.Command
		want string
	}{
		"one":            {graph.Goto("b"), "r b"},
		"a list":         {graph.Goto("c", "a"), "r a c"},
		"chained":        {graph.Goto("c").Goto("b", "a"), "r a b c"},
		"twice the same": {graph.Goto("a", "a").Goto("a"), "r a"},
		"the end":        {graph.Goto(graph.End), "r"},
		"end and others": {graph.Goto(graph.End, "b"), "r b"},
	} {
		t.Run(name, func(t *testing.T) {
			logged(t, invoke(t, build(t, start(goes("r", c.c, all...)), graph.Config{}), "", graph.Done), c.want)
		})
	}
}

func TestCommands_AreValues(t *testing.T) {
	base := graph.Goto("a", "b")
	_ = base.Goto("c")
	_ = base.Goto("c").Goto("c")
	other := base.Goto(graph.End)
	g := build(t, start(goes("r", base, "a", "b", "c")), graph.Config{})
	logged(t, invoke(t, g, "", graph.Done), "r a b")
	g = build(t, start(goes("r", other, "a", "b", "c", graph.End)), graph.Config{})
	logged(t, invoke(t, g, "", graph.Done), "r a b")
}

func TestGoto_AndStaticEdgeBothFire(t *testing.T) {
	b := start(goes("r", graph.Goto("b", "a"), "a", "b", "c"))
	b.Edge("r", "a")
	b.Edge("r", "a") // an edge declared twice is one
	b.Edge("r", "c")
	logged(t, invoke(t, build(t, b, graph.Config{}), "", graph.Done), "r a b c")
}

func TestRouter_WithAStaticEdgeMayNameNoTarget(t *testing.T) {
	b := start(goes("r", graph.Command{}, "b", "c"))
	b.Edge("r", "a")
	logged(t, invoke(t, build(t, b, graph.Config{}), "", graph.Done), "r a")
}

// Requirement: Unknown names are errors
func TestCommand_UndeclaredTargetsAreErrors(t *testing.T) {
	for name, r := range map[string]graph.Node[world]{
		"a node that was not declared":  goes("r", graph.Goto("c"), "a", "b", graph.End),
		"a second one":                  goes("r", graph.Goto("a", "c"), "a", "b"),
		"a node that is not there":      goes("r", graph.Goto("zed"), "a", "b", "c"),
		"the end":                       goes("r", graph.Goto(graph.End), "a", "b"),
		"the start":                     goes("r", graph.Goto(graph.Start), "a", "b"),
		"no name":                       goes("r", graph.Goto(""), "a", "b"),
		"nothing":                       goes("r", graph.Command{}, "a", "b"),
		"an empty list":                 goes("r", graph.Goto(), "a", "b"),
		"a Send to a node":              goes("r", graph.Send("a", 1), "a", "b"),
		"a Send to the end":             goes("r", graph.Send(graph.End, 1), "a", graph.End),
		"a Send to a node not declared": goes("r", graph.Send("c", 1), "a"),
	} {
		t.Run(name, func(t *testing.T) {
			b := start(r)
			for _, name := range []string{"a", "b", "c"} { // reachable, whatever r declares
				b.Edge(graph.Start, name)
			}
			res, err := build(t, b, graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
			is(t, err, graph.ErrTarget, `node "r"`)
			if res.Status != graph.Failed || res.State.Log.Len() != 0 {
				t.Errorf("got %q and %v, want a failure that leaves no trace", res.Status, res.State.Log.Slice())
			}
		})
	}
}

func TestCommand_EmptyNameIsNoTargetBesideAStaticEdge(t *testing.T) {
	b := start(goes("r", graph.Goto(""), "a", "b", "c"))
	b.Edge("r", "a")
	_, err := build(t, b, graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
	is(t, err, graph.ErrTarget)
}

func TestBranch_GoesToItsTargetsOnly(t *testing.T) {
	b := start(logs("r"))
	b.Edge("r", "b")
	b.Edge("r", "c")
	b.Branch("r", func(context.Context, *world) (graph.Command, error) { return graph.Goto("b"), nil }, "a")
	_, err := build(t, b, graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
	is(t, err, graph.ErrTarget, "branch", "a")
}

func TestBranch_ZeroCommandGoesNowhere(t *testing.T) {
	for name, c := range map[string]graph.Command{"zero": {}, "a reason alone": graph.Command{}.WithReason("it is enough")} {
		t.Run(name, func(t *testing.T) {
			b := start(logs("r"))
			b.Branch("r", func(context.Context, *world) (graph.Command, error) { return c, nil }, "a", "b", "c")
			logged(t, invoke(t, build(t, b, graph.Config{}), "", graph.Done), "r")

			b = start(logs("r"))
			b.Edge("r", "b")
			b.Branch("r", func(context.Context, *world) (graph.Command, error) { return c, nil }, "a", "c")
			logged(t, invoke(t, build(t, b, graph.Config{}), "", graph.Done), "r b")
		})
	}
}

func TestBranches_RunBesideEdgesAndEachOther(t *testing.T) {
	b := start(logs("r"))
	b.Edge("r", "a")
	for _, to := range []string{"b", "c"} {
		b.Branch("r", func(context.Context, *world) (graph.Command, error) { return graph.Goto(to, "a"), nil }, "a", "b", "c")
	}
	logged(t, invoke(t, build(t, b, graph.Config{}), "", graph.Done), "r a b c")
}

func TestBranch_EndOfOneLeavesTheOtherAlone(t *testing.T) {
	b := graph.New[world]("end")
	line(b, "a", "b", "c")
	b.Node("x", goes("x", graph.Goto(graph.End), graph.End, "c"))
	b.Edge(graph.Start, "x")
	logged(t, invoke(t, build(t, b, graph.Config{}), "", graph.Done), "a x b c")
}

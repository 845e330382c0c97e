package graph_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// entering is a graph whose turns begin where choose leads: at a, b or c, or nowhere. Each of them
// leads to End.
func entering(choose func(ctx context.Context, s *world) (graph.Command, error)) *graph.Builder[world] {
	b := graph.New[world]("entering")
	for _, name := range []string{"a", "b", "c"} {
		b.Node(name, logs(name))
		b.Edge(name, graph.End)
	}
	b.Branch(graph.Start, choose, "a", "b", "c", graph.End)
	return b
}

// toNamed goes to the node that the input names.
func toNamed(_ context.Context, s *world) (graph.Command, error) {
	if name := s.Name.Get(); name != "" {
		return graph.Goto(name), nil
	}
	return graph.Command{}, nil
}

func TestEntry_BranchOfStartSeesTheInput(t *testing.T) {
	g := build(t, entering(toNamed), stored())
	for _, c := range []struct{ name, want string }{
		{"b", "b"}, {"a", "b a"}, {graph.End, "b a"}, {"c", "b a c"},
	} {
		res, err := g.Invoke(ctx, world{Name: state.Of(c.name)}, t1)
		logged(t, ended(t, graph.Done, res, err), c.want)
	}
	res, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t2"})
	logged(t, ended(t, graph.Done, res, err), "")
	if res.Steps != 1 {
		t.Errorf("a turn that goes nowhere took %d steps, want the one in which the branch runs", res.Steps)
	}
}

func TestEntry_EdgesFromStartGoBesideTheBranch(t *testing.T) {
	b := entering(toNamed)
	b.Edge(graph.Start, "c")
	res, err := build(t, b, graph.Config{}).Invoke(ctx, world{Name: state.Of("a")}, graph.RunOptions{})
	logged(t, ended(t, graph.Done, res, err), "a c")
	if res.Steps != 2 {
		t.Errorf("the run took %d steps, want 2: the branch, and both nodes together", res.Steps)
	}
}

func TestEntry_BranchMayAskAndFailLikeANode(t *testing.T) {
	tries := 0
	cfg := stored()
	g := build(t, entering(func(ctx context.Context, s *world) (graph.Command, error) {
		to, err := graph.Ask[string](ctx, graph.Question{Prompt: "where?"})
		if err != nil {
			return graph.Command{}, err
		}
		if tries++; tries == 1 {
			return graph.Command{}, errBoom
		}
		return graph.Goto(to).WithReason("it was said"), nil
	}), cfg)
	res := invoke(t, g, "t1", graph.Interrupted)
	if in := res.Interrupts[0]; in.Node != graph.Start || in.Prompt != "where?" {
		t.Errorf("the question is %q of node %q, want %q of %q", in.Prompt, in.Node, "where?", graph.Start)
	}
	_, err := g.Resume(ctx, graph.Reply("b"), t1)
	is(t, err, errBoom, `node "__start__"`)
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "b")

	var ways []string
	for p, err := range graph.History(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}, checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, ran := range p.Ran {
			for _, w := range ran.Ways {
				ways = append(ways, ran.Node+"→"+w.To+": "+w.Why)
			}
		}
	}
	if want := []string{"__start__→b: it was said"}; !slices.Equal(ways, want) {
		t.Errorf("the history has the ways %q, want %q", ways, want)
	}
}

func TestEntry_EditAsStartChoosesToo(t *testing.T) {
	g := build(t, entering(toNamed), stored())
	_, err := g.Edit(ctx, [][]graph.Edit[world]{{{As: graph.Start, Do: func(s *world) (graph.Command, error) {
		s.Name.Set("c")
		return graph.Command{}, nil
	}}}}, t1)
	if err != nil {
		t.Fatal(err)
	}
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "c")
	_, err = g.Edit(ctx, [][]graph.Edit[world]{{{Do: func(*world) (graph.Command, error) { return graph.Goto(graph.Start), nil }}}}, t1)
	is(t, err, graph.ErrTarget)
}

func TestEntry_StaticInterruptsAndHandlersLeaveItAlone(t *testing.T) {
	cfg := stored()
	cfg.InterruptBefore = []string{"*"}
	b := entering(toNamed)
	b.OnError("*", graph.Handler(func(context.Context, *world, *graph.NodeError) (graph.Command, error) {
		return graph.Command{}, nil
	}))
	g := build(t, b, cfg)
	res, err := g.Invoke(ctx, world{Name: state.Of("a")}, t1)
	pauses(t, ended(t, graph.Interrupted, res, err), "before:a")
	_, err = g.Invoke(ctx, world{Name: state.Of("zed")}, graph.RunOptions{Thread: "t2"})
	is(t, err, graph.ErrTarget, "branch", "zed")
}

func TestEntry_MistakesAreFoundByCompile(t *testing.T) {
	for name, c := range map[string]struct {
		change func(b *graph.Builder[world])
		want   string
	}{
		"a target that is not there": {func(b *graph.Builder[world]) {
			b.Branch(graph.Start, toNamed, "zed")
		}, `a branch from "__start__" goes to "zed", which is not a node`},
		"no targets":           {func(b *graph.Builder[world]) { b.Branch(graph.Start, toNamed) }, `a branch from "__start__" declares no targets`},
		"a join from Start":    {func(b *graph.Builder[world]) { b.Join("a", graph.Start, "b") }, `leads from Start`},
		"a deferred Start":     {func(b *graph.Builder[world]) { b.Defer(graph.Start) }, `"__start__" is deferred, but is not a node`},
		"a node of that name":  {func(b *graph.Builder[world]) { b.Node(graph.Start, logs("x")) }, "the name is reserved"},
		"a node named Parent":  {func(b *graph.Builder[world]) { b.Node(graph.Parent, logs("x")) }, "the name is reserved"},
		"an unreachable node":  {func(b *graph.Builder[world]) { b.Node("x", logs("x")); b.Edge("x", graph.End) }, `node "x" is unreachable`},
		"a handler of Start":   {func(b *graph.Builder[world]) { b.OnError(graph.Start, graph.ErrorHandler[world]{}) }, `the handler of "__start__" has no function`},
		"a branch into a join": {func(b *graph.Builder[world]) { b.Edge(graph.Start, "zed") }, `an edge from "__start__" leads to "zed", which is not a node`},
	} {
		t.Run(name, func(t *testing.T) {
			b := entering(toNamed)
			c.change(b)
			_, err := b.Compile(graph.Config{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Compile returns %v, want %q", err, c.want)
			}
		})
	}
}

func TestEntry_IsDrawnAsStart(t *testing.T) {
	b := entering(toNamed)
	b.Edge(graph.Start, "c")
	g := build(t, b, stored())
	res, err := g.Invoke(ctx, world{Name: state.Of("a")}, t1)
	ended(t, graph.Done, res, err)
	d, err := g.Thread("t1").Draw(ctx, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var nodes, edges []string
	for _, n := range d.Nodes {
		nodes = append(nodes, n.Name)
	}
	name := map[string]string{}
	for _, n := range d.Nodes {
		name[n.ID] = n.Name
	}
	for _, e := range d.Edges {
		if name[e.From] == graph.Start {
			edges = append(edges, e.Kind+":"+name[e.To]+strings.Repeat("!", e.Taken))
		}
	}
	if want := []string{graph.Start, "a", "b", "c", graph.End}; !slices.Equal(nodes, want) {
		t.Errorf("the drawing has the nodes %q, want %q", nodes, want)
	}
	if want := []string{"edge:c", "choice:a!", "choice:b", "choice:c", "choice:__end__"}; !slices.Equal(edges, want) {
		t.Errorf("from Start lead %q, want %q", edges, want)
	}
}

func TestEntry_OfASubgraph(t *testing.T) {
	b := graph.New[inner]("child")
	var ran counter
	b.Node("c1", steps("c1", &ran, nil))
	b.Node("c2", steps("c2", &ran, nil))
	b.Edge("c1", graph.End)
	b.Edge("c2", graph.End)
	b.Branch(graph.Start, func(_ context.Context, s *inner) (graph.Command, error) {
		if s.Tag.Get() == "y" {
			return graph.Goto("c2"), nil
		}
		return graph.Goto("c1"), nil
	}, "c1", "c2")
	child := build(t, b, graph.Config{})
	g := build(t, parallel(map[string]graph.Node[world]{"x": hosts(child, "x", nil), "y": hosts(child, "y", nil)}), stored())
	logged(t, invoke(t, g, "t1", graph.Done), "xc1 yc2")
}

// A run that crashed in the branch of Start begins there again.
func TestEntry_RunsAgainAfterACrash(t *testing.T) {
	store := new(checkpoint.Memory)
	broken := true
	choose := func(ctx context.Context, s *world) (graph.Command, error) {
		if broken {
			return graph.Command{}, errors.New("not yet")
		}
		return toNamed(ctx, s)
	}
	g := build(t, entering(choose), graph.Config{Store: store})
	_, err := g.Invoke(ctx, world{Name: state.Of("b")}, t1)
	if err == nil {
		t.Fatal("the branch failed, and the run did not")
	}
	broken = false
	logged(t, resume(t, build(t, entering(choose), graph.Config{Store: store}), graph.Answers{}, graph.Done), "b")
}

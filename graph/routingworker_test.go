package graph_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// halving is a graph of a worker that sends itself the halves of its payload until they are 1, and
// then goes to "sum".
func halving(wrap func(n graph.Node[world]) graph.Node[world]) *graph.Builder[world] {
	b := graph.New[world]("halving")
	b.Node("first", goes("first", graph.Send("half", 5), "half"))
	b.Node("half", wrap(graph.RoutingWorker(func(_ context.Context, s *world, n int) (graph.Command, error) {
		s.Log.Append(fmt.Sprint(n))
		if n == 1 {
			s.Count.Add(1)
			return graph.Goto("sum"), nil
		}
		return graph.Send("half", n/2).Send("half", n-n/2), nil
	}, "half", "sum")))
	b.Node("sum", graph.Func(func(_ context.Context, s *world) error {
		s.Log.Append(fmt.Sprint("sum ", s.Count.Get()))
		return nil
	}))
	b.Edge(graph.Start, "first")
	b.Edge("sum", graph.End)
	return b
}

func TestRoutingWorker_SendsMoreTasksAndGoesOn(t *testing.T) {
	for name, cfg := range map[string]graph.Config{"stored": stored(), "not stored": {}} {
		t.Run(name, func(t *testing.T) {
			run := t1
			if cfg.Store == nil {
				run = graph.RunOptions{}
			}
			g := build(t, halving(func(n graph.Node[world]) graph.Node[world] { return n }), cfg)
			res, err := g.Invoke(ctx, world{}, run)
			logged(t, ended(t, graph.Done, res, err), "first 5 2 3 1 1 1 2 sum 3 1 1 sum 5")
		})
	}
}

func TestRoutingWorker_AsAnAlternativeOfAFallback(t *testing.T) {
	fails := graph.Worker(func(context.Context, *world, int) error { return errBoom })
	g := build(t, halving(func(n graph.Node[world]) graph.Node[world] { return graph.Fallback(fails, n) }), stored())
	logged(t, invoke(t, g, "t1", graph.Done), "first 5 2 3 1 1 1 2 sum 3 1 1 sum 5")
}

func TestRoutingWorker_GoesToItsTargetsOnly(t *testing.T) {
	for name, c := range map[string]struct {
		cmd  graph.Command
		want string
	}{
		"an undeclared node":        {graph.Goto("first"), `"first"; it may go to w`},
		"itself, without a payload": {graph.Goto("w"), "a Worker is started by Send"},
		"a payload of another type": {graph.Send("w", "text"), "is of type string, not int"},
		"nowhere":                   {graph.Command{}, "the Command names none"},
	} {
		t.Run(name, func(t *testing.T) {
			b := graph.New[world]("g")
			b.Node("first", goes("first", graph.Send("w", 1), "w", graph.End))
			b.Node("w", graph.RoutingWorker(func(context.Context, *world, int) (graph.Command, error) { return c.cmd, nil }, "w", graph.End))
			b.Edge(graph.Start, "first")
			_, err := build(t, b, graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the run failed with %v, want %q", err, c.want)
			}
		})
	}
	b := graph.New[world]("g")
	b.Node("w", graph.RoutingWorker[world, int](nil, "w"))
	_, err := b.Compile(graph.Config{})
	if err == nil || !strings.Contains(err.Error(), `node "w" has no function`) {
		t.Errorf("Compile returns %v, want that the node has no function", err)
	}
}

// questioned is a graph that sends three tags to a subgraph, whose second node asks when the tag is
// "y".
func questioned(t *testing.T, ran *counter) *graph.Builder[world] {
	c := child(t, ran, graph.Config{}, func(ctx context.Context, s *inner) error {
		if s.Tag.Get() != "y" {
			return nil
		}
		answer, err := graph.Ask[string](ctx, graph.Question{Prompt: "y?"})
		s.Path.Append(answer)
		return err
	})
	b := graph.New[world]("sends")
	b.Node("first", goes("first", graph.Send("sub", "x").Send("sub", "y").Send("sub", "z"), "sub"))
	b.Node("sub", graph.SubgraphWorker(c, func(_ *world, tag string) (inner, error) {
		return inner{Tag: state.Of(tag)}, nil
	}, func(s *world, tag string, end *inner) error {
		s.Log.Append(tag + ":" + strings.Join(end.Path.Slice(), ","))
		return nil
	}))
	b.Edge(graph.Start, "first")
	b.Edge("sub", graph.End)
	return b
}

func TestSubgraphWorker_RunsTheChildForEachSend(t *testing.T) {
	var ran counter
	b := questioned(t, &ran)
	g := build(t, b, stored())
	res := invoke(t, g, "t1", graph.Interrupted)
	asked(t, res, "y?")
	logged(t, resume(t, g, graph.Reply("yes"), graph.Done), "first x:xc1,xc2,xc3 y:yc1,yc2,yes,yc3 z:zc1,zc2,zc3")
	ran.want(t, "c1", 3)
	ran.want(t, "c3", 3)
	if d := g.Draw(1); d.Nodes[2].Kind != "worker" || d.Nodes[2].Inside == nil {
		t.Errorf("the node is drawn as %+v, want a worker with the child inside", d.Nodes[2])
	}
}

func TestSubgraphWorker_NeedsAGraph(t *testing.T) {
	b := graph.New[world]("g")
	b.Node("w", graph.SubgraphWorker[world, int, inner](nil, nil, nil))
	_, err := b.Compile(graph.Config{})
	if err == nil || !strings.Contains(err.Error(), "a SubgraphWorker needs a graph") {
		t.Errorf("Compile returns %v", err)
	}
}

func TestSubgraph_LeavesToItsParentAlone(t *testing.T) {
	compile := func(targets ...string) (*graph.Graph[inner], error) {
		b := graph.New[inner]("leaver")
		b.Node("c1", graph.Router(func(context.Context, *inner) (graph.Command, error) {
			return graph.Goto("y").InParent(), nil
		}, targets...))
		b.Edge(graph.Start, "c1")
		return b.Compile(graph.Config{})
	}
	if _, err := compile(); err == nil || !strings.Contains(err.Error(), "dead end") {
		t.Errorf("Compile of a node without targets returns %v, want a dead end", err)
	}
	c, err := compile(graph.Parent)
	if err != nil {
		t.Fatal(err)
	}
	var ran counter
	logged(t, invoke(t, around(t, &ran, hosting(c, &ran), stored()), "t1", graph.Done), "in y")
	if d := c.Draw(0); len(d.Edges) != 2 || d.Edges[1].Kind != "choice" || d.Edges[1].To != "stop" {
		t.Errorf("the child is drawn with %v, want a choice that leads out", d.Edges)
	}
	_, err = c.Invoke(ctx, inner{}, graph.RunOptions{})
	is(t, err, graph.ErrNoParent)

	b := graph.New[inner]("wrong")
	b.Node("c1", graph.Router(func(context.Context, *inner) (graph.Command, error) { return graph.Goto(graph.Parent), nil }, graph.Parent))
	b.Edge(graph.Start, "c1")
	_, err = build(t, b, graph.Config{}).Invoke(ctx, inner{}, graph.RunOptions{})
	is(t, err, graph.ErrTarget, "InParent")
}

func TestSubgraph_HandlerAndBranchMayLeave(t *testing.T) {
	leave := graph.Goto("y").InParent()
	for name, add := range map[string]func(b *graph.Builder[inner]){
		"a branch": func(b *graph.Builder[inner]) {
			b.Node("c1", graph.Func(func(context.Context, *inner) error { return nil }))
			b.Branch("c1", func(context.Context, *inner) (graph.Command, error) { return leave, nil }, graph.Parent)
		},
		"a handler": func(b *graph.Builder[inner]) {
			b.Node("c1", graph.Router(func(context.Context, *inner) (graph.Command, error) { return graph.Command{}, errBoom }))
			b.OnError("c1", graph.Handler(func(context.Context, *inner, *graph.NodeError) (graph.Command, error) { return leave, nil }, graph.Parent))
		},
		"a handler of all": func(b *graph.Builder[inner]) {
			b.Node("c1", graph.Router(func(context.Context, *inner) (graph.Command, error) { return graph.Command{}, errBoom }))
			b.OnError("*", graph.Handler(func(context.Context, *inner, *graph.NodeError) (graph.Command, error) { return leave, nil }, graph.Parent))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := graph.New[inner]("leaver")
			add(b)
			b.Edge(graph.Start, "c1")
			var ran counter
			logged(t, invoke(t, around(t, &ran, hosting(build(t, b, graph.Config{}), &ran), stored()), "t1", graph.Done), "in y")
		})
	}
}

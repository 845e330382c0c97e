package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// leaves is a child whose second node ends with cmd, beside a sibling.
func leaves(t testing.TB, ran *counter, cmd func(ctx context.Context) (graph.Command, error), cfg ...graph.Config) *graph.Graph[inner] {
	b := graph.New[inner]("leaves")
	b.Node("c1", steps("c1", ran, nil))
	b.Node("c2", graph.Router(func(ctx context.Context, s *inner) (graph.Command, error) {
		ran.add("c2")
		s.Path.Append("dropped")
		return cmd(ctx)
	}, graph.End))
	b.Node("c3", steps("c3", ran, nil))
	b.Node("never", steps("never", ran, nil))
	b.Edge(graph.Start, "c1")
	b.Edge("c1", "c2")
	b.Edge("c1", "c3")
	b.Edge("c3", "never")
	b.Edge("never", graph.End)
	return build(t, b, append(cfg, graph.Config{})[0])
}

// around is a graph with a child that may go to x, y and w.
func around(t testing.TB, ran *counter, n graph.Node[world], cfg graph.Config) *graph.Graph[world] {
	b := graph.New[world]("around")
	b.Node("host", n)
	b.Node("x", logs("x"))
	b.Node("y", logs("y"))
	b.Node("w", graph.Worker(func(_ context.Context, s *world, n int) error {
		s.Log.Append(fmt.Sprint("w", n))
		return nil
	}))
	b.Edge(graph.Start, "host")
	for _, n := range []string{"x", "y", "w"} {
		b.Edge(n, graph.End)
	}
	return build(t, b, cfg)
}

// hosting is a node that runs c and may go on to x, y and w.
func hosting(c *graph.Graph[inner], ran *counter) graph.Node[world] {
	return graph.Subgraph(c, func(s *world) (inner, error) {
		s.Log.Append("in")
		return inner{}, nil
	}, func(s *world, end *inner) error {
		ran.add("out")
		return nil
	}, "x", "y", "w", graph.End)
}

// Requirement: Subgraphs
func TestParentCommand_IsApplied(t *testing.T) {
	writes := func() world {
		s := world{Name: state.Of("from below"), Log: state.ListOf("up"), Count: state.SumOf(3)}
		s.Seen.Put("k", 1)
		return s
	}
	for name, c := range map[string]struct {
		cmd  graph.Command
		want string
	}{
		"goto":            {graph.Goto("x").InParent(), "in x"},
		"several":         {graph.Goto("y", "x").Send("w", 2).Send("w", 1).InParent(), "in x y w2 w1"},
		"end":             {graph.Goto(graph.End).InParent(), "in"},
		"with writes":     {graph.ToParent(graph.Goto("x"), writes()), "in up x"},
		"over the node's": {graph.ToParent(graph.Goto("x"), overwriting("only")), "only x"},
	} {
		for stored, cfg := range map[string]graph.Config{"stored": stored(), "not stored": {}} {
			t.Run(name+" "+stored, func(t *testing.T) {
				var ran counter
				child := leaves(t, &ran, func(context.Context) (graph.Command, error) { return c.cmd, nil })
				thread := ""
				if cfg.Store != nil {
					thread = "t1"
				}
				res := invoke(t, around(t, &ran, hosting(child, &ran), cfg), thread, graph.Done)
				logged(t, res, c.want)
				ran.want(t, "out", 0)
				ran.want(t, "c3", 1)
				ran.want(t, "never", 0)
				if name == "with writes" && (res.State.Name.Get() != "from below" || res.State.Count.Get() != 3 || res.State.Seen.Get("k") != 1) {
					t.Errorf("the parent's state is %v %v %v", res.State.Name, res.State.Count, res.State.Seen)
				}
			})
		}
	}
}

func overwriting(words ...string) (s world) {
	s.Log.Overwrite(words)
	return s
}

func TestParentCommand_ChildKeepsTheStepsBefore(t *testing.T) {
	var ran counter
	cfg := stored()
	child := leaves(t, &ran, func(context.Context) (graph.Command, error) { return graph.Goto("x").InParent(), nil }, cfg)
	invoke(t, around(t, &ran, hosting(child, &ran), cfg), "t1", graph.Done)
	spaces, err := cfg.Store.Namespaces(ctx, "t1")
	if err != nil || len(spaces) != 2 {
		t.Fatalf("the namespaces are %q (%v)", spaces, err)
	}
	s, p, err := child.Thread("t1").In(spaces[1]).State(ctx, 0)
	if err != nil || strings.Join(s.Path.Slice(), " ") != "c1" || p.Status != graph.Done {
		t.Errorf("the child ended with %v, %v, %v; want the first step's writes alone", s.Path, p.Status, err)
	}
}

func TestParentCommand_TwoLevels(t *testing.T) {
	var ran counter
	child := leaves(t, &ran, func(context.Context) (graph.Command, error) {
		up := graph.ToParent(graph.Goto("x"), world{Name: state.Of("two up")})
		return graph.ToParent(up, inner{Path: state.ListOf("one up")}), nil
	})
	mid := graph.New[inner]("mid")
	mid.Node("m", graph.Func(func(ctx context.Context, s *inner) error {
		_, err := child.Call(ctx, inner{})
		return err
	}))
	mid.Edge(graph.Start, "m")
	mid.Edge("m", graph.End)
	res := invoke(t, around(t, &ran, hosting(build(t, mid, graph.Config{}), &ran), stored()), "t1", graph.Done)
	logged(t, res, "in x")
	if res.State.Name.Get() != "two up" {
		t.Errorf("the name is %v, want what came from two graphs below", res.State.Name)
	}
}

func TestParentCommand_Invalid(t *testing.T) {
	for name, c := range map[string]struct {
		cmd  graph.Command
		kind error
		text string
	}{
		"undeclared":     {graph.Goto("host").InParent(), graph.ErrTarget, `"host"`},
		"send to a node": {graph.Send("x", 1).InParent(), graph.ErrTarget, `"x" of a Send`},
		"goto a worker":  {graph.Goto("w").InParent(), graph.ErrTarget, `"w"`},
		"payload":        {graph.Send("w", "one").InParent(), nil, `"one" of a Send to "w" is not of type int`},
		"no JSON":        {graph.Send("w", func() {}).InParent(), nil, `payload of a Send to "w"`},
		"two ways":       {graph.Goto("x").InParent().Goto("y"), graph.ErrTarget, "goes nowhere else"},
		"two ways above": {graph.Goto("x").InParent().Goto("y").InParent(), graph.ErrTarget, "goes nowhere else"},
		"too far":        {graph.Goto("x").InParent().InParent(), graph.ErrNoParent, `Goto("x")`},
		"other state":    {graph.ToParent(graph.Goto("x"), inner{Tag: state.Of("a")}), nil, `"tag"`},
		"no state":       {graph.ToParent(graph.Goto("x"), 3), nil, "a state is a struct of channels"},
		"nowhere":        {graph.ToParent(graph.Command{}, world{Name: state.Of("a")}), graph.ErrTarget, "names none"},
	} {
		t.Run(name, func(t *testing.T) {
			var ran counter
			child := leaves(t, &ran, func(context.Context) (graph.Command, error) { return c.cmd, nil })
			_, err := around(t, &ran, hosting(child, &ran), stored()).Invoke(ctx, world{}, t1)
			if err == nil || c.kind != nil && !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), `node "`) {
				t.Errorf("got %v, want %v that has %s and names the node", err, c.kind, c.text)
			}
		})
	}
}

// Requirement: Subgraphs
func TestCommandToParent_IsNotRetriedOrStored(t *testing.T) {
	var ran counter
	child := leaves(t, &ran, func(context.Context) (graph.Command, error) { return graph.Goto("x").InParent(), nil })
	b := graph.New[world]("tries")
	b.Node("host", graph.Router(func(ctx context.Context, s *world) (graph.Command, error) {
		ran.add("host")
		_, err := graph.CallWith(ctx, "call", again(5), func(ctx context.Context) (inner, error) {
			ran.add("call")
			return child.Call(ctx, inner{})
		})
		is(t, err, graph.ErrToParent)
		return graph.Command{}, err
	}, "x").With(again(5)))
	b.Node("x", logs("x"))
	b.Edge(graph.Start, "host")
	b.Edge("x", graph.End)
	logged(t, invoke(t, build(t, b, stored()), "t1", graph.Done), "x")
	for _, name := range []string{"host", "call", "c2"} {
		ran.want(t, name, 1)
	}
}

// Requirement: Subgraphs
func TestCommandToParent_WaitsForOpenQuestions(t *testing.T) {
	var ran counter
	b := graph.New[inner]("both")
	b.Node("up", graph.Router(func(context.Context, *inner) (graph.Command, error) {
		ran.add("up")
		return graph.Goto("x").InParent(), nil
	}, graph.End))
	b.Node("ask", graph.Func(func(ctx context.Context, s *inner) error {
		_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "q"})
		return err
	}))
	b.Edge(graph.Start, "up")
	b.Edge(graph.Start, "ask")
	b.Edge("ask", graph.End)
	g := around(t, &ran, hosting(build(t, b, graph.Config{}), &ran), stored())
	asked(t, invoke(t, g, "t1", graph.Interrupted), "q")
	logged(t, resume(t, g, graph.Reply(true), graph.Done), "in x")
	ran.want(t, "up", 1)
}

// A crash at any write gives the same command again.
//
// Requirement: Subgraphs
func TestParentCommand_SurvivesACrash(t *testing.T) {
	run := func(store checkpoint.Store, ran *counter) string {
		child := leaves(t, ran, func(context.Context) (graph.Command, error) {
			if ran.of("c2") > 1 && ran.of("ended") > 0 {
				t.Error("the child runs again although it has ended")
			}
			return graph.ToParent(graph.Goto("x").Send("w", ran.of("c2")), world{Log: state.ListOf("up")}), nil
		})
		g := around(t, ran, hosting(child, ran), graph.Config{Store: store})
		res, err := g.Invoke(ctx, world{}, t1)
		for errors.Is(err, errFault) {
			if res, err = g.Resume(ctx, graph.Answers{}, t1); errors.Is(err, graph.ErrUnknownThread) {
				res, err = g.Invoke(ctx, world{}, t1)
			}
		}
		res = ended(t, graph.Done, res, err)
		return strings.Join(res.State.Log.Slice(), " ")
	}
	whole := &faultStore{Store: new(checkpoint.Memory)}
	run(whole, new(counter))
	for at := 1; at <= whole.writes; at++ {
		for _, applied := range []bool{false, true} {
			var ran counter
			got := run(&faultStore{Store: new(checkpoint.Memory), at: at, applied: applied}, &ran)
			if got != "in up x w1" && got != "in up x w2" || ran.of("c2") > 2 {
				t.Errorf("cut off at write %d (applied: %v): the log is %q", at, applied, got)
			}
		}
	}
}

func TestParentCommand_IsWrittenInFull(t *testing.T) {
	c := graph.ToParent(graph.Goto("a").Send("w", 1), inner{Tag: state.Of("t")})
	if got, want := c.String(), `Goto("a").Send("w", 1).InParent([{"field":"tag","value":{"v":"t","set":true}}])`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// inner is the state of subgraphs.
type inner struct {
	Tag  state.Value[string] `json:"tag"`
	Path state.List[string]  `json:"path"`
}

func steps(name string, ran *counter, do func(ctx context.Context, s *inner) error) graph.Node[inner] {
	return graph.Func(func(ctx context.Context, s *inner) error {
		ran.add(name)
		s.Path.Append(s.Tag.Get() + name)
		if do == nil {
			return nil
		}
		return do(ctx, s)
	})
}

// child is a graph of three nodes, the second of which calls do.
func child(t testing.TB, ran *counter, cfg graph.Config, do func(ctx context.Context, s *inner) error) *graph.Graph[inner] {
	b := graph.New[inner]("child")
	b.Node("c1", steps("c1", ran, nil))
	b.Node("c2", steps("c2", ran, do))
	b.Node("c3", steps("c3", ran, nil))
	b.Edge(graph.Start, "c1")
	b.Edge("c1", "c2")
	b.Edge("c2", "c3")
	b.Edge("c3", graph.End)
	return build(t, b, cfg)
}

// hosts makes a node of a child, whose path goes into the log.
func hosts(c *graph.Graph[inner], tag string, after func(s *world) error) graph.Node[world] {
	return graph.Subgraph(c, func(s *world) (inner, error) {
		return inner{Tag: state.Of(tag)}, nil
	}, func(s *world, end *inner) error {
		s.Log.Append(end.Path.Slice()...)
		if after == nil {
			return nil
		}
		return after(s)
	})
}

func TestSubgraph_MapsStateInAndOut(t *testing.T) {
	for name, cfg := range map[string]graph.Config{"stored": stored(), "not stored": {}} {
		t.Run(name, func(t *testing.T) {
			var ran counter
			b := parallel(map[string]graph.Node[world]{
				"x": hosts(child(t, &ran, graph.Config{}, nil), "x", nil),
				"y": hosts(child(t, &ran, graph.Config{}, nil), "y", nil),
			})
			run := t1
			if cfg.Store == nil {
				run = graph.RunOptions{}
			}
			res, err := build(t, b, cfg).Invoke(ctx, world{}, run)
			logged(t, ended(t, graph.Done, res, err), "xc1 xc2 xc3 yc1 yc2 yc3")
		})
	}
}

func TestSubgraph_QuestionsInParallelOnes(t *testing.T) {
	for _, order := range [][]string{{"x y"}, {"x", "y"}, {"y", "x"}} {
		t.Run(strings.Join(order, ","), func(t *testing.T) {
			var ran counter
			ask := func(ctx context.Context, s *inner) error {
				answer, err := graph.Ask[string](ctx, graph.Question{Prompt: s.Tag.Get()})
				s.Path.Append(answer)
				return err
			}
			cfg := stored()
			compiled := func() *graph.Graph[world] {
				c := child(t, &ran, graph.Config{}, ask)
				return build(t, parallel(map[string]graph.Node[world]{
					"x": hosts(c, "x", nil), "y": hosts(c, "y", nil), "z": asks("z", &ran),
				}), cfg)
			}
			first := invoke(t, compiled(), "t1", graph.Interrupted)
			asked(t, first, "x y")
			for i, in := range first.Interrupts {
				if want := first.Interrupts[i].Prompt + ":"; !strings.HasPrefix(in.Namespace, want) || in.Node != "c2" {
					t.Errorf("the question %s comes from %q in %q, want c2 in %s…", in.Prompt, in.Node, in.Namespace, want)
				}
			}
			_, err := compiled().Invoke(ctx, world{}, t1)
			is(t, err, graph.ErrWaiting)
			var res graph.Result[world]
			for i, words := range order {
				var a graph.Answers
				for _, w := range strings.Fields(words) {
					a = a.Answer(idOf(t, first, w), "!"+w)
				}
				status := graph.Interrupted
				if i == len(order)-1 {
					status = graph.Done
				}
				res = resume(t, compiled(), a, status)
			}
			logged(t, res, "xc1 xc2 !x xc3 yc1 yc2 !y yc3 z")
			ran.want(t, "c1", 2)
			ran.want(t, "c2", 4)
			ran.want(t, "z", 1)
		})
	}
}

func TestSubgraph_OneOfSeveralAnswersRunsItsNode(t *testing.T) {
	var ran counter
	ask := func(ctx context.Context, s *inner) error {
		go1, err1 := graph.Ask[bool](ctx, graph.Question{Prompt: "x"})
		_, err2 := graph.Ask[bool](ctx, graph.Question{Prompt: "y"})
		if err1 == nil && !go1 {
			return errors.New("refused") // the second answer does not matter any more
		}
		return errors.Join(err1, err2)
	}
	g := build(t, parallel(map[string]graph.Node[world]{"s": hosts(child(t, &ran, graph.Config{}, ask), "", nil)}), stored())
	res := invoke(t, g, "t1", graph.Interrupted)
	asked(t, res, "x y")
	_, err := g.Resume(ctx, graph.Answer(idOf(t, res, "x"), false), t1)
	if err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("got %v, want the refusal: a node runs again as soon as one of its questions is answered", err)
	}
}

func TestSubgraph_QuestionTwoLevelsDown(t *testing.T) {
	var ran counter
	c := child(t, &ran, graph.Config{}, func(ctx context.Context, s *inner) error {
		answer, err := graph.Ask[string](ctx, graph.Question{Prompt: "deep"})
		s.Path.Append(answer)
		return err
	})
	mid := graph.New[inner]("mid")
	mid.Node("m", graph.Subgraph(c,
		func(s *inner) (inner, error) { return inner{Tag: state.Of("m")}, nil },
		func(s *inner, end *inner) error { s.Path.Append(end.Path.Slice()...); return nil }))
	mid.Edge(graph.Start, "m")
	mid.Edge("m", graph.End)
	g := build(t, parallel(map[string]graph.Node[world]{"r": hosts(build(t, mid, graph.Config{}), "", nil)}), stored())
	res := invoke(t, g, "t1", graph.Interrupted)
	asked(t, res, "deep")
	if ns := res.Interrupts[0].Namespace; !strings.HasPrefix(ns, "r:") || !strings.Contains(ns, "|m:") {
		t.Errorf("the namespace is %q, want r:…|m:…", ns)
	}
	logged(t, resume(t, g, graph.Reply("42"), graph.Done), "mc1 mc2 42 mc3")
	ran.want(t, "c1", 1)
}

func TestSubgraph_StaticInterrupts(t *testing.T) {
	var ran counter
	for name, cfg := range map[string]graph.Config{
		"before": {InterruptBefore: []string{"c2"}}, "after": {InterruptAfter: []string{"c1"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := child(t, &ran, cfg, nil)
			g := build(t, parallel(map[string]graph.Node[world]{
				"x": hosts(c, "x", nil), "y": hosts(c, "y", nil), "z": asks("z", &ran, "q"),
			}), stored())
			res := invoke(t, g, "t1", graph.Interrupted)
			if len(res.Interrupts) != 3 || res.Interrupts[0].Kind != name {
				t.Fatalf("got %v, want two pauses and a question", res.Interrupts)
			}
			asked(t, resume(t, g, graph.Answers{}, graph.Interrupted), "q")
			logged(t, resume(t, g, graph.Reply("!"), graph.Done), "xc1 xc2 xc3 yc1 yc2 yc3 z q=!")
		})
	}
}

func TestSubgraph_RetryOfTheParentDoesNotRunItAgain(t *testing.T) {
	var ran counter
	n := hosts(child(t, &ran, graph.Config{}, nil), "", func(*world) error {
		if ran.add("after") < 3 {
			return errors.New("boom")
		}
		return nil
	})
	b := graph.New[world]("retry")
	b.Node("s", n.With(graph.Policy{Retry: graph.Retry{Attempts: 2, Initial: 1}}))
	b.Edge(graph.Start, "s")
	b.Edge("s", graph.End)
	g := build(t, b, stored())
	if _, err := g.Invoke(ctx, world{}, t1); err == nil {
		t.Fatal("the run did not fail")
	}
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "c1 c2 c3")
	ran.want(t, "c1", 1)
	ran.want(t, "c3", 1)
}

func TestSubgraph_FailureInsideIsResumedThere(t *testing.T) {
	var ran counter
	fails := func(context.Context, *inner) error {
		if ran.of("c2") == 1 {
			return errors.New("boom")
		}
		return nil
	}
	g := build(t, parallel(map[string]graph.Node[world]{"s": hosts(child(t, &ran, graph.Config{}, fails), "", nil)}), stored())
	_, err := g.Invoke(ctx, world{}, t1)
	if err == nil || !strings.Contains(err.Error(), `node "s"`) || !strings.Contains(err.Error(), `node "c2"`) {
		t.Fatalf("got %v, want an error that names both nodes", err)
	}
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "c1 c2 c3")
	ran.want(t, "c1", 1)
}

func TestSubgraph_NewTurnDoesNotContinueAFailedOne(t *testing.T) {
	var ran counter
	var ids []string
	fails := func(ctx context.Context, _ *inner) error {
		ids = append(ids, graph.TaskID(ctx))
		if ran.of("c2") == 1 {
			return errors.New("boom")
		}
		return nil
	}
	c := child(t, &ran, graph.Config{}, fails)
	n := graph.Subgraph(c, func(s *world) (inner, error) { return inner{Tag: state.Of(s.Name.Get())}, nil },
		func(s *world, end *inner) error { s.Log.Append(end.Path.Slice()...); return nil })
	g := build(t, parallel(map[string]graph.Node[world]{"s": n}), stored())
	if _, err := g.Invoke(ctx, world{Name: state.Of("old")}, t1); err == nil {
		t.Fatal("the run did not fail")
	}
	res, err := g.Invoke(ctx, world{Name: state.Of("new")}, t1)
	logged(t, ended(t, graph.Done, res, err), "newc1 newc2 newc3")
	if slices.Sort(ids); len(slices.Compact(ids)) != 2 {
		t.Errorf("two tasks of two turns have the ids %v; each must have one of its own", ids)
	}
}

func TestSubgraph_LoopStartsAFreshOneInEachLap(t *testing.T) {
	var ran counter
	b := graph.New[world]("laps")
	b.Node("s", hosts(child(t, &ran, graph.Config{}, nil), "", func(s *world) error {
		s.Count.Add(1)
		return nil
	}))
	b.Branch("s", func(_ context.Context, s *world) (graph.Command, error) {
		if s.Count.Get() < 3 {
			return graph.Goto("s"), nil
		}
		return graph.Goto(graph.End), nil
	}, "s", graph.End)
	b.Edge(graph.Start, "s")
	logged(t, invoke(t, build(t, b, stored()), "t1", graph.Done), "c1 c2 c3 c1 c2 c3 c1 c2 c3")
}

func TestSubgraph_MistakesInMappingAreErrorsOfTheNode(t *testing.T) {
	var ran counter
	c := child(t, &ran, graph.Config{}, nil)
	n := graph.Subgraph(c, func(*world) (inner, error) { return inner{}, fmt.Errorf("no input") },
		func(*world, *inner) error { return nil })
	_, err := build(t, parallel(map[string]graph.Node[world]{"s": n}), stored()).Invoke(ctx, world{}, t1)
	if err == nil || !strings.Contains(err.Error(), `node "s"`) || !strings.Contains(err.Error(), "no input") {
		t.Errorf("got %v, want an error that names the node", err)
	}
	ran.want(t, "c1", 0)
}

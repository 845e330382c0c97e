package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

type weftState struct {
	Log   state.List[string] `json:"log"`
	Input state.Value[int]   `json:"input"`
	Sum   state.Sum[int]     `json:"sum"`
}

type (
	weftNode    = graph.Node[weftState]
	weftBuilder = graph.Builder[weftState]
)

var weftThread = graph.RunOptions{Thread: "t"}

// weft is Weft at the revision of the working tree.
var weft = Runtime{
	Name:   "Weft",
	Module: "github.com/weftrun/weft",
	Programs: map[string]Program{
		"order": func(ctx context.Context) string {
			return orders(func(slowest int) ([]string, error) {
				b := graph.New[weftState]("order")
				for i, name := range []string{"a", "b", "c"} {
					weftBetween(b, name, func(_ context.Context, s *weftState) error {
						pace(i, slowest)
						s.Log.Append(name)
						return nil
					})
				}
				g, err := b.Compile(graph.Config{})
				if err != nil {
					return nil, err
				}
				res, err := g.Invoke(ctx, weftState{}, graph.RunOptions{})
				return res.State.Log.Slice(), err
			})
		},
		"uneven join": func(ctx context.Context) string {
			var r ran
			b := graph.New[weftState]("uneven")
			b.Node("a", weftRuns(&r, "a"))
			b.Node("b1", weftRuns(&r, "b1"))
			b.Node("b2", weftRuns(&r, "b2"))
			b.Node("join", weftDoes(func() error { r.after("join"); return nil }))
			b.Edge(graph.Start, "a")
			b.Edge(graph.Start, "b1")
			b.Edge("b1", "b2")
			b.Join("join", "a", "b2")
			b.Edge("join", graph.End)
			return weftOnce(ctx, &r, b)
		},
		"early end": func(ctx context.Context) string {
			var r ran
			b := graph.New[weftState]("early")
			b.Node("a", graph.Router(func(context.Context, *weftState) (graph.Command, error) {
				r.add("a")
				return graph.Goto(graph.End), nil
			}, graph.End, "other"))
			b.Node("other", weftRuns(&r, "other"))
			b.Node("b", weftRuns(&r, "b"))
			b.Node("c", weftRuns(&r, "c"))
			b.Edge(graph.Start, "a")
			b.Edge(graph.Start, "b")
			b.Edge("other", graph.End)
			b.Edge("b", "c")
			b.Edge("c", graph.End)
			return weftOnce(ctx, &r, b)
		},
		"two answers in one message": func(ctx context.Context) string {
			var r ran
			g, res, err := weftTwoQuestions(ctx, &r)
			if err != nil {
				return failed(err)
			}
			a, b := weftQuestion(res, "a"), weftQuestion(res, "b")
			res, err = g.Resume(ctx, graph.Answer(a, "A").Answer(b, "B"), weftThread)
			return r.and(weftHow(res, err))
		},
		"one answer after the other": func(ctx context.Context) string {
			var r ran
			g, res, err := weftTwoQuestions(ctx, &r)
			if err != nil {
				return failed(err)
			}
			a, b := weftQuestion(res, "a"), weftQuestion(res, "b")
			res, err = g.Resume(ctx, graph.Answer(a, "A"), weftThread)
			first := "first " + r.and(weftHow(res, err))
			res, err = g.Resume(ctx, graph.Answer(b, "B"), weftThread)
			return first + "; then " + r.and(weftHow(res, err))
		},
		"question beside a finished node": func(ctx context.Context) string {
			var r ran
			b := graph.New[weftState]("beside")
			b.Node("a", graph.Func(func(_ context.Context, s *weftState) error {
				r.add("a")
				s.Log.Append("a")
				return nil
			}))
			b.Node("b", weftAsks(&r, "b"))
			b.Node("join", graph.Func(func(_ context.Context, s *weftState) error {
				r.add("join of " + strings.Join(s.Log.Slice(), " "))
				return nil
			}))
			b.Edge(graph.Start, "a")
			b.Edge(graph.Start, "b")
			b.Join("join", "a", "b")
			b.Edge("join", graph.End)
			return weftAnswered(ctx, &r, b)
		},
		"question in a fan-out": func(ctx context.Context) string {
			var r ran
			b := graph.New[weftState]("fanout")
			b.Node("split", graph.Router(func(context.Context, *weftState) (graph.Command, error) {
				return graph.Send("item", 1).Send("item", 2).Send("item", 3), nil
			}, "item"))
			b.Node("item", graph.Worker(func(ctx context.Context, _ *weftState, item int) error {
				event := fmt.Sprintf("item %d", item)
				if item == 2 {
					answer, err := graph.Ask[string](ctx, graph.Question{Prompt: event})
					if err != nil {
						return err
					}
					event += "=" + answer
				}
				r.add(event)
				return nil
			}))
			b.Node("join", weftRuns(&r, "join"))
			b.Edge(graph.Start, "split")
			b.Edge("item", "join")
			b.Edge("join", graph.End)
			return weftAnswered(ctx, &r, b)
		},
		"repeated answer": func(ctx context.Context) string {
			var r ran
			b := graph.New[weftState]("repeated")
			b.Node("a", weftAsks(&r, "a"))
			b.Node("after", weftRuns(&r, "after"))
			b.Edge(graph.Start, "a")
			b.Edge("a", "after")
			b.Edge("after", graph.End)
			g, err := b.Compile(weftStored())
			if err != nil {
				return failed(err)
			}
			res, err := g.Invoke(ctx, weftState{}, weftThread)
			if err != nil {
				return failed(err)
			}
			question := weftQuestion(res, "a")
			answer := graph.Answer(question, "yes")
			res, err = g.Resume(ctx, answer, weftThread)
			how := weftHow(res, err)
			if _, err := g.Resume(ctx, answer, weftThread); err != nil && !errors.Is(err, graph.ErrUnknownQuestion) {
				return r.and(how + "; the same answer: " + failed(err))
			}
			_, err = g.Resume(ctx, graph.Answer(question, "no"), weftThread)
			return r.and(how + "; " + refused(err))
		},
		"failing sibling": func(ctx context.Context) string {
			var r ran
			done := make(gate)
			b := weftFails(&r, done, weftDoes(func() error { r.add("a"); done.open(); return nil }))
			return weftTwice(ctx, &r, b)
		},
		"restart in a fan-out": func(ctx context.Context) string {
			var r ran
			running, cancel := context.WithCancel(ctx)
			defer cancel()
			cut := cutter{r: &r, cancel: cancel}
			compile := func(cfg graph.Config) (*graph.Graph[weftState], error) {
				b := graph.New[weftState]("restart")
				for _, name := range []string{"a", "b", "c"} {
					b.Node(name, graph.Func(func(ctx context.Context, _ *weftState) error { return cut.run(ctx, name) }))
					b.Edge(graph.Start, name)
				}
				b.Node("join", weftRuns(&r, "join"))
				b.Join("join", "a", "b", "c")
				b.Edge("join", graph.End)
				return b.Compile(cfg)
			}
			cfg := weftStored()
			g, err := compile(cfg)
			if err != nil {
				return failed(err)
			}
			if _, err := g.Invoke(running, weftState{}, weftThread); !errors.Is(err, context.Canceled) {
				return failed(err)
			}
			if g, err = compile(cfg); err != nil {
				return failed(err)
			}
			res, err := g.Resume(ctx, graph.Answers{}, weftThread)
			return r.and(weftHow(res, err))
		},
		"handler beside a failing sibling": func(ctx context.Context) string {
			var r ran
			done := make(gate)
			b := weftFails(&r, done, weftDoes(func() error { r.add("a fails"); return errBoom }))
			b.OnError("a", graph.Handler(func(context.Context, *weftState, *graph.NodeError) (graph.Command, error) {
				r.add("handler")
				done.open()
				return graph.Command{}, nil
			}))
			return weftTwice(ctx, &r, b)
		},
		"endless loop": func(ctx context.Context) string {
			var r ran
			_, err := weftLoop(ctx, func() error { return spin(&r) })
			return looped(&r, err, func(err error) bool { return errors.Is(err, graph.ErrSteps) })
		},
		"cancelled loop": func(ctx context.Context) string {
			var r ran
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			_, err := weftLoop(ctx, func() error { return spinAndCancel(&r, cancel) })
			return cancelled(&r, err)
		},
		"concurrent runs": func(ctx context.Context) string {
			b := graph.New[weftState]("concurrent")
			for i, name := range []string{"a", "b", "c"} {
				weftBetween(b, name, func(_ context.Context, s *weftState) error { s.Sum.Add(s.Input.Get() * (i + 1)); return nil })
			}
			g, err := b.Compile(graph.Config{})
			if err != nil {
				return failed(err)
			}
			return crowd(func(input int) (bool, error) {
				res, err := g.Invoke(ctx, weftState{Input: state.Of(input)}, graph.RunOptions{})
				return res.State.Sum.Get() == 6*input, err
			})
		},
		"panic": func(ctx context.Context) string {
			b := graph.New[weftState]("panics")
			weftBetween(b, "safe", func(context.Context, *weftState) error { return nil })
			weftBetween(b, "risky", func(context.Context, *weftState) error { panic("boom") })
			return weftNamed(ctx, b, "risky")
		},
		"timeout of a node": func(ctx context.Context) string {
			b := graph.New[weftState]("timeout")
			weftBetween(b, "quick", func(context.Context, *weftState) error { return nil })
			b.Node("slow", graph.Func(func(ctx context.Context, _ *weftState) error { return slow(ctx) }).With(graph.Policy{Timeout: nodeTimeout}))
			b.Edge(graph.Start, "slow")
			b.Edge("slow", graph.End)
			return weftNamed(ctx, b, "slow")
		},
		"state that cannot be stored": func(context.Context) string {
			type unstorable struct {
				Do state.Value[func()] `json:"do"`
			}
			b := graph.New[unstorable]("unstorable")
			b.Node("a", graph.Func(func(context.Context, *unstorable) error { return nil }))
			b.Edge(graph.Start, "a")
			b.Edge("a", graph.End)
			if _, err := b.Compile(weftStored()); err == nil {
				return "accepted"
			}
			return "refused before it runs"
		},
		"newest checkpoint": func(ctx context.Context) string {
			b := graph.New[weftState]("chain")
			from := graph.Start
			for i := range 10 {
				name := fmt.Sprintf("n%d", i)
				b.Node(name, graph.Func(func(_ context.Context, s *weftState) error { s.Sum.Add(1); return nil }))
				b.Edge(from, name)
				from = name
			}
			b.Edge(from, graph.End)
			g, err := b.Compile(weftStored())
			if err != nil {
				return failed(err)
			}
			if _, err := g.Invoke(ctx, weftState{}, weftThread); err != nil {
				return failed(err)
			}
			s, _, err := g.Thread("t").State(ctx, 0)
			if err != nil {
				return failed(err)
			}
			return newest(s.Sum.Get())
		},
		"going back in a subgraph": weftBack,
	},
	Cannot: map[string]string{
		"order of options": "options are the fields of one struct, which have no order",
	},
}

func weftBack(ctx context.Context) string {
	var r ran
	in := graph.New[weftState]("inside")
	in.Node("s1", weftRuns(&r, "s1"))
	in.Node("s2", weftRuns(&r, "s2"))
	in.Edge(graph.Start, "s1")
	in.Edge("s1", "s2")
	in.Edge("s2", graph.End)
	child, err := in.Compile(graph.Config{})
	if err != nil {
		return failed(err)
	}
	b := graph.New[weftState]("outside")
	b.Node("p", weftRuns(&r, "p"))
	b.Node("sub", graph.Subgraph(child, func(*weftState) (weftState, error) { return weftState{}, nil },
		func(*weftState, *weftState) error { return nil }))
	b.Node("z", weftRuns(&r, "z"))
	b.Edge(graph.Start, "p")
	b.Edge("p", "sub")
	b.Edge("sub", "z")
	b.Edge("z", graph.End)
	cfg := weftStored()
	g, err := b.Compile(cfg)
	if err != nil {
		return failed(err)
	}
	if _, err := g.Invoke(ctx, weftState{}, weftThread); err != nil {
		return failed(err)
	}
	spaces, err := graph.Namespaces(ctx, cfg.Store, "t")
	if err != nil {
		return failed(err)
	}
	for _, space := range spaces {
		if space == "" {
			continue
		}
		for c, err := range graph.History(ctx, cfg.Store, checkpoint.Key{Thread: "t", Namespace: space}, checkpoint.Query{}) {
			if err != nil {
				return failed(err)
			}
			if len(c.Next) == 1 && c.Next[0] == "s2" {
				res, err := g.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "t", Namespace: space, At: c.Checkpoint})
				return r.and(weftHow(res, err))
			}
		}
	}
	return "no such point in the history"
}

func weftStored() graph.Config { return graph.Config{Store: new(checkpoint.Memory)} }

// weftDoes is a node that does something beside the state.
func weftDoes(do func() error) weftNode {
	return graph.Func(func(context.Context, *weftState) error { return do() })
}

func weftRuns(r *ran, name string) weftNode {
	return weftDoes(func() error { r.add(name); return nil })
}

// weftAsks is a node that asks, and counts the answer.
func weftAsks(r *ran, name string) weftNode {
	return graph.Func(func(ctx context.Context, s *weftState) error {
		answer, err := graph.Ask[string](ctx, graph.Question{Prompt: name})
		if err != nil {
			return err
		}
		r.add(name + "=" + answer)
		s.Log.Append(name)
		return nil
	})
}

// weftBetween adds a node between the start and the end.
func weftBetween(b *weftBuilder, name string, fn func(context.Context, *weftState) error) {
	b.Node(name, graph.Func(fn))
	b.Edge(graph.Start, name)
	b.Edge(name, graph.End)
}

// weftHow describes how a run ended.
func weftHow(res graph.Result[weftState], err error) string {
	if err == nil && res.Status == graph.Interrupted {
		return waits
	}
	return failed(err)
}

func weftQuestion(res graph.Result[weftState], prompt string) string {
	for _, q := range res.Interrupts {
		if q.Prompt == prompt {
			return q.ID
		}
	}
	return "none"
}

func weftOnce(ctx context.Context, r *ran, b *weftBuilder) string {
	g, err := b.Compile(graph.Config{})
	if err != nil {
		return failed(err)
	}
	res, err := g.Invoke(ctx, weftState{}, graph.RunOptions{})
	return r.and(weftHow(res, err))
}

// weftAnswered runs a graph to its one question, and answers it with yes.
func weftAnswered(ctx context.Context, r *ran, b *weftBuilder) string {
	g, err := b.Compile(weftStored())
	if err != nil {
		return failed(err)
	}
	if res, err := g.Invoke(ctx, weftState{}, weftThread); err != nil || len(res.Interrupts) != 1 {
		return r.and(weftHow(res, err))
	}
	res, err := g.Resume(ctx, graph.Reply("yes"), weftThread)
	return r.and(weftHow(res, err))
}

// weftTwoQuestions runs a graph to the questions of a and b.
func weftTwoQuestions(ctx context.Context, r *ran) (*graph.Graph[weftState], graph.Result[weftState], error) {
	b := graph.New[weftState]("questions")
	b.Node("a", weftAsks(r, "a"))
	b.Node("b", weftAsks(r, "b"))
	b.Node("join", weftRuns(r, "join"))
	b.Edge(graph.Start, "a")
	b.Edge(graph.Start, "b")
	b.Join("join", "a", "b")
	b.Edge("join", graph.End)
	g, err := b.Compile(weftStored())
	if err != nil {
		return nil, graph.Result[weftState]{}, err
	}
	res, err := g.Invoke(ctx, weftState{}, weftThread)
	return g, res, err
}

// weftFails is a graph in which b fails in its first run, after done was opened.
func weftFails(r *ran, done gate, a weftNode) *weftBuilder {
	b := graph.New[weftState]("siblings")
	b.Node("a", a)
	b.Node("b", weftDoes(func() error { return failsFirst(r, done) }))
	b.Node("join", weftRuns(r, "join"))
	b.Edge(graph.Start, "a")
	b.Edge(graph.Start, "b")
	b.Join("join", "a", "b")
	b.Edge("join", graph.End)
	return b
}

// weftTwice runs a graph whose first run fails, and tries the thread again.
func weftTwice(ctx context.Context, r *ran, b *weftBuilder) string {
	g, err := b.Compile(weftStored())
	if err != nil {
		return failed(err)
	}
	if _, err := g.Invoke(ctx, weftState{}, weftThread); !errors.Is(err, errBoom) {
		return r.and("first " + failed(err))
	}
	res, err := g.Resume(ctx, graph.Answers{}, weftThread)
	return r.and(weftHow(res, err))
}

func weftLoop(ctx context.Context, do func() error) (graph.Result[weftState], error) {
	b := graph.New[weftState]("loop")
	b.Node("n", graph.Router(func(context.Context, *weftState) (graph.Command, error) { return graph.Goto("n"), do() }, "n", graph.End))
	b.Edge(graph.Start, "n")
	g, err := b.Compile(graph.Config{MaxSteps: 50})
	if err != nil {
		return graph.Result[weftState]{}, err
	}
	return g.Invoke(ctx, weftState{}, graph.RunOptions{})
}

// weftNamed runs a graph, and reports whether its error names a node.
func weftNamed(ctx context.Context, b *weftBuilder, node string) string {
	g, err := b.Compile(graph.Config{})
	if err != nil {
		return failed(err)
	}
	_, err = g.Invoke(ctx, weftState{}, graph.RunOptions{})
	return named(err, node)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

// Nodes pass on maps: their outputs are merged by name.
type (
	einoMap        = map[string]any
	einoGraph      = *compose.Graph[einoMap, einoMap]
	einoRun        = compose.Runnable[einoMap, einoMap]
	einoUnstorable struct{ Do func() }
)

func init() {
	schema.RegisterName[einoUnstorable]("beside_unstorable")
	compose.RegisterValuesMergeFunc(func(lists [][]string) ([]string, error) { return slices.Concat(lists...), nil })
}

func einoNew(opts ...compose.NewGraphOption) einoGraph {
	return compose.NewGraph[einoMap, einoMap](opts...)
}

var eino = Runtime{
	Name:     "eino",
	Module:   "github.com/cloudwego/eino",
	Version:  "v0.9.13",
	Released: "2026-07-22",
	About: "nodes pass on maps, whose keys are merged at a join. A node waits for all edges to it (AllPredecessor), except in loops, " +
		"which need AnyPredecessor. A thread is a checkpoint id.",
	Programs: map[string]Program{
		"order": func(ctx context.Context) string {
			return orders(func(slowest int) ([]string, error) {
				g := compose.NewGraph[string, []string]()
				for i, name := range []string{"a", "b", "c"} {
					_ = g.AddLambdaNode(name, compose.InvokableLambda(func(context.Context, string) ([]string, error) {
						pace(i, slowest)
						return []string{name}, nil
					}))
					_ = g.AddEdge(compose.START, name)
					_ = g.AddEdge(name, compose.END)
				}
				run, err := g.Compile(ctx, compose.WithNodeTriggerMode(compose.AllPredecessor))
				if err != nil {
					return nil, err
				}
				return run.Invoke(ctx, "")
			})
		},
		"uneven join": func(ctx context.Context) string {
			var r ran
			g := einoNew()
			einoRuns(g, &r, "a", "b1", "b2")
			einoNode(g, "join", func(context.Context) error { r.after("join"); return nil })
			einoEdges(g, compose.START, "a", "join", compose.END)
			einoEdges(g, compose.START, "b1", "b2", "join")
			return einoOnce(ctx, &r, g)
		},
		"early end": func(ctx context.Context) string {
			var r ran
			g := einoNew()
			einoRuns(g, &r, "a", "other", "b", "c")
			einoEdges(g, compose.START, "a")
			err := g.AddBranch("a", compose.NewGraphBranch(func(context.Context, einoMap) (string, error) { return compose.END, nil },
				map[string]bool{compose.END: true, "other": true}))
			if err != nil {
				return failed(err)
			}
			einoEdges(g, "other", compose.END)
			einoEdges(g, compose.START, "b", "c", compose.END)
			return einoOnce(ctx, &r, g)
		},
		"two answers in one message": func(ctx context.Context) string {
			var r ran
			run, err := einoTwoQuestions(ctx, &r)
			if err != nil {
				return failed(err)
			}
			_, err = run.Invoke(ctx, nil, einoThread)
			a, b := einoQuestion(err, "a"), einoQuestion(err, "b")
			_, err = run.Invoke(compose.BatchResumeWithData(ctx, map[string]any{a: "A", b: "B"}), nil, einoThread)
			return r.and(einoHow(err))
		},
		"one answer after the other": func(ctx context.Context) string {
			var r ran
			run, err := einoTwoQuestions(ctx, &r)
			if err != nil {
				return failed(err)
			}
			_, err = run.Invoke(ctx, nil, einoThread)
			_, err = run.Invoke(compose.ResumeWithData(ctx, einoQuestion(err, "a"), "A"), nil, einoThread)
			first := "first " + r.and(einoHow(err))
			_, err = run.Invoke(compose.ResumeWithData(ctx, einoQuestion(err, "b"), "B"), nil, einoThread)
			return first + "; then " + r.and(einoHow(err))
		},
		"question beside a finished node": func(ctx context.Context) string {
			var r ran
			g := einoNew()
			einoRuns(g, &r, "a")
			einoNode(g, "b", einoAsks(&r, "b"))
			err := g.AddLambdaNode("join", compose.InvokableLambda(func(_ context.Context, in einoMap) (einoMap, error) {
				r.add("join of " + strings.Join(slices.Sorted(maps.Keys(in)), " "))
				return in, nil
			}))
			if err != nil {
				return failed(err)
			}
			einoEdges(g, compose.START, "a", "join")
			einoEdges(g, compose.START, "b", "join", compose.END)
			run, err := einoStored(ctx, g)
			if err != nil {
				return failed(err)
			}
			_, err = run.Invoke(ctx, nil, einoThread)
			_, err = run.Invoke(compose.ResumeWithData(ctx, einoQuestion(err, "b"), "yes"), nil, einoThread)
			return r.and(einoHow(err))
		},
		"repeated answer": func(ctx context.Context) string {
			var r ran
			g := einoNew()
			einoNode(g, "a", einoAsks(&r, "a"))
			einoRuns(g, &r, "after")
			einoEdges(g, compose.START, "a", "after", compose.END)
			run, err := einoStored(ctx, g)
			if err != nil {
				return failed(err)
			}
			_, err = run.Invoke(ctx, nil, einoThread)
			question := einoQuestion(err, "a")
			_, err = run.Invoke(compose.ResumeWithData(ctx, question, "yes"), nil, einoThread)
			how := einoHow(err)
			_, _ = run.Invoke(compose.ResumeWithData(ctx, question, "yes"), nil, einoThread)
			_, err = run.Invoke(compose.ResumeWithData(ctx, question, "no"), nil, einoThread)
			return r.and(how + "; " + refused(err))
		},
		"failing sibling": func(ctx context.Context) string {
			var r ran
			done := make(gate)
			g := einoNew()
			einoNode(g, "a", func(context.Context) error { r.add("a"); done.open(); return nil })
			einoNode(g, "b", func(context.Context) error { return failsFirst(&r, done) })
			einoRuns(g, &r, "join")
			einoEdges(g, compose.START, "a", "join")
			einoEdges(g, compose.START, "b", "join", compose.END)
			run, err := einoStored(ctx, g)
			if err != nil {
				return failed(err)
			}
			if _, err := run.Invoke(ctx, nil, einoThread); !errors.Is(err, errBoom) {
				return r.and("first " + failed(err))
			}
			_, err = run.Invoke(ctx, nil, einoThread)
			return r.and(einoHow(err))
		},
		"restart in a fan-out": func(ctx context.Context) string {
			var r ran
			running, interrupt := compose.WithGraphInterrupt(ctx)
			cut := cutter{r: &r, cancel: func() { interrupt(compose.WithGraphInterruptTimeout(0)) }}
			var store einoStore
			compile := func() (einoRun, error) {
				g := einoNew()
				einoRuns(g, &r, "join")
				for _, name := range []string{"a", "b", "c"} {
					einoNode(g, name, func(ctx context.Context) error { return cut.run(ctx, name) })
					einoEdges(g, compose.START, name, "join")
				}
				einoEdges(g, "join", compose.END)
				return einoCompile(ctx, g, compose.WithCheckPointStore(&store))
			}
			run, err := compile()
			if err != nil {
				return failed(err)
			}
			if _, err = run.Invoke(running, nil, einoThread); einoHow(err) != waits {
				return r.and("first " + failed(err))
			}
			if run, err = compile(); err != nil {
				return failed(err)
			}
			_, err = run.Invoke(ctx, nil, einoThread)
			return r.and(einoHow(err))
		},
		"endless loop": func(ctx context.Context) string {
			var r ran
			err := einoLoop(ctx, func() error { return spin(&r) })
			return looped(&r, err, func(err error) bool { return errors.Is(err, compose.ErrExceedMaxSteps) })
		},
		"cancelled loop": func(ctx context.Context) string {
			var r ran
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			return cancelled(&r, einoLoop(ctx, func() error { return spinAndCancel(&r, cancel) }))
		},
		"concurrent runs": func(ctx context.Context) string {
			g := einoNew()
			for _, name := range []string{"a", "b", "c"} {
				err := g.AddLambdaNode(name, compose.InvokableLambda(func(_ context.Context, in einoMap) (string, error) {
					return fmt.Sprint(name, in["input"]), nil
				}), compose.WithOutputKey(name))
				if err != nil {
					return failed(err)
				}
				einoEdges(g, compose.START, name, compose.END)
			}
			run, err := einoCompile(ctx, g)
			if err != nil {
				return failed(err)
			}
			return crowd(func(input int) (bool, error) {
				out, err := run.Invoke(ctx, einoMap{"input": input})
				want := einoMap{"a": fmt.Sprint("a", input), "b": fmt.Sprint("b", input), "c": fmt.Sprint("c", input)}
				return maps.Equal(out, want), err
			})
		},
		"panic": func(ctx context.Context) string {
			g := einoNew()
			einoNode(g, "safe", func(context.Context) error { return nil })
			einoNode(g, "risky", func(context.Context) error { panic("boom") })
			einoEdges(g, compose.START, "safe", compose.END)
			einoEdges(g, compose.START, "risky", compose.END)
			run, err := einoCompile(ctx, g)
			if err != nil {
				return failed(err)
			}
			_, err = run.Invoke(ctx, nil)
			return named(err, "risky")
		},
		"state that cannot be stored": func(ctx context.Context) string {
			g := einoNew(compose.WithGenLocalState(func(context.Context) *einoUnstorable {
				return &einoUnstorable{Do: func() {}}
			}))
			var r ran
			einoNode(g, "a", einoAsks(&r, "a"))
			einoEdges(g, compose.START, "a", compose.END)
			run, err := einoStored(ctx, g)
			if err != nil {
				return "refused before it runs"
			}
			if _, err = run.Invoke(ctx, nil, einoThread); einoHow(err) != waits {
				return "error when it is stored"
			}
			return "accepted"
		},
		"order of options": func(ctx context.Context) string {
			began := func(opts ...compose.Option) int {
				var r ran
				g := einoNew()
				einoRuns(g, &r, "a")
				einoNode(g, "b", einoAsks(&r, "b"))
				einoEdges(g, compose.START, "a", "b", compose.END)
				run, err := einoStored(ctx, g)
				if err != nil {
					return -1
				}
				_, _ = run.Invoke(ctx, nil, einoThread)
				_, _ = run.Invoke(ctx, nil, opts...)
				return r.of("a")
			}
			one := began(einoThread, compose.WithForceNewRun())
			other := began(compose.WithForceNewRun(), einoThread)
			if one != other {
				return fmt.Sprintf("WithForceNewRun last: a ×%d; first: a ×%d", one, other)
			}
			return "the same"
		},
	},
	Notes: map[string]string{
		"repeated answer": "The store is the user's, who may delete a checkpoint whose run has ended.",
		"failing sibling": "A checkpoint is only written when a run is interrupted.",
	},
	Cannot: map[string]string{
		"question in a fan-out":            "the number of parallel nodes is fixed when a graph is compiled; a node can fan out by itself, with CompositeInterrupt",
		"handler beside a failing sibling": "nodes have no handlers of errors",
		"timeout of a node":                "nodes have no timeouts",
		"newest checkpoint":                "a checkpoint is only written when a run is interrupted",
		"going back in a subgraph":         "a thread has one checkpoint and no history",
	},
}

var einoThread = compose.WithCheckPointID("t")

// einoStore is a store of checkpoints in memory: eino leaves stores to its users.
type einoStore struct{ m sync.Map }

func (s *einoStore) Get(_ context.Context, id string) ([]byte, bool, error) {
	v, ok := s.m.Load(id)
	if !ok {
		return nil, false, nil
	}
	return v.([]byte), true, nil
}

func (s *einoStore) Set(_ context.Context, id string, data []byte) error {
	s.m.Store(id, data)
	return nil
}

// einoCompile compiles a graph in which a node waits for all edges to it.
func einoCompile(ctx context.Context, g einoGraph, opts ...compose.GraphCompileOption) (einoRun, error) {
	return g.Compile(ctx, append(opts, compose.WithNodeTriggerMode(compose.AllPredecessor))...)
}

func einoStored(ctx context.Context, g einoGraph) (einoRun, error) {
	return einoCompile(ctx, g, compose.WithCheckPointStore(new(einoStore)))
}

// einoNode adds a node that does something and returns its name. Compile reports mistakes.
func einoNode(g einoGraph, name string, do func(context.Context) error) {
	_ = g.AddLambdaNode(name, compose.InvokableLambda(func(ctx context.Context, _ einoMap) (string, error) {
		return name, do(ctx)
	}), compose.WithOutputKey(name))
}

func einoRuns(g einoGraph, r *ran, names ...string) {
	for _, name := range names {
		einoNode(g, name, func(context.Context) error { r.add(name); return nil })
	}
}

// einoEdges connects nodes in a line.
func einoEdges(g einoGraph, names ...string) {
	for i := range len(names) - 1 {
		_ = g.AddEdge(names[i], names[i+1])
	}
}

// einoAsks asks, and counts the answer. A node that is resumed for another one's answer asks again.
func einoAsks(r *ran, name string) func(context.Context) error {
	return func(ctx context.Context) error {
		if mine, has, answer := compose.GetResumeContext[string](ctx); mine && has {
			r.add(name + "=" + answer)
			return nil
		}
		return compose.Interrupt(ctx, name)
	}
}

func einoTwoQuestions(ctx context.Context, r *ran) (einoRun, error) {
	g := einoNew()
	einoNode(g, "a", einoAsks(r, "a"))
	einoNode(g, "b", einoAsks(r, "b"))
	einoRuns(g, r, "join")
	einoEdges(g, compose.START, "a", "join")
	einoEdges(g, compose.START, "b", "join", compose.END)
	return einoStored(ctx, g)
}

// einoQuestion returns the id of the question with which a run was interrupted.
func einoQuestion(err error, asks string) string {
	info, ok := compose.ExtractInterruptInfo(err)
	if !ok {
		return "none"
	}
	for _, c := range info.InterruptContexts {
		if c.Info == asks {
			return c.ID
		}
	}
	return "none"
}

func einoHow(err error) string {
	if _, ok := compose.ExtractInterruptInfo(err); ok {
		return waits
	}
	return failed(err)
}

func einoOnce(ctx context.Context, r *ran, g einoGraph) string {
	run, err := einoCompile(ctx, g)
	if err != nil {
		return failed(err)
	}
	_, err = run.Invoke(ctx, nil)
	return r.and(einoHow(err))
}

// einoLoop runs a graph with a loop, which needs the default mode AnyPredecessor.
func einoLoop(ctx context.Context, do func() error) error {
	g := einoNew()
	einoNode(g, "n", func(context.Context) error { return do() })
	einoEdges(g, compose.START, "n")
	again := func(context.Context, einoMap) (string, error) { return "n", nil }
	if err := g.AddBranch("n", compose.NewGraphBranch(again, map[string]bool{"n": true, compose.END: true})); err != nil {
		return err
	}
	run, err := g.Compile(ctx, compose.WithMaxRunSteps(50))
	if err != nil {
		return err
	}
	_, err = run.Invoke(ctx, nil)
	return err
}

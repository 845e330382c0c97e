package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/smallnest/langgraphgo/graph"
	"github.com/smallnest/langgraphgo/store"
)

type (
	smallMap   = map[string]any
	smallGraph = *graph.CheckpointableStateGraph[smallMap]
	smallRun   = *graph.CheckpointableRunnable[smallMap]
)

var smallnest = Runtime{
	Name:     "langgraphgo",
	Module:   "github.com/smallnest/langgraphgo",
	Version:  "v0.8.5",
	Released: "2026-01-17",
	About: "a CheckpointableStateGraph over a map with a MapSchema, with its store in memory. A thread is a thread_id. A run has one " +
		"ResumeValue, so where two nodes ask it is a map of answers, and a node without one asks again.",
	Programs: map[string]Program{
		"order": func(ctx context.Context) string {
			return orders(func(slowest int) ([]string, error) {
				g := smallNew(graph.NewMemoryCheckpointStore())
				for i, name := range []string{"a", "b", "c"} {
					g.AddNode(name, name, func(context.Context, smallMap) (smallMap, error) {
						pace(i, slowest)
						return smallMap{"log": []string{name}}, nil
					})
				}
				smallSplit(g, "a", "b", "c")
				smallJoin(g, "a", "b", "c")
				smallNode(g, "join", func() error { return nil })
				end, err := smallInvoke(ctx, g, nil)
				list, _ := end["log"].([]string)
				return list, err
			})
		},
		"uneven join": func(ctx context.Context) string {
			var r ran
			g := smallNew(graph.NewMemoryCheckpointStore())
			smallRuns(g, &r, "a", "b1", "b2")
			smallNode(g, "join", func() error { r.after("join"); return nil })
			smallSplit(g, "a", "b1")
			g.AddEdge("b1", "b2")
			smallJoin(g, "a", "b2")
			_, err := smallInvoke(ctx, g, nil)
			return r.and(smallHow(err))
		},
		"early end": func(ctx context.Context) string {
			var r ran
			g := smallNew(graph.NewMemoryCheckpointStore())
			smallRuns(g, &r, "a", "other", "b", "c")
			smallSplit(g, "a", "b")
			g.AddConditionalEdge("a", func(context.Context, smallMap) string { return graph.END })
			g.AddEdge("other", graph.END)
			g.AddEdge("b", "c")
			g.AddEdge("c", graph.END)
			_, err := smallInvoke(ctx, g, nil)
			return r.and(smallHow(err))
		},
		"two answers in one message": func(ctx context.Context) string {
			var r ran
			run, err := smallTwoQuestions(&r).CompileCheckpointable()
			if err != nil {
				return failed(err)
			}
			if _, err = run.InvokeWithConfig(ctx, nil, smallThread(nil)); smallHow(err) != waits {
				return r.and("first " + smallHow(err))
			}
			_, err = run.InvokeWithConfig(ctx, nil, smallThread(smallMap{"a": "A", "b": "B"}))
			return r.and(smallHow(err))
		},
		"one answer after the other": func(ctx context.Context) string {
			var r ran
			run, err := smallTwoQuestions(&r).CompileCheckpointable()
			if err != nil {
				return failed(err)
			}
			if _, err = run.InvokeWithConfig(ctx, nil, smallThread(nil)); smallHow(err) != waits {
				return r.and("first " + smallHow(err))
			}
			_, err = run.InvokeWithConfig(ctx, nil, smallThread(smallMap{"a": "A"}))
			first := "first " + r.and(smallHow(err))
			_, err = run.InvokeWithConfig(ctx, nil, smallThread(smallMap{"b": "B"}))
			return first + "; then " + r.and(smallHow(err))
		},
		"question beside a finished node": func(ctx context.Context) string {
			var r ran
			g := smallNew(graph.NewMemoryCheckpointStore())
			g.AddNode("a", "a", func(context.Context, smallMap) (smallMap, error) {
				r.add("a")
				return smallMap{"log": []string{"a"}}, nil
			})
			g.AddNode("b", "b", smallAsks(&r, "b"))
			g.AddNode("join", "join", func(_ context.Context, s smallMap) (smallMap, error) {
				log, _ := s["log"].([]string)
				r.add("join of " + strings.Join(slices.Sorted(slices.Values(log)), " "))
				return nil, nil
			})
			smallSplit(g, "a", "b")
			smallJoin(g, "a", "b")
			run, err := g.CompileCheckpointable()
			if err != nil {
				return failed(err)
			}
			if _, err = run.InvokeWithConfig(ctx, nil, smallThread(nil)); smallHow(err) != waits {
				return r.and("first " + smallHow(err))
			}
			_, err = run.InvokeWithConfig(ctx, nil, smallThread(smallMap{"b": "yes"}))
			return r.and(smallHow(err))
		},
		"repeated answer": func(ctx context.Context) string {
			var r ran
			g := smallNew(graph.NewMemoryCheckpointStore())
			g.AddNode("a", "a", smallAsks(&r, "a"))
			smallRuns(g, &r, "after")
			g.SetEntryPoint("a")
			g.AddEdge("a", "after")
			g.AddEdge("after", graph.END)
			run, err := g.CompileCheckpointable()
			if err != nil {
				return failed(err)
			}
			if _, err = run.InvokeWithConfig(ctx, nil, smallThread(nil)); smallHow(err) != waits {
				return r.and("first " + smallHow(err))
			}
			_, err = run.InvokeWithConfig(ctx, nil, smallThread(smallMap{"a": "yes"}))
			how := smallHow(err)
			_, _ = run.InvokeWithConfig(ctx, nil, smallThread(smallMap{"a": "yes"}))
			_, err = run.InvokeWithConfig(ctx, nil, smallThread(smallMap{"a": "no"}))
			return r.and(how + "; " + refused(err))
		},
		"failing sibling": func(ctx context.Context) string {
			var r ran
			done := make(gate)
			g := smallNew(graph.NewMemoryCheckpointStore())
			smallNode(g, "a", func() error { r.add("a"); done.open(); return nil })
			smallNode(g, "b", func() error { return failsFirst(&r, done) })
			smallRuns(g, &r, "join")
			smallSplit(g, "a", "b")
			smallJoin(g, "a", "b")
			run, err := g.CompileCheckpointable()
			if err != nil {
				return failed(err)
			}
			if _, err = run.InvokeWithConfig(ctx, nil, smallThread(nil)); !errors.Is(err, errBoom) {
				return r.and("first " + smallHow(err))
			}
			_, err = run.InvokeWithConfig(ctx, nil, smallThread(nil))
			return r.and(smallHow(err))
		},
		"restart in a fan-out": func(ctx context.Context) string {
			var r ran
			running, cancel := context.WithCancel(ctx)
			defer cancel()
			cut := cutter{r: &r, cancel: cancel}
			saved := graph.NewMemoryCheckpointStore()
			compile := func() (smallRun, error) {
				g := smallNew(saved)
				for _, name := range []string{"a", "b", "c"} {
					g.AddNode(name, name, func(ctx context.Context, _ smallMap) (smallMap, error) { return nil, cut.run(ctx, name) })
				}
				smallRuns(g, &r, "join")
				smallSplit(g, "a", "b", "c")
				smallJoin(g, "a", "b", "c")
				return g.CompileCheckpointable()
			}
			run, err := compile()
			if err != nil {
				return failed(err)
			}
			if _, err = run.InvokeWithConfig(running, nil, smallThread(nil)); !errors.Is(err, context.Canceled) {
				return r.and("first " + smallHow(err))
			}
			if run, err = compile(); err != nil {
				return failed(err)
			}
			_, err = run.InvokeWithConfig(ctx, nil, smallThread(nil))
			return r.and(smallHow(err))
		},
		"endless loop": func(ctx context.Context) string {
			var r ran
			_, err := smallLoop(ctx, func() error { return spin(&r) })
			return looped(&r, err, func(err error) bool { return strings.Contains(err.Error(), "max steps") })
		},
		"cancelled loop": func(ctx context.Context) string {
			var r ran
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			_, err := smallLoop(ctx, func() error { return spinAndCancel(&r, cancel) })
			return cancelled(&r, err)
		},
		"concurrent runs": func(ctx context.Context) string {
			g := graph.NewStateGraph[smallMap]()
			g.SetSchema(smallSchema())
			for i, name := range []string{"a", "b", "c"} {
				g.AddNode(name, name, func(_ context.Context, s smallMap) (smallMap, error) {
					input, _ := s["input"].(int)
					return smallMap{"sum": input * (i + 1)}, nil
				})
				g.AddEdge("entry", name)
				g.AddEdge(name, graph.END)
			}
			g.AddNode("entry", "entry", func(context.Context, smallMap) (smallMap, error) { return nil, nil })
			g.SetEntryPoint("entry")
			run, err := g.Compile()
			if err != nil {
				return failed(err)
			}
			return crowd(func(input int) (bool, error) {
				end, err := run.Invoke(ctx, smallMap{"input": input})
				return end["sum"] == 6*input, err
			})
		},
		"panic": func(ctx context.Context) string {
			g := smallNew(graph.NewMemoryCheckpointStore())
			smallNode(g, "safe", func() error { return nil })
			smallNode(g, "risky", func() error { panic("boom") })
			smallNode(g, "join", func() error { return nil })
			smallSplit(g, "safe", "risky")
			smallJoin(g, "safe", "risky")
			_, err := smallInvoke(ctx, g, nil)
			return named(err, "risky")
		},
		"timeout of a node": func(ctx context.Context) string {
			g := graph.NewStateGraph[smallMap]()
			g.AddNode("entry", "entry", func(context.Context, smallMap) (smallMap, error) { return nil, nil })
			g.AddNode("quick", "quick", func(context.Context, smallMap) (smallMap, error) { return nil, nil })
			var ended sync.WaitGroup
			ended.Add(1)
			g.AddNodeWithTimeout("slow", "slow", func(ctx context.Context, _ smallMap) (smallMap, error) {
				defer ended.Done()
				return nil, slow(ctx)
			}, nodeTimeout)
			for _, name := range []string{"quick", "slow"} {
				g.AddEdge("entry", name)
				g.AddEdge(name, graph.END)
			}
			g.SetEntryPoint("entry")
			run, err := g.Compile()
			if err != nil {
				return failed(err)
			}
			_, err = run.Invoke(ctx, smallMap{})
			ended.Wait()
			return named(err, "slow")
		},
		"state that cannot be stored": func(ctx context.Context) string {
			saved := graph.NewMemoryCheckpointStore()
			g := smallNew(saved)
			g.AddNode("a", "a", func(context.Context, smallMap) (smallMap, error) { return smallMap{"do": func() {}}, nil })
			g.SetEntryPoint("a")
			g.AddEdge("a", graph.END)
			run, err := g.CompileCheckpointable()
			if err != nil {
				return "refused before it runs"
			}
			if _, err = run.InvokeWithConfig(ctx, nil, smallThread(nil)); err != nil {
				return "error when it is stored"
			}
			stored, err := smallNewest(ctx, run)
			if err != nil {
				return failed(err)
			}
			return fmt.Sprintf("accepted; the checkpoint has a value of type %T", stored["do"])
		},
		"newest checkpoint": func(ctx context.Context) string {
			g := smallNew(graph.NewMemoryCheckpointStore())
			for i := range 10 {
				name := fmt.Sprintf("n%d", i)
				g.AddNode(name, name, func(context.Context, smallMap) (smallMap, error) { return smallMap{"sum": 1}, nil })
				if i > 0 {
					g.AddEdge(fmt.Sprintf("n%d", i-1), name)
				}
			}
			g.SetEntryPoint("n0")
			g.AddEdge("n9", graph.END)
			run, err := g.CompileCheckpointable()
			if err != nil {
				return failed(err)
			}
			if _, err = run.InvokeWithConfig(ctx, nil, smallThread(nil)); err != nil {
				return smallHow(err)
			}
			stored, err := smallNewest(ctx, run)
			if err != nil {
				return failed(err)
			}
			steps, _ := stored["sum"].(int)
			return newest(steps)
		},
	},
	Notes: map[string]string{
		"endless loop": "There is no limit of steps to set.",
	},
	Cannot: map[string]string{
		"question in a fan-out":            "a Command goes to nodes, without a payload, and to each once",
		"handler beside a failing sibling": "nodes have no handlers of errors",
		"going back in a subgraph":         "a subgraph has no checkpoints",
		"order of options":                 "options are the fields of one struct, which have no order",
	},
}

func smallSchema() *graph.MapSchema {
	schema := graph.NewMapSchema()
	schema.RegisterReducer("log", graph.AppendReducer)
	schema.RegisterReducer("sum", func(sum, term any) (any, error) {
		s, _ := sum.(int)
		t, _ := term.(int)
		return s + t, nil
	})
	return schema
}

func smallNew(saved store.CheckpointStore) smallGraph {
	config := graph.DefaultCheckpointConfig()
	config.Store, config.MaxCheckpoints = saved, 0
	g := graph.NewCheckpointableStateGraphWithConfig[smallMap](config)
	g.SetSchema(smallSchema())
	return g
}

func smallNode(g smallGraph, name string, do func() error) {
	g.AddNode(name, name, func(context.Context, smallMap) (smallMap, error) { return nil, do() })
}

func smallRuns(g smallGraph, r *ran, names ...string) {
	for _, name := range names {
		smallNode(g, name, func() error { r.add(name); return nil })
	}
}

// smallAsks asks for the answer under its name.
func smallAsks(r *ran, name string) func(context.Context, smallMap) (smallMap, error) {
	return func(ctx context.Context, _ smallMap) (smallMap, error) {
		value, err := graph.Interrupt(ctx, name)
		if err != nil {
			return nil, err
		}
		answers, _ := value.(smallMap)
		answer, ok := answers[name]
		if !ok {
			return nil, &graph.NodeInterrupt{Node: name, Value: name}
		}
		r.add(fmt.Sprint(name, "=", answer))
		return smallMap{"log": []string{name}}, nil
	}
}

// smallSplit adds an entry that leads to parallel nodes: a graph has one entry.
func smallSplit(g smallGraph, to ...string) {
	smallNode(g, "entry", func() error { return nil })
	g.SetEntryPoint("entry")
	for _, name := range to {
		g.AddEdge("entry", name)
	}
}

// smallJoin leads nodes to join, and that to the end.
func smallJoin(g smallGraph, from ...string) {
	for _, name := range from {
		g.AddEdge(name, "join")
	}
	g.AddEdge("join", graph.END)
}

func smallTwoQuestions(r *ran) smallGraph {
	g := smallNew(graph.NewMemoryCheckpointStore())
	g.AddNode("a", "a", smallAsks(r, "a"))
	g.AddNode("b", "b", smallAsks(r, "b"))
	smallRuns(g, r, "join")
	smallSplit(g, "a", "b")
	smallJoin(g, "a", "b")
	return g
}

func smallThread(answers smallMap) *graph.Config {
	c := &graph.Config{Configurable: smallMap{"thread_id": "t"}}
	if answers != nil {
		c.ResumeValue = answers
	}
	return c
}

func smallInvoke(ctx context.Context, g smallGraph, input smallMap) (smallMap, error) {
	run, err := g.CompileCheckpointable()
	if err != nil {
		return nil, err
	}
	return run.Invoke(ctx, input)
}

func smallNewest(ctx context.Context, run smallRun) (smallMap, error) {
	snapshot, err := run.GetState(ctx, smallThread(nil))
	if err != nil {
		return nil, err
	}
	values, ok := snapshot.Values.(smallMap)
	if !ok {
		return nil, fmt.Errorf("the state is of type %T", snapshot.Values)
	}
	return values, nil
}

func smallHow(err error) string {
	if interrupt := new(graph.GraphInterrupt); errors.As(err, &interrupt) {
		return waits
	}
	return failed(err)
}

func smallLoop(ctx context.Context, do func() error) (smallMap, error) {
	g := smallNew(graph.NewMemoryCheckpointStore())
	smallNode(g, "n", do)
	g.SetEntryPoint("n")
	g.AddConditionalEdge("n", func(context.Context, smallMap) string { return "n" })
	return smallInvoke(ctx, g, nil)
}

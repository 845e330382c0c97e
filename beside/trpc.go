package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"trpc.group/trpc-go/trpc-agent-go/agent"
	"trpc.group/trpc-go/trpc-agent-go/graph"
	"trpc.group/trpc-go/trpc-agent-go/graph/checkpoint/inmemory"
)

var trpc = Runtime{
	Name:     "trpc-agent-go",
	Module:   "trpc.group/trpc-go/trpc-agent-go",
	Version:  "v1.11.2",
	Released: "2026-08-20",
	About: "the default engine (BSP) by its Executor, with the saver inmemory. A thread is a lineage, which goes on from its newest checkpoint. " +
		"Joins are AddJoinEdge, and answers are a resume map.",
	Programs: map[string]Program{
		"order": func(ctx context.Context) string {
			return orders(func(slowest int) ([]string, error) {
				sg := trpcNew()
				for i, name := range []string{"a", "b", "c"} {
					sg.AddNode(name, func(context.Context, graph.State) (any, error) {
						pace(i, slowest)
						return graph.State{"log": []string{name}}, nil
					})
				}
				trpcSplit(sg, "a", "b", "c")
				sg.AddNode("join", trpcNothing).AddJoinEdge([]string{"a", "b", "c"}, "join").SetFinishPoint("join")
				end, err := trpcOf(sg).run(ctx, graph.State{})
				var list []string
				if err == nil {
					err = json.Unmarshal(end["log"], &list)
				}
				return list, err
			})
		},
		"uneven join": func(ctx context.Context) string {
			var r ran
			sg := trpcNew()
			trpcRuns(sg, &r, "a", "b1", "b2")
			sg.AddNode("join", trpcDoes(func() error { r.after("join"); return nil }))
			trpcSplit(sg, "a", "b1")
			sg.AddEdge("b1", "b2").AddJoinEdge([]string{"a", "b2"}, "join").SetFinishPoint("join")
			return trpcOnce(ctx, &r, sg)
		},
		"early end": func(ctx context.Context) string {
			var r ran
			sg := trpcNew()
			trpcRuns(sg, &r, "a", "other", "b", "c")
			trpcSplit(sg, "a", "b")
			sg.AddConditionalEdges("a", func(context.Context, graph.State) (string, error) { return graph.End, nil },
				map[string]string{graph.End: graph.End, "other": "other"})
			sg.AddEdge("b", "c").SetFinishPoint("c").SetFinishPoint("other")
			return trpcOnce(ctx, &r, sg)
		},
		"two answers in one message": func(ctx context.Context) string {
			var r ran
			x := trpcTwoQuestions(&r)
			if _, err := x.run(ctx, trpcThread()); !errors.Is(err, errWaits) {
				return r.and("first " + trpcHow(err))
			}
			err := x.answer(ctx, map[string]any{"a": "A", "b": "B"})
			return r.and(trpcHow(err))
		},
		"one answer after the other": func(ctx context.Context) string {
			var r ran
			x := trpcTwoQuestions(&r)
			if _, err := x.run(ctx, trpcThread()); !errors.Is(err, errWaits) {
				return r.and("first " + trpcHow(err))
			}
			err := x.answer(ctx, map[string]any{"a": "A"})
			first := "first " + r.and(trpcHow(err))
			err = x.answer(ctx, map[string]any{"b": "B"})
			return first + "; then " + r.and(trpcHow(err))
		},
		"question beside a finished node": func(ctx context.Context) string {
			var r ran
			sg := trpcNew()
			sg.AddNode("a", func(context.Context, graph.State) (any, error) {
				r.add("a")
				return graph.State{"log": []string{"a"}}, nil
			})
			sg.AddNode("b", trpcAsks(&r, "b"))
			sg.AddNode("join", func(_ context.Context, s graph.State) (any, error) {
				log, _ := graph.GetStateValue[[]string](s, "log")
				r.add("join of " + strings.Join(slices.Sorted(slices.Values(log)), " "))
				return nil, nil
			})
			trpcSplit(sg, "a", "b")
			sg.AddJoinEdge([]string{"a", "b"}, "join").SetFinishPoint("join")
			return trpcAnswered(ctx, &r, sg, "b")
		},
		"question in a fan-out": func(ctx context.Context) string {
			var r ran
			sg := trpcNew()
			sg.AddNode("split", func(context.Context, graph.State) (any, error) {
				var items []*graph.Command
				for i := range 3 {
					items = append(items, &graph.Command{GoTo: "item", Update: graph.State{"item": i + 1}})
				}
				return items, nil
			})
			sg.AddNode("item", func(ctx context.Context, s graph.State) (any, error) {
				item, _ := graph.GetStateValue[int](s, "item")
				event := fmt.Sprintf("item %d", item)
				if item == 2 {
					answer, err := graph.Interrupt(ctx, s, "item 2", "item 2")
					if err != nil {
						return nil, err
					}
					event += fmt.Sprint("=", answer)
				}
				r.add(event)
				return nil, nil
			})
			trpcRuns(sg, &r, "join")
			sg.SetEntryPoint("split").AddEdge("item", "join").SetFinishPoint("join")
			return trpcAnswered(ctx, &r, sg, "item 2")
		},
		"repeated answer": func(ctx context.Context) string {
			var r ran
			sg := trpcNew()
			sg.AddNode("a", trpcAsks(&r, "a"))
			trpcRuns(sg, &r, "after")
			sg.SetEntryPoint("a").AddEdge("a", "after").SetFinishPoint("after")
			x := trpcOf(sg)
			if _, err := x.run(ctx, trpcThread()); !errors.Is(err, errWaits) {
				return r.and("first " + trpcHow(err))
			}
			err := x.answer(ctx, map[string]any{"a": "yes"})
			how := trpcHow(err)
			_ = x.answer(ctx, map[string]any{"a": "yes"})
			err = x.answer(ctx, map[string]any{"a": "no"})
			return r.and(how + "; " + refused(err))
		},
		"failing sibling": func(ctx context.Context) string {
			var r ran
			done := make(gate)
			sg := trpcNew()
			sg.AddNode("a", trpcDoes(func() error { r.add("a"); done.open(); return nil }))
			return trpcTwice(ctx, &r, done, sg)
		},
		"restart in a fan-out": func(ctx context.Context) string {
			var r ran
			running, interrupt := graph.WithGraphInterrupt(ctx)
			cut := cutter{r: &r, cancel: func() { interrupt(graph.WithGraphInterruptTimeout(0)) }}
			saver := inmemory.NewSaver()
			compile := func() trpcGraph {
				sg := trpcNew()
				for _, name := range []string{"a", "b", "c"} {
					sg.AddNode(name, func(ctx context.Context, _ graph.State) (any, error) { return nil, cut.run(ctx, name) })
				}
				trpcRuns(sg, &r, "join")
				trpcSplit(sg, "a", "b", "c")
				sg.AddJoinEdge([]string{"a", "b", "c"}, "join").SetFinishPoint("join")
				x := trpcOf(sg)
				x.saver = saver
				return x
			}
			if _, err := compile().run(running, trpcThread()); !errors.Is(err, errWaits) {
				return r.and("first " + trpcHow(err))
			}
			err := compile().again(ctx)
			return r.and(trpcHow(err))
		},
		"handler beside a failing sibling": func(ctx context.Context) string {
			var r ran
			done := make(gate)
			sg := trpcNew()
			sg.AddNode("a", trpcDoes(func() error { r.add("a fails"); return errBoom }),
				graph.WithPostNodeCallback(func(_ context.Context, _ *graph.NodeCallbackContext, _ graph.State, _ any, err error) (any, error) {
					if err == nil {
						return nil, nil
					}
					r.add("handler")
					done.open()
					return graph.State{}, nil
				}))
			return trpcTwice(ctx, &r, done, sg)
		},
		"endless loop": func(ctx context.Context) string {
			var r ran
			err := trpcLoop(ctx, func() error { return spin(&r) })
			return looped(&r, err, func(err error) bool { return strings.Contains(err.Error(), "max steps") })
		},
		"cancelled loop": func(ctx context.Context) string {
			var r ran
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			return cancelled(&r, trpcLoop(ctx, func() error { return spinAndCancel(&r, cancel) }, graph.WithMaxSteps(2*enough)))
		},
		"concurrent runs": func(ctx context.Context) string {
			sg := trpcNew()
			for i, name := range []string{"a", "b", "c"} {
				sg.AddNode(name, func(_ context.Context, s graph.State) (any, error) {
					input, _ := graph.GetStateValue[int](s, "input")
					return graph.State{"sum": input * (i + 1)}, nil
				})
			}
			trpcSplit(sg, "a", "b", "c")
			sg.AddNode("join", trpcNothing).AddJoinEdge([]string{"a", "b", "c"}, "join").SetFinishPoint("join")
			g, err := sg.Compile()
			if err != nil {
				return failed(err)
			}
			exec, err := graph.NewExecutor(g)
			if err != nil {
				return failed(err)
			}
			return crowd(func(input int) (bool, error) {
				end, err := trpcExecute(ctx, exec, graph.State{"input": input})
				return string(end["sum"]) == fmt.Sprint(6*input), err
			})
		},
		"panic": func(ctx context.Context) string {
			sg := trpcNew()
			sg.AddNode("safe", trpcNothing)
			sg.AddNode("risky", trpcDoes(func() error { panic("boom") }))
			trpcSplit(sg, "safe", "risky")
			sg.SetFinishPoint("safe").SetFinishPoint("risky")
			_, err := trpcOf(sg).run(ctx, graph.State{})
			return named(err, "risky")
		},
		"timeout of a node": func(ctx context.Context) string {
			sg := trpcNew()
			sg.AddNode("quick", trpcNothing)
			sg.AddNode("slow", func(ctx context.Context, _ graph.State) (any, error) { return nil, slow(ctx) })
			trpcSplit(sg, "quick", "slow")
			sg.SetFinishPoint("quick").SetFinishPoint("slow")
			_, err := trpcOf(sg, graph.WithNodeTimeout(nodeTimeout)).run(ctx, graph.State{})
			return named(err, "slow")
		},
		"state that cannot be stored": func(ctx context.Context) string {
			schema := graph.NewStateSchema()
			schema.AddField("do", graph.StateField{Type: reflect.TypeFor[func()]()})
			sg := graph.NewStateGraph(schema).AddNode("a", func(context.Context, graph.State) (any, error) {
				return graph.State{"do": func() {}}, nil
			}).SetEntryPoint("a").SetFinishPoint("a")
			x := trpcOf(sg)
			if x.err != nil {
				return "refused before it runs"
			}
			if _, err := x.run(ctx, trpcThread()); err != nil {
				return "error when it is stored"
			}
			stored, err := x.newest(ctx, "do")
			if err != nil {
				return failed(err)
			}
			return fmt.Sprintf("accepted; the checkpoint has a value of type %T", stored)
		},
		"newest checkpoint": func(ctx context.Context) string {
			sg := trpcNew()
			for i := range 10 {
				name := fmt.Sprintf("n%d", i)
				sg.AddNode(name, func(context.Context, graph.State) (any, error) { return graph.State{"sum": 1}, nil })
				if i > 0 {
					sg.AddEdge(fmt.Sprintf("n%d", i-1), name)
				}
			}
			sg.SetEntryPoint("n0").SetFinishPoint("n9")
			x := trpcOf(sg)
			if _, err := x.run(ctx, trpcThread()); err != nil {
				return trpcHow(err)
			}
			stored, err := x.newest(ctx, "sum")
			if err != nil {
				return failed(err)
			}
			var steps int
			_, _ = fmt.Sscan(fmt.Sprint(stored), &steps)
			return newest(steps)
		},
	},
	Notes: map[string]string{
		"repeated answer": "An answer names its checkpoint, which is also how a thread goes back.",
	},
	Cannot: map[string]string{
		"going back in a subgraph": "a subgraph has checkpoints of its own, but a run of the parent does not go on from one, unless the parent itself hands its id down",
		"order of options":         "what a run needs is in the keys of one map, which have no order",
	},
}

// trpcError is the text of an error event. An error does not pass an event.
type trpcError string

func (e trpcError) Error() string { return string(e) }

func (e trpcError) Is(target error) bool {
	return (target == context.Canceled || target == context.DeadlineExceeded) && strings.Contains(string(e), target.Error())
}

func trpcHow(err error) string {
	if errors.Is(err, errWaits) {
		return waits
	}
	return failed(err)
}

func trpcNew() *graph.StateGraph {
	schema := graph.NewStateSchema()
	schema.AddField("log", graph.StateField{Type: reflect.TypeFor[[]string](), Reducer: graph.StringSliceReducer})
	schema.AddField("item", graph.StateField{Type: reflect.TypeFor[int]()})
	schema.AddField("input", graph.StateField{Type: reflect.TypeFor[int]()})
	schema.AddField("sum", graph.StateField{Type: reflect.TypeFor[int](), Reducer: func(sum, term any) any {
		s, _ := sum.(int)
		t, _ := term.(int)
		return s + t
	}})
	return graph.NewStateGraph(schema)
}

func trpcDoes(do func() error) graph.NodeFunc {
	return func(context.Context, graph.State) (any, error) { return nil, do() }
}

func trpcNothing(context.Context, graph.State) (any, error) { return nil, nil }

func trpcRuns(sg *graph.StateGraph, r *ran, names ...string) {
	for _, name := range names {
		sg.AddNode(name, trpcDoes(func() error { r.add(name); return nil }))
	}
}

func trpcAsks(r *ran, name string) graph.NodeFunc {
	return func(ctx context.Context, s graph.State) (any, error) {
		answer, err := graph.Interrupt(ctx, s, name, name)
		if err != nil {
			return nil, err
		}
		r.add(fmt.Sprint(name, "=", answer))
		return graph.State{"log": []string{name}}, nil
	}
}

// trpcSplit adds an entry that leads to parallel nodes: a graph has one entry.
func trpcSplit(sg *graph.StateGraph, to ...string) {
	sg.AddNode("entry", trpcNothing).SetEntryPoint("entry")
	for _, name := range to {
		sg.AddEdge("entry", name)
	}
}

// trpcGraph is a graph with its saver and the options of its executor.
type trpcGraph struct {
	graph *graph.Graph
	saver graph.CheckpointSaver
	opts  []graph.ExecutorOption
	err   error
}

func trpcOf(sg *graph.StateGraph, opts ...graph.ExecutorOption) trpcGraph {
	g, err := sg.Compile()
	return trpcGraph{g, inmemory.NewSaver(), opts, err}
}

// run runs the graph, and returns the state with which it ended.
func (x trpcGraph) run(ctx context.Context, state graph.State) (map[string][]byte, error) {
	if x.err != nil {
		return nil, x.err
	}
	opts := x.opts
	if state[graph.CfgKeyLineageID] != nil {
		opts = append(slices.Clone(opts), graph.WithCheckpointSaver(x.saver))
	}
	exec, err := graph.NewExecutor(x.graph, opts...)
	if err != nil {
		return nil, err
	}
	return trpcExecute(ctx, exec, state)
}

func trpcExecute(ctx context.Context, exec *graph.Executor, state graph.State) (map[string][]byte, error) {
	events, err := exec.Execute(ctx, state, agent.NewInvocation(agent.WithInvocationID("run")))
	if err != nil {
		return nil, err
	}
	var end map[string][]byte
	var failure error
	for e := range events {
		if e.Response != nil && e.Response.Error != nil && e.Object != graph.ObjectTypeGraphNodeError {
			failure = trpcError(e.Response.Error.Message)
		}
		if e.Done && e.Object == graph.ObjectTypeGraphExecution {
			end = e.StateDelta
		}
	}
	switch {
	case failure != nil:
		return nil, failure
	case end == nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case end == nil: // an interrupt only ends the events
		return nil, errWaits
	}
	return end, nil
}

// newest returns a value in the newest checkpoint.
func (x trpcGraph) newest(ctx context.Context, key string) (any, error) {
	tuple, err := graph.NewCheckpointManager(x.saver).Latest(ctx, "t", "")
	if err != nil || tuple == nil {
		return nil, errors.Join(err, errors.New("no checkpoint"))
	}
	return tuple.Checkpoint.ChannelValues[key], nil
}

func trpcThread() graph.State { return graph.State{graph.CfgKeyLineageID: "t"} }

// answer goes on with the newest checkpoint of an interrupted run.
func (x trpcGraph) answer(ctx context.Context, answers map[string]any) error {
	list, err := graph.NewCheckpointManager(x.saver).ListCheckpoints(ctx, graph.NewCheckpointConfig("t").ToMap(), nil)
	if err != nil {
		return err
	}
	for _, tuple := range list {
		if tuple.Checkpoint.InterruptState != nil {
			s := graph.CheckpointRef{LineageID: "t", CheckpointID: tuple.Checkpoint.ID}.ToRuntimeState()
			s[graph.StateKeyCommand] = graph.NewResumeCommand().WithResumeMap(answers)
			_, err = x.run(ctx, s)
			return err
		}
	}
	return errors.New("no run was interrupted")
}

// again goes on with the newest checkpoint.
func (x trpcGraph) again(ctx context.Context) error {
	_, err := x.run(ctx, graph.CheckpointRef{LineageID: "t"}.ToRuntimeState())
	return err
}

func trpcOnce(ctx context.Context, r *ran, sg *graph.StateGraph) string {
	_, err := trpcOf(sg).run(ctx, graph.State{})
	return r.and(trpcHow(err))
}

func trpcAnswered(ctx context.Context, r *ran, sg *graph.StateGraph, question string) string {
	x := trpcOf(sg)
	if _, err := x.run(ctx, trpcThread()); !errors.Is(err, errWaits) {
		return r.and("first " + trpcHow(err))
	}
	err := x.answer(ctx, map[string]any{question: "yes"})
	return r.and(trpcHow(err))
}

func trpcTwoQuestions(r *ran) trpcGraph {
	sg := trpcNew()
	sg.AddNode("a", trpcAsks(r, "a"))
	sg.AddNode("b", trpcAsks(r, "b"))
	trpcRuns(sg, r, "join")
	trpcSplit(sg, "a", "b")
	sg.AddJoinEdge([]string{"a", "b"}, "join").SetFinishPoint("join")
	return trpcOf(sg)
}

// trpcTwice adds a node b to a graph with a node a, lets it fail after done was opened, and tries
// the thread again.
func trpcTwice(ctx context.Context, r *ran, done gate, sg *graph.StateGraph) string {
	sg.AddNode("b", trpcDoes(func() error { return failsFirst(r, done) }))
	trpcRuns(sg, r, "join")
	trpcSplit(sg, "a", "b")
	sg.AddJoinEdge([]string{"a", "b"}, "join").SetFinishPoint("join")
	x := trpcOf(sg)
	if _, err := x.run(ctx, trpcThread()); err == nil || errors.Is(err, errWaits) {
		return r.and("first " + trpcHow(err))
	}
	err := x.again(ctx)
	return r.and(trpcHow(err))
}

func trpcLoop(ctx context.Context, do func() error, opts ...graph.ExecutorOption) error {
	sg := trpcNew()
	sg.AddNode("n", trpcDoes(do)).SetEntryPoint("n")
	sg.AddConditionalEdges("n", func(context.Context, graph.State) (string, error) { return "n", nil },
		map[string]string{"n": "n", graph.End: graph.End})
	_, err := trpcOf(sg, append([]graph.ExecutorOption{graph.WithMaxSteps(50)}, opts...)...).run(ctx, graph.State{})
	return err
}

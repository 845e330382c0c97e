package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"
	"google.golang.org/genai"
)

var adk = Runtime{
	Name:     "ADK Go",
	Module:   "google.golang.org/adk/v2",
	Version:  "v2.2.0",
	Released: "2026-08-10",
	About: "a workflow agent by a Runner, with the session service in memory. A thread is a session. Joins are JoinNodes. An answer is a " +
		"FunctionResponse, with which the node that asks is run again (RerunOnResume), except where it is noted.",
	Programs: map[string]Program{
		"order": func(ctx context.Context) string {
			return orders(func(slowest int) ([]string, error) {
				names := []string{"a", "b", "c"}
				each := workflow.NewFunctionNode("each", func(_ agent.Context, name string) (string, error) {
					pace(slices.Index(names, name), slowest)
					return name, nil
				}, workflow.NodeConfig{})
				work, err := workflow.NewParallelWorker("work", each, 0, workflow.NodeConfig{})
				if err != nil {
					return nil, err
				}
				var list []string
				split := workflow.NewFunctionNode("split", func(agent.Context, any) ([]string, error) { return names, nil }, workflow.NodeConfig{})
				end := workflow.NewFunctionNode("end", func(_ agent.Context, in []string) (any, error) { list = in; return nil, nil }, workflow.NodeConfig{})
				err = adkOf(workflow.Chain(workflow.Start, split, work, end)).run(ctx, "t", "go")
				return list, err
			})
		},
		"uneven join": func(ctx context.Context) string {
			var r ran
			a, b1, b2 := adkRuns(&r, "a"), adkRuns(&r, "b1"), adkRuns(&r, "b2")
			after := adkDoes("after", func() error { r.after("join"); return nil })
			join := workflow.NewJoinNode("join")
			return adkOnce(ctx, &r, workflow.Concat(workflow.Chain(workflow.Start, a, join, after), workflow.Chain(workflow.Start, b1, b2, join)))
		},
		"early end": func(ctx context.Context) string {
			var r ran
			a := workflow.NewEmittingFunctionNode("a", func(ctx agent.Context, _ any, emit func(*session.Event) error) (any, error) {
				r.add("a")
				e := session.NewEvent(ctx, ctx.InvocationID())
				e.Routes = []string{"end"}
				return nil, emit(e)
			}, workflow.NodeConfig{})
			edges := workflow.Concat(workflow.Chain(workflow.Start, a), workflow.Chain(workflow.Start, adkRuns(&r, "b"), adkRuns(&r, "c")))
			edges = append(edges, workflow.Edge{From: a, To: adkRuns(&r, "other"), Route: workflow.StringRoute("other")})
			return adkOnce(ctx, &r, edges)
		},
		"two answers in one message": func(ctx context.Context) string {
			var r ran
			g := adkOf(adkTwoQuestions(&r))
			if err := g.run(ctx, "t", "go"); !errors.Is(err, errWaits) {
				return r.and("first " + adkHow(err))
			}
			err := g.answer(ctx, map[string]any{"a": "A", "b": "B"})
			return r.and(adkHow(err))
		},
		"one answer after the other": func(ctx context.Context) string {
			var r ran
			g := adkOf(adkTwoQuestions(&r))
			if err := g.run(ctx, "t", "go"); !errors.Is(err, errWaits) {
				return r.and("first " + adkHow(err))
			}
			err := g.answer(ctx, map[string]any{"a": "A"})
			if err == nil && r.of("join") == 0 {
				err = errWaits // the question of b is not repeated
			}
			first := "first " + r.and(adkHow(err))
			err = g.answer(ctx, map[string]any{"b": "B"})
			return first + "; then " + r.and(adkHow(err))
		},
		"question beside a finished node": func(ctx context.Context) string {
			var r ran
			join := workflow.NewJoinNode("join")
			after := workflow.NewFunctionNode("after", func(_ agent.Context, in map[string]any) (any, error) {
				r.add("join of " + strings.Join(slices.Sorted(maps.Keys(in)), " "))
				return nil, nil
			}, workflow.NodeConfig{})
			g := adkOf(workflow.Concat(workflow.Chain(workflow.Start, adkRuns(&r, "a"), join, after), workflow.Chain(workflow.Start, adkAsks(&r, "b"), join)))
			if err := g.run(ctx, "t", "go"); !errors.Is(err, errWaits) {
				return r.and("first " + adkHow(err))
			}
			err := g.answer(ctx, map[string]any{"b": "yes"})
			return r.and(adkHow(err))
		},
		"question in a fan-out": func(ctx context.Context) string {
			var r ran
			rerun := true
			item := workflow.NewEmittingFunctionNode("item", func(ctx agent.Context, item int, emit func(*session.Event) error) (string, error) {
				event := fmt.Sprintf("item %d", item)
				if item == 2 {
					answer, err := workflow.ResumeOrRequestInput(ctx, emit, session.RequestInput{InterruptID: "item 2", Message: event})
					if err != nil {
						return "", err
					}
					event += fmt.Sprint("=", answer)
				}
				r.add(event)
				return event, nil
			}, workflow.NodeConfig{RerunOnResume: &rerun})
			split := workflow.NewDynamicNode("split", func(ctx agent.Context, _ any, _ func(*session.Event) error) (string, error) {
				errs := make([]error, 3)
				var wg sync.WaitGroup
				for i := range errs {
					wg.Go(func() {
						_, errs[i] = workflow.RunNode[string](ctx, item, i+1, workflow.WithRunID(fmt.Sprint("item-", i+1)))
					})
				}
				wg.Wait()
				for _, err := range errs {
					if err != nil {
						return "", err
					}
				}
				return "done", nil
			}, workflow.NodeConfig{RerunOnResume: &rerun})
			g := adkOf(workflow.Chain(workflow.Start, split, adkRuns(&r, "join")))
			if err := g.run(ctx, "t", "go"); !errors.Is(err, errWaits) {
				return r.and("first " + adkHow(err))
			}
			err := g.answer(ctx, map[string]any{"item 2": "yes"})
			return r.and(adkHow(err))
		},
		"repeated answer": func(ctx context.Context) string {
			var r ran
			ask, got := adkHands(&r, "a")
			g := adkOf(workflow.Chain(workflow.Start, ask, got, adkRuns(&r, "after")))
			if err := g.run(ctx, "t", "go"); !errors.Is(err, errWaits) {
				return r.and("first " + adkHow(err))
			}
			how := adkHow(g.answer(ctx, map[string]any{"a": "yes"}))
			_ = g.answer(ctx, map[string]any{"a": "yes"})
			err := g.answer(ctx, map[string]any{"a": "no"})
			return r.and(how + "; " + refused(err))
		},
		"failing sibling": func(ctx context.Context) string {
			var r ran
			done := make(gate)
			a := adkDoes("a", func() error { r.add("a"); done.open(); return nil })
			b := adkDoes("b", func() error { return failsFirst(&r, done) })
			join := workflow.NewJoinNode("join")
			g := adkOf(workflow.Concat(workflow.Chain(workflow.Start, a, join, adkJoined(&r)), workflow.Chain(workflow.Start, b, join)))
			if err := g.run(ctx, "t", "go"); !errors.Is(err, errBoom) {
				return r.and("first " + adkHow(err))
			}
			err := g.run(ctx, "t", "go")
			return r.and(adkHow(err))
		},
		"restart in a fan-out": func(ctx context.Context) string {
			var r ran
			running, cancel := context.WithCancel(ctx)
			defer cancel()
			cut := cutter{r: &r, cancel: cancel}
			compile := func() []workflow.Edge {
				join := workflow.NewJoinNode("join")
				edges := workflow.Chain(join, adkJoined(&r))
				for _, name := range []string{"a", "b", "c"} {
					node := workflow.NewFunctionNode(name, func(ctx agent.Context, _ any) (string, error) { return name, cut.run(ctx, name) }, workflow.NodeConfig{})
					edges = append(edges, workflow.Chain(workflow.Start, node, join)...)
				}
				return edges
			}
			first := adkOf(compile())
			if err := first.run(running, "t", "go"); !errors.Is(err, context.Canceled) {
				return r.and("first " + adkHow(err))
			}
			next := adkOf(compile())
			next.sessions = first.sessions
			err := next.run(ctx, "t", "go")
			return r.and(adkHow(err))
		},
		"endless loop": func(ctx context.Context) string {
			var r ran
			err := adkLoop(ctx, func() error { return spin(&r) })
			return looped(&r, err, func(err error) bool { return strings.Contains(err.Error(), "limit") })
		},
		"cancelled loop": func(ctx context.Context) string {
			var r ran
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			return cancelled(&r, adkLoop(ctx, func() error { return spinAndCancel(&r, cancel) }))
		},
		"concurrent runs": func(ctx context.Context) string {
			var sums sync.Map
			join := workflow.NewJoinNode("join")
			sum := workflow.NewFunctionNode("sum", func(ctx agent.Context, in map[string]any) (any, error) {
				total := 0
				for _, v := range in {
					n, _ := v.(int)
					total += n
				}
				sums.Store(ctx.SessionID(), total)
				return nil, nil
			}, workflow.NodeConfig{})
			edges := workflow.Chain(join, sum)
			for i, name := range []string{"a", "b", "c"} {
				node := workflow.NewFunctionNode(name, func(_ agent.Context, in string) (int, error) {
					var input int
					_, err := fmt.Sscan(in, &input)
					return input * (i + 1), err
				}, workflow.NodeConfig{})
				edges = append(edges, workflow.Chain(workflow.Start, node, join)...)
			}
			g := adkOf(edges)
			return crowd(func(input int) (bool, error) {
				id := fmt.Sprint("t", input)
				err := g.run(ctx, id, fmt.Sprint(input))
				total, _ := sums.Load(id)
				return total == 6*input, err
			})
		},
		"panic": func(ctx context.Context) string {
			edges := workflow.Concat(workflow.Chain(workflow.Start, adkDoes("safe", func() error { return nil })),
				workflow.Chain(workflow.Start, adkDoes("risky", func() error { panic("boom") })))
			return named(adkOf(edges).run(ctx, "t", "go"), "risky")
		},
		"timeout of a node": func(ctx context.Context) string {
			late := workflow.NewFunctionNode("slow", func(ctx agent.Context, _ any) (any, error) { return nil, slow(ctx) }, workflow.NodeConfig{Timeout: nodeTimeout})
			edges := workflow.Concat(workflow.Chain(workflow.Start, adkDoes("quick", func() error { return nil })), workflow.Chain(workflow.Start, late))
			return named(adkOf(edges).run(ctx, "t", "go"), "slow")
		},
		"state that cannot be stored": func(ctx context.Context) string {
			g := adkOf(workflow.Chain(workflow.Start, adkSets("a", "do", func() {})))
			if g.err != nil {
				return "refused before it runs"
			}
			if err := g.run(ctx, "t", "go"); err != nil {
				return "error when it is stored"
			}
			stored, err := g.newest(ctx, "do")
			if err != nil {
				return failed(err)
			}
			return fmt.Sprintf("accepted; the checkpoint has a value of type %T", stored)
		},
		"newest checkpoint": func(ctx context.Context) string {
			nodes := []workflow.Node{workflow.Start}
			for i := range 10 {
				nodes = append(nodes, adkSets(fmt.Sprintf("n%d", i), "steps", i+1))
			}
			g := adkOf(workflow.Chain(nodes...))
			if err := g.run(ctx, "t", "go"); err != nil {
				return adkHow(err)
			}
			stored, err := g.newest(ctx, "steps")
			if err != nil {
				return failed(err)
			}
			steps, _ := stored.(int)
			return newest(steps)
		},
	},
	Notes: map[string]string{
		"repeated answer":      "The answer goes to the node after the question. A node that is run again with it (RerunOnResume) takes each answer.",
		"order":                "The list is the output of a ParallelWorker; a JoinNode has a map.",
		"failing sibling":      "A run that has failed is not resumed: a message begins a new one.",
		"restart in a fan-out": "A run that was cancelled is not resumed: a message begins a new one.",
		"endless loop":         "There is no limit of steps to set.",
	},
	Cannot: map[string]string{
		"handler beside a failing sibling": "nodes have no handlers of errors; a dynamic node can handle that of a child in its code",
		"going back in a subgraph":         "a session is a list of events, without a way to go back in it",
		"order of options":                 "a run has no options that say so: a new session is a new thread",
	},
}

func adkDoes(name string, do func() error) workflow.Node {
	return workflow.NewFunctionNode(name, func(agent.Context, any) (string, error) { return name, do() }, workflow.NodeConfig{})
}

func adkRuns(r *ran, name string) workflow.Node {
	return adkDoes(name, func() error { r.add(name); return nil })
}

// adkJoined follows a JoinNode and counts it.
func adkJoined(r *ran) workflow.Node {
	return adkDoes("after", func() error { r.add("join"); return nil })
}

// adkAsks asks, and is run again with the answer.
func adkAsks(r *ran, name string) workflow.Node {
	rerun := true
	return workflow.NewEmittingFunctionNode(name, func(ctx agent.Context, _ any, emit func(*session.Event) error) (any, error) {
		answer, err := workflow.ResumeOrRequestInput(ctx, emit, session.RequestInput{InterruptID: name, Message: name})
		if err != nil {
			return nil, err
		}
		r.add(fmt.Sprint(name, "=", answer))
		return name, nil
	}, workflow.NodeConfig{RerunOnResume: &rerun})
}

// adkHands asks in the other way: the answer goes to the node that follows it, which counts it.
func adkHands(r *ran, name string) (ask, got workflow.Node) {
	ask = workflow.NewEmittingFunctionNode("ask "+name, func(ctx agent.Context, _ any, emit func(*session.Event) error) (any, error) {
		if err := emit(workflow.NewRequestInputEvent(ctx, session.RequestInput{InterruptID: name, Message: name})); err != nil {
			return nil, err
		}
		return nil, workflow.ErrNodeInterrupted
	}, workflow.NodeConfig{})
	got = workflow.NewFunctionNode(name, func(_ agent.Context, answer string) (string, error) {
		r.add(name + "=" + answer)
		return name, nil
	}, workflow.NodeConfig{})
	return ask, got
}

// adkSets is a node that sets a value of the session's state.
func adkSets(name, key string, value any) workflow.Node {
	return workflow.NewEmittingFunctionNode(name, func(ctx agent.Context, _ any, emit func(*session.Event) error) (any, error) {
		e := session.NewEvent(ctx, ctx.InvocationID())
		e.Actions.StateDelta = map[string]any{key: value}
		e.Output = name
		return nil, emit(e)
	}, workflow.NodeConfig{})
}

func adkTwoQuestions(r *ran) []workflow.Edge {
	join := workflow.NewJoinNode("join")
	return workflow.Concat(workflow.Chain(workflow.Start, adkAsks(r, "a"), join, adkJoined(r)), workflow.Chain(workflow.Start, adkAsks(r, "b"), join))
}

// adkGraph is a workflow agent with its runner.
type adkGraph struct {
	agent    agent.Agent
	sessions session.Service
	err      error
}

func adkOf(edges []workflow.Edge) *adkGraph {
	a, err := workflowagent.New(workflowagent.Config{Name: "beside", Edges: edges})
	return &adkGraph{a, session.InMemoryService(), err}
}

// run sends a message to a session.
func (g *adkGraph) run(ctx context.Context, id, message string) error {
	return g.send(ctx, id, genai.NewContentFromText(message, genai.RoleUser))
}

// answer sends answers in one message.
func (g *adkGraph) answer(ctx context.Context, answers map[string]any) error {
	content := &genai.Content{Role: genai.RoleUser}
	for _, id := range slices.Sorted(maps.Keys(answers)) {
		content.Parts = append(content.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{
			ID: id, Name: workflow.WorkflowInputFunctionCallName, Response: map[string]any{"payload": answers[id]},
		}})
	}
	return g.send(ctx, "t", content)
}

// send returns errWaits if the workflow asks.
func (g *adkGraph) send(ctx context.Context, id string, content *genai.Content) error {
	if g.err != nil {
		return g.err
	}
	r, err := runner.New(runner.Config{AppName: "beside", Agent: g.agent, SessionService: g.sessions, AutoCreateSession: true})
	if err != nil {
		return err
	}
	asks := false
	for e, err := range r.Run(ctx, "user", id, content, agent.RunConfig{}) {
		if err != nil {
			return err
		}
		asks = asks || e != nil && e.RequestedInput != nil
	}
	if asks {
		return errWaits
	}
	return nil
}

// newest returns a value of the state of the session.
func (g *adkGraph) newest(ctx context.Context, key string) (any, error) {
	got, err := g.sessions.Get(ctx, &session.GetRequest{AppName: "beside", UserID: "user", SessionID: "t"})
	if err != nil {
		return nil, err
	}
	value, err := got.Session.State().Get(key)
	if errors.Is(err, session.ErrStateKeyNotExist) {
		return nil, nil
	}
	return value, err
}

func adkHow(err error) string {
	if errors.Is(err, errWaits) {
		return waits
	}
	return failed(err)
}

func adkOnce(ctx context.Context, r *ran, edges []workflow.Edge) string {
	err := adkOf(edges).run(ctx, "t", "go")
	return r.and(adkHow(err))
}

func adkLoop(ctx context.Context, do func() error) error {
	n := workflow.NewEmittingFunctionNode("n", func(ctx agent.Context, _ any, emit func(*session.Event) error) (any, error) {
		if err := do(); err != nil {
			return nil, err
		}
		e := session.NewEvent(ctx, ctx.InvocationID())
		e.Routes = []string{"again"}
		return nil, emit(e)
	}, workflow.NodeConfig{})
	return adkOf([]workflow.Edge{{From: workflow.Start, To: n}, {From: n, To: n, Route: workflow.StringRoute("again")}}).run(ctx, "t", "go")
}

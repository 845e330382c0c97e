package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/dshills/langgraph-go/graph"
	"github.com/dshills/langgraph-go/graph/emit"
	"github.com/dshills/langgraph-go/graph/store"
)

type (
	dsState struct {
		Log   []string
		Input int
		Sum   int
	}
	dsResult     = graph.NodeResult[dsState]
	dsUnstorable struct{ Do func() }
)

const (
	dsNoAsk   = "a run cannot ask"
	dsNoPoint = "a concurrent run saves one checkpoint, at its end"
)

var dshills = Runtime{
	Name:     "langgraph-go",
	Module:   "github.com/dshills/langgraph-go",
	Version:  "v0.2.0-alpha",
	Released: "2025-10-30",
	About: "an Engine with MaxConcurrentNodes 8 and its store in memory. The reducer appends and adds. Parallel branches end with Stop, and are " +
		"merged at the end of the run.",
	Programs: map[string]Program{
		"order": func(ctx context.Context) string {
			return orders(func(slowest int) ([]string, error) {
				g := dsNew()
				for i, name := range []string{"a", "b", "c"} {
					g.add(name, graph.Stop(), func(context.Context, dsState) (dsState, error) {
						pace(i, slowest)
						return dsState{Log: []string{name}}, nil
					})
				}
				g.start("a", "b", "c")
				end, err := g.run(ctx, "run", dsState{})
				return end.Log, err
			})
		},
		"early end": func(ctx context.Context) string {
			var r ran
			g := dsNew()
			g.runs(&r, "a", graph.Stop())
			g.runs(&r, "b", graph.Goto("c"))
			g.runs(&r, "c", graph.Stop())
			g.start("a", "b")
			_, err := g.run(ctx, "run", dsState{})
			return r.and(failed(err))
		},
		"endless loop": func(ctx context.Context) string {
			var r ran
			err := dsLoop(ctx, func() error { return spin(&r) }, graph.WithMaxSteps(50))
			return looped(&r, err, func(err error) bool {
				engine := new(graph.EngineError)
				return errors.Is(err, graph.ErrMaxStepsExceeded) || errors.As(err, &engine) && engine.Code == "MAX_STEPS_EXCEEDED"
			})
		},
		"cancelled loop": func(ctx context.Context) string {
			var r ran
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			return cancelled(&r, dsLoop(ctx, func() error { return spinAndCancel(&r, cancel) }, graph.WithMaxSteps(2*enough)))
		},
		"concurrent runs": func(ctx context.Context) string {
			g := dsNew()
			for i, name := range []string{"a", "b", "c"} {
				g.add(name, graph.Stop(), func(_ context.Context, s dsState) (dsState, error) { return dsState{Sum: s.Input * (i + 1)}, nil })
			}
			g.start("a", "b", "c")
			ctx, cancel := context.WithTimeout(ctx, perRun/5) // a run may wait for ever
			defer cancel()
			return crowd(func(input int) (bool, error) {
				end, err := g.run(ctx, fmt.Sprint("run", input), dsState{Input: input})
				return end.Sum == 6*input, err
			})
		},
		"panic": func(ctx context.Context) string {
			g := dsNew()
			g.does("safe", func(context.Context) error { return nil })
			g.does("risky", func(context.Context) error { panic("boom") })
			g.start("safe", "risky")
			_, err := g.run(ctx, "run", dsState{})
			return named(err, "risky")
		},
		"timeout of a node": func(ctx context.Context) string {
			g := dsNew()
			g.does("quick", func(context.Context) error { return nil })
			g.err = errors.Join(g.err, g.engine.Add("slow", dsSlow{}))
			g.start("quick", "slow")
			_, err := g.run(ctx, "run", dsState{})
			return named(err, "slow")
		},
		"state that cannot be stored": func(ctx context.Context) string {
			saved := store.NewMemStore[dsUnstorable]()
			engine := graph.New(func(_, delta dsUnstorable) dsUnstorable { return delta }, saved, emit.NewNullEmitter(), graph.WithMaxConcurrent(8), graph.WithMaxSteps(50))
			err := errors.Join(engine.Add("a", graph.NodeFunc[dsUnstorable](func(context.Context, dsUnstorable) graph.NodeResult[dsUnstorable] {
				return graph.NodeResult[dsUnstorable]{Delta: dsUnstorable{Do: func() {}}, Route: graph.Stop()}
			})), engine.StartAt("a"))
			if err != nil {
				return "refused before it runs"
			}
			if _, err := engine.Run(ctx, "run", dsUnstorable{}); err != nil {
				return "error when it is stored"
			}
			s, err := dsNewest(ctx, saved)
			if err != nil {
				return "accepted; no checkpoint"
			}
			return fmt.Sprintf("accepted; the checkpoint has a value of type %T", s.Do)
		},
		"newest checkpoint": func(ctx context.Context) string {
			g := dsNew()
			for i := range 10 {
				next := graph.Goto(fmt.Sprintf("n%d", i+1))
				if i == 9 {
					next = graph.Stop()
				}
				g.add(fmt.Sprintf("n%d", i), next, func(context.Context, dsState) (dsState, error) { return dsState{Sum: 1}, nil })
			}
			g.start("n0")
			if _, err := g.run(ctx, "run", dsState{}); err != nil {
				return failed(err)
			}
			s, err := dsNewest(ctx, g.store)
			if err != nil {
				return failed(err)
			}
			return newest(s.Sum)
		},
	},
	Cannot: map[string]string{
		"uneven join":                      "there is no join: a node to which several lead runs once for each",
		"two answers in one message":       dsNoAsk,
		"one answer after the other":       dsNoAsk,
		"question beside a finished node":  dsNoAsk,
		"question in a fan-out":            dsNoAsk,
		"repeated answer":                  dsNoAsk,
		"failing sibling":                  dsNoPoint,
		"restart in a fan-out":             dsNoPoint,
		"handler beside a failing sibling": "nodes have no handlers of errors",
		"going back in a subgraph":         "there are no subgraphs",
		"order of options":                 "a run has no options",
	},
}

// dsGraph is an engine while it is put together. err is what went wrong in that.
type dsGraph struct {
	engine *graph.Engine[dsState]
	store  *store.MemStore[dsState]
	err    error
}

func dsNew(opts ...any) *dsGraph {
	saved := store.NewMemStore[dsState]()
	reduce := func(s, delta dsState) dsState {
		s.Log = append(s.Log, delta.Log...)
		s.Sum += delta.Sum
		return s
	}
	opts = append([]any{graph.WithMaxConcurrent(8), graph.WithMaxSteps(50)}, opts...)
	return &dsGraph{engine: graph.New(reduce, saved, emit.NewNullEmitter(), opts...), store: saved}
}

func (g *dsGraph) add(name string, next graph.Next, do func(context.Context, dsState) (dsState, error)) {
	g.err = errors.Join(g.err, g.engine.Add(name, graph.NodeFunc[dsState](func(ctx context.Context, s dsState) dsResult {
		delta, err := do(ctx, s)
		return dsResult{Delta: delta, Route: next, Err: err}
	})))
}

// does adds a node that does something beside the state, and ends its branch.
func (g *dsGraph) does(name string, do func(context.Context) error) {
	g.add(name, graph.Stop(), func(ctx context.Context, _ dsState) (dsState, error) { return dsState{}, do(ctx) })
}

func (g *dsGraph) runs(r *ran, name string, next graph.Next) {
	g.add(name, next, func(context.Context, dsState) (dsState, error) { r.add(name); return dsState{}, nil })
}

// start begins with one node, or with several in parallel.
func (g *dsGraph) start(names ...string) {
	if len(names) == 1 {
		g.err = errors.Join(g.err, g.engine.StartAt(names[0]))
		return
	}
	g.add("entry", graph.Many(names), func(context.Context, dsState) (dsState, error) { return dsState{}, nil })
	g.err = errors.Join(g.err, g.engine.StartAt("entry"))
}

func (g *dsGraph) run(ctx context.Context, id string, input dsState) (dsState, error) {
	if g.err != nil {
		return dsState{}, g.err
	}
	return g.engine.Run(ctx, id, input)
}

// dsNewest returns the state in the newest checkpoint of a run. LoadLatest reads those of an engine
// that is not concurrent, and a concurrent one has them by the number of the step.
func dsNewest[S any](ctx context.Context, from *store.MemStore[S]) (S, error) {
	for step := 20; step >= 0; step-- {
		if c, err := from.LoadCheckpointV2(ctx, "run", step); err == nil {
			return c.State, nil
		}
	}
	s, _, err := from.LoadLatest(ctx, "run")
	return s, err
}

// dsSlow is a node with a timeout.
type dsSlow struct{}

func (dsSlow) Policy() graph.NodePolicy { return graph.NodePolicy{Timeout: nodeTimeout} }

func (dsSlow) Run(ctx context.Context, _ dsState) dsResult {
	return dsResult{Route: graph.Stop(), Err: slow(ctx)}
}

func dsLoop(ctx context.Context, do func() error, opts ...any) error {
	g := dsNew(opts...)
	g.add("n", graph.Goto("n"), func(context.Context, dsState) (dsState, error) { return dsState{}, do() })
	g.start("n")
	_, err := g.run(ctx, "run", dsState{})
	return err
}

package main

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/compose"

	"github.com/weftrun/weft/graph"
)

// loop goes turns times through two nodes: the first adds one, the second decides whether to go on.
func loop(turns int) Workload {
	return Workload{Name: fmt.Sprintf("loop of two nodes, %d turns", turns), Unit: "step", Units: 2 * turns, Runners: []Runner{
		{floor, func(context.Context) (Job, error) { return floorLoop(turns) }},
		{weft, func(context.Context) (Job, error) { return weftLoop(turns) }},
		{eino, func(ctx context.Context) (Job, error) { return einoLoop(ctx, turns) }},
	}}
}

func floorLoop(turns int) (Job, error) {
	nodes := map[string]func(context.Context, *int) (string, error){
		"ping": func(_ context.Context, s *int) (string, error) { *s++; return "pong", nil },
		"pong": func(_ context.Context, s *int) (string, error) {
			if *s >= turns {
				return "", nil
			}
			return "ping", nil
		},
	}
	return job(func(ctx context.Context) (err error) {
		s := 0
		for at := "ping"; at != ""; {
			if at, err = nodes[at](ctx, &s); err != nil {
				return err
			}
		}
		return is(s, turns)
	})
}

func weftLoop(turns int) (Job, error) {
	g, err := loopGraph(turns)
	if err != nil {
		return Job{}, err
	}
	return counts(g, turns)
}

func loopGraph(turns int) (*graph.Graph[count], error) {
	b := graph.New[count]("loop")
	b.Node("ping", graph.Func(add))
	b.Node("pong", graph.Router(func(_ context.Context, s *count) (graph.Command, error) {
		if s.N.Get() >= turns {
			return graph.Goto(graph.End), nil
		}
		return graph.Goto("ping"), nil
	}, "ping", graph.End))
	b.Edge(graph.Start, "ping")
	b.Edge("ping", "pong")
	return b.Compile(graph.Config{MaxSteps: 1 << 20})
}

func einoLoop(ctx context.Context, turns int) (Job, error) {
	g := compose.NewGraph[int, int]()
	node := func(name string, by int) error {
		return g.AddLambdaNode(name, compose.InvokableLambda(func(_ context.Context, s int) (int, error) { return s + by, nil }))
	}
	branch := compose.NewGraphBranch(func(_ context.Context, s int) (string, error) {
		if s >= turns {
			return compose.END, nil
		}
		return "ping", nil
	}, map[string]bool{"ping": true, compose.END: true})
	for _, err := range []error{
		node("ping", 1), node("pong", 0), g.AddEdge(compose.START, "ping"), g.AddEdge("ping", "pong"), g.AddBranch("pong", branch),
	} {
		if err != nil {
			return Job{}, err
		}
	}
	return einoCount(ctx, g, turns)
}

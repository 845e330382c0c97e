package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/cloudwego/eino/compose"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// names is the state of a fan-out: the list has the names of the nodes, in their order.
type names struct {
	All state.List[string] `json:"all"`
	N   state.Value[int]   `json:"n"`
}

// fanOut runs n nodes concurrently. Each writes its name; the last node reads all names in order.
func fanOut(n int) Workload {
	return Workload{Name: fmt.Sprintf("fan-out of %d and join", n), Unit: "task", Units: n, Runners: []Runner{
		{floor, func(context.Context) (Job, error) { return floorFanOut(n) }},
		{weft, func(context.Context) (Job, error) { return weftFanOut(n) }},
		{eino, func(ctx context.Context) (Job, error) { return einoFanOut(ctx, n) }},
	}}
}

// ordered returns how many names there are, or an error if they are not in order.
func ordered(n int, at func(int) string) (int, error) {
	for i := range n {
		if at(i) != nodeName(i) {
			return 0, wrong(at(i), nodeName(i))
		}
	}
	return n, nil
}

func floorFanOut(n int) (Job, error) {
	nodes := make([]func(context.Context) (string, error), n)
	for i := range nodes {
		name := nodeName(i)
		nodes[i] = func(context.Context) (string, error) { return name, nil }
	}
	return job(func(ctx context.Context) error {
		all, errs := make([]string, n), make([]error, n)
		var wg sync.WaitGroup
		for i, node := range nodes {
			wg.Go(func() { all[i], errs[i] = node(ctx) })
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		got, err := ordered(len(all), func(i int) string { return all[i] })
		if err != nil {
			return err
		}
		return is(got, n)
	})
}

func weftFanOut(n int) (Job, error) {
	b := graph.New[names]("fan")
	var all []string
	for i := range n {
		name := nodeName(i)
		all = append(all, name)
		b.Node(name, graph.Func(func(_ context.Context, s *names) error { s.All.Append(name); return nil }))
		b.Edge(graph.Start, name)
	}
	b.Node("last", graph.Func(func(_ context.Context, s *names) error {
		got, err := ordered(s.All.Len(), s.All.At)
		s.N.Set(got)
		return err
	}))
	b.Join("last", all...)
	b.Edge("last", graph.End)
	g, err := b.Compile(graph.Config{})
	if err != nil {
		return Job{}, err
	}
	return job(func(ctx context.Context) error {
		res, err := g.Invoke(ctx, names{}, graph.RunOptions{})
		if err != nil {
			return err
		}
		return is(res.State.N.Get(), n)
	})
}

// einoFanOut gives each node an output key: its merge of many strings has no order of its own.
func einoFanOut(ctx context.Context, n int) (Job, error) {
	g := compose.NewGraph[int, int]()
	last := compose.InvokableLambda(func(_ context.Context, in map[string]any) (int, error) {
		return ordered(len(in), func(i int) string { s, _ := in[nodeName(i)].(string); return s })
	})
	if err := g.AddLambdaNode("last", last); err != nil {
		return Job{}, err
	}
	for i := range n {
		name := nodeName(i)
		say := compose.InvokableLambda(func(context.Context, int) (string, error) { return name, nil })
		for _, err := range []error{
			g.AddLambdaNode(name, say, compose.WithOutputKey(name)), g.AddEdge(compose.START, name), g.AddEdge(name, "last"),
		} {
			if err != nil {
				return Job{}, err
			}
		}
	}
	if err := g.AddEdge("last", compose.END); err != nil {
		return Job{}, err
	}
	run, err := g.Compile(ctx, compose.WithNodeTriggerMode(compose.AllPredecessor))
	if err != nil {
		return Job{}, err
	}
	return job(func(ctx context.Context) error {
		got, err := run.Invoke(ctx, 0)
		if err != nil {
			return err
		}
		return is(got, n)
	})
}

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// invoke is a whole run of one node, without a store and with one in memory.
func invoke() Workload {
	return Workload{Name: "Invoke of one node", Unit: "run", Units: 1, Runners: []Runner{
		{weft, func(context.Context) (Job, error) { return weftChain(1) }},
		{weftInline, func(context.Context) (Job, error) { return endless(weftChain(1)) }},
		{weft + ", memory", func(context.Context) (Job, error) { return invokeStored() }},
	}}
}

// invokeStored runs one node on a new thread each time. The threads are deleted between the runs.
func invokeStored() (Job, error) {
	store := new(checkpoint.Memory)
	g, err := countTo(1, graph.Config{Store: store}, func() {})
	if err != nil {
		return Job{}, err
	}
	run := graph.RunOptions{Thread: "bench"}
	return job(func(ctx context.Context) error {
		res, err := g.Invoke(ctx, count{}, run)
		return firstOf(err, is(res.State.N.Get(), 1), store.Delete(ctx, run.Thread))
	})
}

// loadThread reads the state of a thread of n texts of 1 KiB.
func loadThread(n int, g ground) Workload {
	return Workload{Name: fmt.Sprintf("load of %d texts of 1 KiB, %s", n, g.name), Unit: "load", Units: 1, Runners: []Runner{
		{weft, func(ctx context.Context) (Job, error) { return weftLoad(ctx, n, g) }},
	}}
}

func weftLoad(ctx context.Context, n int, g ground) (Job, error) {
	opened, err := g.open(ctx)
	if err != nil {
		return Job{}, err
	}
	store, key := &counting{backend: opened}, checkpoint.Key{Thread: "bench-" + unique()}
	closed := func() error { return errors.Join(store.Delete(context.Background(), key.Thread), store.Close()) }
	gr, err := askingGraph(n, store)
	if err == nil {
		err = makeLong(ctx, n, key.Thread, store)
	}
	if err != nil {
		return Job{}, errors.Join(err, closed())
	}
	return Job{
		Run: func(ctx context.Context) error {
			s, _, err := gr.Thread(key.Thread).State(ctx, 0)
			return firstOf(err, is(s.Log.Len(), n))
		},
		Counts: store.counts,
		Close:  func() { _ = closed() },
	}, nil
}

// compile compiles a chain of n nodes.
func compile(n int) Workload {
	return Workload{Name: compileName(n), Unit: "node", Units: n, Runners: []Runner{
		{weft, func(context.Context) (Job, error) {
			return job(func(context.Context) error {
				_, err := weftChain(n)
				return err
			})
		}},
	}}
}

func compileName(n int) string { return fmt.Sprintf("compile of %d nodes", n) }

// doubled is the state of a subgraph, and of the graph that calls it.
type doubled struct {
	In  state.Value[int] `json:"in"`
	All state.List[int]  `json:"all"`
}

// subgraphs calls a subgraph of one node in each of n tasks.
func subgraphs(n int) Workload {
	return Workload{Name: fmt.Sprintf("a subgraph in a fan-out of %d", n), Unit: "task", Units: n, Runners: []Runner{
		{floor, func(context.Context) (Job, error) { return floorSends(n) }},
		{weft, func(context.Context) (Job, error) { return weftSubgraphs(n) }},
	}}
}

func weftSubgraphs(n int) (Job, error) {
	c := graph.New[doubled]("double")
	c.Node("double", graph.Func(func(_ context.Context, s *doubled) error { s.In.Set(2 * s.In.Get()); return nil }))
	c.Edge(graph.Start, "double")
	c.Edge("double", graph.End)
	child, err := c.Compile(graph.Config{})
	if err != nil {
		return Job{}, err
	}
	b := graph.New[doubled]("fan")
	b.Node("split", graph.Router(func(context.Context, *doubled) (cmd graph.Command, err error) {
		for i := range n {
			cmd = cmd.Send("call", i)
		}
		return cmd, nil
	}, "call"))
	b.Node("call", graph.Worker(func(ctx context.Context, s *doubled, i int) error {
		end, err := child.Call(ctx, doubled{In: state.Of(i)})
		s.All.Append(end.In.Get())
		return err
	}))
	b.Edge(graph.Start, "split")
	b.Edge("call", graph.End)
	g, err := b.Compile(graph.Config{})
	if err != nil {
		return Job{}, err
	}
	return job(func(ctx context.Context) error {
		res, err := g.Invoke(ctx, doubled{}, graph.RunOptions{})
		return firstOf(err, is(res.State.All.Len(), n), is(res.State.All.At(n-1), 2*(n-1)))
	})
}

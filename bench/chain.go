package main

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/compose"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// count is the state of the workloads that only count.
type count struct {
	N state.Sum[int] `json:"n"`
}

func add(_ context.Context, s *count) error {
	s.N.Add(1)
	return nil
}

func nodeName(i int) string { return fmt.Sprintf("n%04d", i) }

// chain is n nodes one after the other, each of which adds one.
func chain(n int) Workload {
	return Workload{Name: fmt.Sprintf("chain of %d", n), Unit: "step", Units: n, Runners: []Runner{
		{floor, func(context.Context) (Job, error) { return floorChain(n) }},
		{weft, func(context.Context) (Job, error) { return weftChain(n) }},
		{weftInline, func(context.Context) (Job, error) { return endless(weftChain(n)) }},
		{eino, func(ctx context.Context) (Job, error) { return einoChain(ctx, n) }},
	}}
}

// The names of the runners.
const (
	floor = "plain Go"

	copyingFloor = "plain Go, copying" // the floor of a store in memory
	weft         = "Weft"
	eino         = "eino"

	weftInline = "Weft, no cancellation"
)

// endless returns a job whose context cannot end, like context.Background.
func endless(j Job, err error) (Job, error) {
	run := j.Run
	j.Run = func(ctx context.Context) error { return run(context.WithoutCancel(ctx)) }
	return j, err
}

// floorChain is what one would write without a runtime: functions in a slice, called in turn until
// the context ends.
func floorChain(n int) (Job, error) {
	nodes := make([]func(context.Context, *int) error, n)
	for i := range nodes {
		nodes[i] = func(_ context.Context, s *int) error { *s++; return nil }
	}
	return job(func(ctx context.Context) error {
		s := 0
		for _, node := range nodes {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := node(ctx, &s); err != nil {
				return err
			}
		}
		return is(s, n)
	})
}

func weftChain(n int) (Job, error) {
	b := graph.New[count]("chain")
	from := graph.Start
	for i := range n {
		b.Node(nodeName(i), graph.Func(add))
		b.Edge(from, nodeName(i))
		from = nodeName(i)
	}
	b.Edge(from, graph.End)
	g, err := b.Compile(graph.Config{MaxSteps: 1 << 20})
	if err != nil {
		return Job{}, err
	}
	return counts(g, n)
}

// counts runs a graph that ends with n counted.
func counts(g *graph.Graph[count], n int) (Job, error) {
	return job(func(ctx context.Context) error {
		res, err := g.Invoke(ctx, count{}, graph.RunOptions{})
		if err != nil {
			return err
		}
		return is(res.State.N.Get(), n)
	})
}

func einoChain(ctx context.Context, n int) (Job, error) {
	g := compose.NewGraph[int, int]()
	from := compose.START
	for i := range n {
		if err := g.AddLambdaNode(nodeName(i), compose.InvokableLambda(func(_ context.Context, s int) (int, error) { return s + 1, nil })); err != nil {
			return Job{}, err
		}
		if err := g.AddEdge(from, nodeName(i)); err != nil {
			return Job{}, err
		}
		from = nodeName(i)
	}
	if err := g.AddEdge(from, compose.END); err != nil {
		return Job{}, err
	}
	return einoCount(ctx, g, n)
}

// einoCount runs a graph that ends with n counted.
func einoCount(ctx context.Context, g *compose.Graph[int, int], n int) (Job, error) {
	run, err := g.Compile(ctx, compose.WithMaxRunSteps(1<<20))
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

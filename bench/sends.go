package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
	"github.com/weftrun/weft/state"
)

// squares is the state of a fan-out of Sends.
type squares struct {
	All state.List[int]  `json:"all"`
	Sum state.Value[int] `json:"sum"`
}

// sends returns a workload that sends n numbers to n tasks. Each task appends the square of its
// number to a list, and a last node adds the squares up.
func sends(n int) Workload {
	return Workload{Name: fmt.Sprintf("%d Sends and a join", n), Unit: "task", Units: n, Runners: []Runner{
		{floor, func(context.Context) (Job, error) { return floorSends(n) }},
		{weft, func(context.Context) (Job, error) { return weftSends(n) }},
		{weft + ", YAML", func(context.Context) (Job, error) { return yamlSends(n) }},
	}}
}

// sumOfSquares returns the sum of the squares of 0 to n-1.
func sumOfSquares(n int) int { return (n - 1) * n * (2*n - 1) / 6 }

func floorSends(n int) (Job, error) {
	return job(func(context.Context) error {
		all := make([]int, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() { all[i] = i * i })
		}
		wg.Wait()
		sum := 0
		for _, v := range all {
			sum += v
		}
		return is(sum, sumOfSquares(n))
	})
}

func weftSends(n int) (Job, error) {
	b := graph.New[squares]("sends")
	b.Node("split", graph.Router(func(context.Context, *squares) (c graph.Command, err error) {
		for i := range n {
			c = c.Send("square", i)
		}
		return c, nil
	}, "square"))
	b.Node("square", graph.Worker(func(_ context.Context, s *squares, i int) error {
		s.All.Append(i * i)
		return nil
	}))
	b.Node("sum", graph.Func(func(_ context.Context, s *squares) error {
		sum := 0
		for _, v := range s.All.All() {
			sum += v
		}
		s.Sum.Set(sum)
		return nil
	}))
	b.Edge(graph.Start, "split")
	b.Edge("square", "sum")
	b.Edge("sum", graph.End)
	g, err := b.Compile(graph.Config{})
	if err != nil {
		return Job{}, err
	}
	return job(func(ctx context.Context) error {
		res, err := g.Invoke(ctx, squares{}, graph.RunOptions{})
		if err != nil {
			return err
		}
		return firstOf(is(res.State.All.Len(), n), is(res.State.Sum.Get(), sumOfSquares(n)))
	})
}

// squaresYAML computes the same in YAML, with for_each over the input.
const squaresYAML = `
version: 1
name: sends
state:
  numbers: {type: list<int>, required: true}
  all: {type: list<int>, reducer: append}
  sum: int
input: [numbers]
nodes:
  square:
    for_each: {in: state.numbers, as: i}
    set: {all: ["${{ i * i }}"]}
    next: sum
  sum:
    set: {sum: "${{ sum(state.all) }}"}
    next: END
`

func yamlSends(n int) (Job, error) {
	w, err := workflow.Parse("sends.yaml", []byte(squaresYAML), workflow.Options{Kinds: nodes.Kinds()})
	if err != nil {
		return Job{}, err
	}
	g, err := w.Compile(graph.Config{})
	if err != nil {
		return Job{}, err
	}
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
	data, err := json.Marshal(numbers)
	if err != nil {
		return Job{}, err
	}
	return job(func(ctx context.Context) error {
		in, err := w.Input(map[string]json.RawMessage{"numbers": data})
		if err != nil {
			return err
		}
		res, err := g.Invoke(ctx, in, graph.RunOptions{})
		if err != nil {
			return err
		}
		sum, _ := res.State.Get("sum")
		return is(sum, any(int64(sumOfSquares(n))))
	})
}

package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
)

// counter is loop, written down: two nodes, of which the second decides by an expression.
const counter = `
version: 1
name: loop
state:
  n: {type: int, reducer: add}
nodes:
  ping:
    set: {n: 1}
    next: pong
  pong:
    set: {}
    next:
      - {if: state.n < %d, to: ping}
      - {else: END}
`

// yamlLoop is the same loop in YAML and in Go.
func yamlLoop(turns int) Workload {
	return Workload{Name: fmt.Sprintf("loop of two nodes in YAML, %d turns", turns), Unit: "step", Units: 2 * turns, Runners: []Runner{
		{weft, func(context.Context) (Job, error) { return weftLoop(turns) }},
		{weft + ", YAML", func(context.Context) (Job, error) { return weftYAML(turns) }},
	}}
}

func weftYAML(turns int) (Job, error) {
	w, err := workflow.Parse("loop.yaml", fmt.Appendf(nil, counter, turns), workflow.Options{Kinds: nodes.Kinds()})
	if err != nil {
		return Job{}, err
	}
	g, err := w.Compile(graph.Config{MaxSteps: 1 << 20})
	if err != nil {
		return Job{}, err
	}
	return job(func(ctx context.Context) error {
		in, err := w.Input(map[string]json.RawMessage{})
		if err != nil {
			return err
		}
		res, err := g.Invoke(ctx, in, graph.RunOptions{})
		if err != nil {
			return err
		}
		n, _ := res.State.Get("n")
		return is(n, any(int64(turns)))
	})
}

package graph_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// A driver runs a turn of a thread, one call at a time. Each call may be made in another process,
// such as the workers of a queue.
func ExampleUntyped() {
	ctx := context.Background()
	b := graph.New[State]("review")
	for _, name := range []string{"north", "south"} {
		b.Node(name, graph.Func(func(ctx context.Context, s *State) error {
			s.Facts.Append("a fact from the " + name)
			return nil
		}))
		b.Edge(graph.Start, name)
		b.Edge(name, graph.End)
	}
	typed, err := b.Compile(graph.Config{Store: new(checkpoint.Memory)})
	if err != nil {
		fmt.Println(err)
		return
	}
	g := typed.Untyped()

	plan, err := g.Plan(ctx, graph.PlanRequest{Thread: "t1", Run: "run-1", Input: json.RawMessage(`{"question":"why?"}`)})
	for err == nil && plan.Status == graph.Pending {
		for _, task := range plan.Due() { // in any order, or all at once
			var res graph.TaskResult
			if res, err = g.RunTask(ctx, graph.TaskRequest{Step: plan.ID, Task: task.ID}); err != nil {
				break
			}
			fmt.Println(task.Node, res.End)
		}
		if err == nil {
			plan, err = g.Commit(ctx, graph.CommitRequest{Step: plan.ID})
		}
	}
	fmt.Println(plan.Status, plan.Steps, err)
	if err := g.Release(ctx, plan.ID); err != nil {
		fmt.Println(err)
	}
	s, _, _ := g.Thread("t1").State(ctx, 0)
	fmt.Println(string(s))
	// Output:
	// north finished
	// south finished
	// done 1 <nil>
	// {"question":"why?","facts":["a fact from the north","a fact from the south"],"rounds":0}
}

package pes_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/pes"
)

// Two items run side by side and a third one has their results; the next message refines the plan.
func Example() {
	plan := func(_ context.Context, r pes.PlanRequest) (pes.Plan, error) {
		if len(r.Todo) == 0 {
			return pes.Plan{Items: []pes.Item{
				{ID: "oslo", Task: "weather in Oslo"}, {ID: "rome", Task: "weather in Rome"},
				{ID: "where", Task: "where to go", DependsOn: []string{"oslo", "rome"}},
			}}, nil
		}
		return pes.Plan{Items: []pes.Item{{ID: "train", Task: "a train", DependsOn: []string{"where"}}}}, nil
	}
	results := map[string]string{"oslo": "rain", "rome": "sun", "where": "Rome", "train": "at nine"}
	execute := func(_ context.Context, r pes.ExecuteRequest) (string, error) {
		for _, t := range r.Needs {
			fmt.Printf("%s knows that %s is %s\n", r.Item.ID, t.ID, t.Result.Text)
		}
		return results[r.Item.ID], nil
	}
	b, _ := pes.New(pes.Config{Plan: plan, Execute: execute})
	g, err := b.Compile(graph.Config{Store: &checkpoint.Memory{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{"where shall I go?", "and how?"} {
		res, err := g.Invoke(context.Background(), pes.Input(text), graph.RunOptions{Thread: "t1"})
		fmt.Println(strings.ReplaceAll(res.State.Answer.Get(), "\n", "; "), err)
	}
	// Output:
	// where knows that oslo is rain
	// where knows that rome is sun
	// weather in Oslo: rain; weather in Rome: sun; where to go: Rome <nil>
	// train knows that where is Rome
	// a train: at nine <nil>
}

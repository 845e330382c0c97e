package capabilities_test

import (
	"context"
	"fmt"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/agent"
)

// Weather is the state of a user's agent.
type Weather struct {
	agent.State
	Station state.Value[string] `json:"station"`
}

// Measurements is what the capability finds.
type Measurements struct {
	Column string `json:"column"`
}

func (Measurements) ContextType() string { return "MEASUREMENTS" }

// find is a first capability: a function from arguments to a context.
var find = capabilities.Tool(capabilities.Info{
	Name: "find", Description: "finds measurements by name",
}, func(_ context.Context, args struct {
	Name string `json:"name"`
}) (Measurements, error) {
	columns := map[string]string{"rain": "precipitation"}
	column, ok := columns[args.Name]
	if !ok {
		return Measurements{}, agent.Failed(agent.Replanning, fmt.Errorf("nothing is called %q", args.Name))
	}
	return Measurements{column}, nil
})

// A state that embeds that of an agent, a capability, and the graph that hosts it.
func Example() {
	types, _ := agent.NewTypes(agent.TypeOf[Measurements]())
	r, err := capabilities.NewRegistry(find)
	if err != nil {
		fmt.Println(err)
		return
	}
	m := agent.StateManager{Types: types}
	b := graph.New[Weather]("weather")
	b.Node("plan", graph.Func(func(_ context.Context, s *Weather) error {
		s.Planning.ExecutionPlan.Set(agent.Plan{Steps: []agent.Step{
			{Capability: "find", ContextKey: "those", Parameters: map[string]any{"name": "rain"}},
		}})
		return nil
	}))
	b.Node("work", graph.Func(func(ctx context.Context, s *Weather) error { return r.Step(ctx, m, &s.State, nil) }))
	b.Edge(graph.Start, "plan")
	b.Edge("plan", "work")
	b.Edge("work", graph.End)
	g, err := b.Compile(graph.Config{Store: &checkpoint.Memory{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	in := Weather{State: m.CreateFresh("which rain do we have?", nil), Station: state.Of("Seattle")}
	res, err := g.Invoke(context.Background(), in, graph.RunOptions{Thread: "t1"})
	those, _ := agent.Get[Measurements](m.LoadContexts(&res.State.State), "those")
	fmt.Println(those.Column, err)
	// Output: precipitation <nil>
}

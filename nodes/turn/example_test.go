package turn_test

import (
	"context"
	"fmt"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
)

// An agent with one capability. It shows its plan first, and a person approves it.
func Example() {
	find := capabilities.Func(capabilities.Info{Name: "find", Description: "finds rain", Provides: []string{"RAIN"}},
		func(_ context.Context, c *capabilities.Call) error { return c.Store(Rain{Column: "precipitation"}) })
	registry, err := capabilities.NewRegistry(find)
	if err != nil {
		fmt.Println(err)
		return
	}
	types, err := agent.NewTypes(agent.TypeOf[Rain]())
	if err != nil {
		fmt.Println(err)
		return
	}
	m := agent.StateManager{Types: types}
	g, err := turn.Graph("weather", turn.Config{Manager: m, Capabilities: registry}, graph.Config{Store: &checkpoint.Memory{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	a := turn.NewAgent(g, m)
	r, err := a.Say(context.Background(), "t1", "/planning:on Where is the rain?")
	fmt.Println(r.Status, err)
	r, err = a.Say(context.Background(), "t1", "yes")
	fmt.Println(r.Text, err)
	// Output:
	// interrupted <nil>
	// RAIN.find: rain in precipitation <nil>
}

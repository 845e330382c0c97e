package main

import (
	"context"
	"fmt"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// Order is the state of the graph order.
type Order struct {
	Sacks   state.Value[int]  `json:"sacks"`
	Granted state.Value[bool] `json:"granted"`
}

// order is a graph in Go: a person approves orders of more than ten sacks.
func order() *graph.Builder[Order] {
	b := graph.New[Order]("order")
	b.Node("grant", graph.Func(grant))
	b.Edge(graph.Start, "grant")
	b.Edge("grant", graph.End)
	return b
}

func grant(ctx context.Context, o *Order) error {
	if o.Sacks.Get() <= 10 {
		o.Granted.Set(true)
		return nil
	}
	ok, err := graph.Ask[bool](ctx, graph.Question{Prompt: fmt.Sprintf("Sell %d sacks?", o.Sacks.Get())})
	o.Granted.Set(ok)
	return err
}

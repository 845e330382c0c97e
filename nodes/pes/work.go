package pes

import (
	"cmp"
	"context"
	"fmt"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state"
	agents "github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

// stored is what Work stores in the session of a thread, under the name storedName.
type stored struct {
	Plan    Plan              `json:"plan"`
	Results map[string]Result `json:"results"`
}

const storedName = "plan"

// Work returns the work of a turn: it plans a list of items, executes it and answers. The plan
// belongs to the thread, and later messages refine it. An agent of package turn with it has the
// commands, the approvals in words, the conversations and the sessions of that package:
//
//	work, err := pes.Work(pes.WithModel(pes.Config{Execute: execute, Review: true}, m))
//	c := turn.Config{Work: work}
//	g, err := turn.Graph("assistant", c, graph.Config{Store: store})
//	reply, err := turn.NewAgent(g, c.Manager).Say(ctx, "t1", "Compare the two offers.")
//
// The list is a graph of its own on the thread: after a crash items that have finished do not run
// again.
func Work(c Config) (turn.Work, error) {
	c.Name = cmp.Or(c.Name, "list")
	b, err := New(c)
	if err != nil {
		return nil, err
	}
	g, err := b.Compile(graph.Config{})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, r turn.WorkRequest) ([]message.Message, error) {
		before, _, err := agents.Recall[stored](r.State, storedName)
		if err != nil {
			return nil, err
		}
		in := State{Messages: message.LogOf(r.Messages...), Plan: state.Of(before.Plan), Results: state.MapOf(before.Results)}
		end, err := g.Call(ctx, in)
		if err != nil {
			return nil, err
		}
		after := stored{Plan: end.Plan.Get(), Results: map[string]Result{}}
		for id, result := range end.Results.All() {
			after.Results[id] = result
		}
		if err := agents.Remember(r.State, storedName, after); err != nil {
			return nil, fmt.Errorf("pes: the plan of the thread: %w", err)
		}
		return end.Messages.Slice()[in.Messages.Len():], nil
	}, nil
}

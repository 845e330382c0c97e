package react

import (
	"cmp"
	"context"
	"slices"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

// worker is the state of one turn of Work.
type worker struct {
	State
	Allowed state.Value[[]string] `json:"allowed_tools"`
	Model   state.Value[string]   `json:"model_name"`
}

// Work returns the work of a turn: the model calls tools in a loop until it answers. An agent of
// package turn with it has the commands, the approvals in words, the conversations and the sessions
// of that package:
//
//	work, err := react.Work(react.Config{Model: m, Tools: set})
//	c := turn.Config{Work: work, Services: services}
//	g, err := turn.Graph("assistant", c, graph.Config{Store: store})
//	reply, err := turn.NewAgent(g, c.Manager).Say(ctx, "t1", "What is the weather in Oslo?")
//
// The loop is a graph of its own on the thread: a question of a tool waits there, and after a crash
// calls that have finished do not run again.
func Work(c Config) (turn.Work, error) {
	c.Name = cmp.Or(c.Name, "agent")
	b := graph.New[worker](c.Name)
	err := AddOf(b, func(s *worker) *State { return &s.State }, c, Of[worker]{
		Tools: func(s *worker) ([]string, error) { return s.Allowed.Get(), nil },
		Model: func(s *worker) (string, error) { return s.Model.Get(), nil },
	})
	if err != nil {
		return nil, err
	}
	b.Edge(graph.Start, ModelNode)
	g, err := b.Compile(graph.Config{})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, r turn.WorkRequest) ([]message.Message, error) {
		in := worker{State: State{Messages: message.LogOf(r.Messages...)}, Model: state.Of(r.Model)}
		if c.Tools != nil {
			in.Allowed.Set(slices.DeleteFunc(c.Tools.Names(), func(name string) bool { return !r.Enabled(name) }))
		}
		end, err := g.Call(ctx, in)
		if err != nil {
			return nil, err
		}
		return end.Messages.Slice()[in.Messages.Len():], nil
	}, nil
}

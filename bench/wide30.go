package main

import (
	"context"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// fields30 is a state of 30 fields, of which a step writes one.
type fields30 struct {
	C00, C01, C02, C03, C04, C05, C06, C07, C08, C09 state.Value[int]
	C10, C11, C12, C13, C14, C15, C16, C17, C18, C19 state.Value[string]
	C20, C21, C22, C23, C24                          state.Sum[int]
	C25, C26, C27                                    state.List[string]
	C28, C29                                         state.Map[string, int]
}

// many30 loops over one node with a state of 30 fields.
func many30(steps int) Workload {
	return Workload{Name: wide30Name, Unit: "step", Units: steps, Runners: []Runner{
		{weft, func(context.Context) (Job, error) {
			b := graph.New[fields30]("wide")
			b.Node("a", graph.Router(func(_ context.Context, s *fields30) (graph.Command, error) {
				s.C20.Add(1)
				if s.C20.Get() >= steps {
					return graph.Goto(graph.End), nil
				}
				return graph.Goto("a"), nil
			}, "a", graph.End))
			b.Edge(graph.Start, "a")
			g, err := b.Compile(graph.Config{})
			if err != nil {
				return Job{}, err
			}
			return job(func(ctx context.Context) error {
				res, err := g.Invoke(ctx, fields30{}, graph.RunOptions{})
				if err != nil {
					return err
				}
				return is(res.State.C20.Get(), steps)
			})
		}},
	}}
}

const wide30Name = "loop with a state of 30 fields"

package agent_test

import (
	"context"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/agent"
)

// Rainfall is a context: what the agent knows about rain.
type Rainfall struct {
	Year int     `json:"year"`
	MM   float64 `json:"mm"`
}

func (Rainfall) ContextType() string { return "RAINFALL" }

// Two turns of a thread. A turn begins with a fresh task and all that the thread knows.
func Example() {
	types, err := agent.NewTypes(agent.TypeOf[Rainfall]())
	if err != nil {
		fmt.Println(err)
		return
	}
	m := agent.StateManager{Types: types}
	b := graph.New[agent.State]("rain")
	b.Node("measure", graph.Func(func(_ context.Context, s *agent.State) error {
		query, _ := s.UserQuery()
		s.Task.Current.Set("measure " + query) // of this turn
		r := Rainfall{MM: 640.5}
		if _, err := fmt.Sscan(query, &r.Year); err != nil {
			return err
		}
		if err := m.StoreContext(s, "RAINFALL", query, r); err != nil { // of the thread
			return err
		}
		return m.Respond(s, fmt.Sprintf("I know %d years.", len(s.Context.Keys("RAINFALL"))))
	}))
	b.Edge(graph.Start, "measure")
	b.Edge("measure", graph.End)
	g, err := b.Compile(graph.Config{Store: &checkpoint.Memory{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{"2013", "2014"} {
		res, err := g.Invoke(context.Background(), m.CreateFresh(text, nil), graph.RunOptions{Thread: "oslo"})
		if err != nil {
			fmt.Println(err)
			return
		}
		s := &res.State
		task, _ := s.Task.Current.Lookup()
		last, _ := s.Messages.Last()
		known, err := agent.Get[Rainfall](m.LoadContexts(s), "2013")
		fmt.Println(task, "-", last.Text(), known, err)
	}
	// Output:
	// measure 2013 - I know 1 years. {2013 640.5} <nil>
	// measure 2014 - I know 2 years. {2013 640.5} <nil>
}

package weft_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// Draft is the state. The type of a field determines how writes to it are merged.
type Draft struct {
	Question state.Value[string] `json:"question"`
	Facts    state.List[string]  `json:"facts"`
	Approved state.Value[bool]   `json:"approved"`
}

// search appends to its own view of the state.
func search(_ context.Context, s *Draft) error {
	s.Facts.Append("a fact about " + s.Question.Get())
	return nil
}

// review returns the node that follows.
func review(_ context.Context, s *Draft) (graph.Command, error) {
	if s.Facts.Len() < 2 {
		return graph.Goto("search"), nil
	}
	return graph.Goto("ask"), nil
}

// ask pauses the run until a person answers.
func ask(ctx context.Context, s *Draft) error {
	ok, err := graph.Ask[bool](ctx, graph.Question{Prompt: "Publish?"})
	if err != nil {
		return err
	}
	s.Approved.Set(ok)
	return nil
}

// A graph with a loop and a question. The answer may arrive in another process, if the store is
// one that outlives this process.
func Example() {
	b := graph.New[Draft]("draft")
	b.Node("search", graph.Func(search))
	b.Node("review", graph.Router(review, "search", "ask"))
	b.Node("ask", graph.Func(ask))
	b.Edge(graph.Start, "search")
	b.Edge("search", "review")
	b.Edge("ask", graph.End)
	g, err := b.Compile(graph.Config{Store: new(checkpoint.Memory)})
	if err != nil {
		log.Fatal(err)
	}

	ctx, thread := context.Background(), graph.RunOptions{Thread: "demo"}
	res, err := g.Invoke(ctx, Draft{Question: state.Of("tea")}, thread)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.Interrupts[0].Prompt)

	res, err = g.Resume(ctx, graph.Reply(true), thread)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.State.Facts.Len(), res.State.Approved.Get())
	// Output:
	// interrupted Publish?
	// done 2 true
}

// Command review is the small graph of the README. It searches twice, asks a person, and continues
// with the answer. review.yaml is the same graph in YAML.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

type State struct { // the type of a field decides how writes to it are merged
	Question state.Value[string] `json:"question"`
	Facts    state.List[string]  `json:"facts"`
	Rounds   state.Sum[int]      `json:"rounds"`
	Approved state.Value[bool]   `json:"approved"`
}

func search(ctx context.Context, s *State) error { // s is this task's own view
	s.Facts.Append("a fact about " + s.Question.Get())
	s.Rounds.Add(1)
	return nil
}

func review(ctx context.Context, s *State) (graph.Command, error) {
	if s.Rounds.Get() < 2 {
		return graph.Goto("search"), nil
	}
	return graph.Goto("ask"), nil
}

func ask(ctx context.Context, s *State) error {
	ok, err := graph.Ask[bool](ctx, graph.Question{Prompt: "Ship it?"}) // pauses here
	if err != nil {
		return err
	}
	s.Approved.Set(ok)
	return nil
}

func compile(store checkpoint.Store) (*graph.Graph[State], error) {
	b := graph.New[State]("review")
	b.Node("search", graph.Func(search))
	b.Node("review", graph.Router(review, "search", "ask"))
	b.Node("ask", graph.Func(ask))
	b.Edge(graph.Start, "search")
	b.Edge("search", "review")
	b.Edge("ask", graph.End)
	return b.Compile(graph.Config{Store: store}) // every mistake at once, with its line
}

func main() {
	ctx, thread := context.Background(), graph.RunOptions{Thread: "t1"}
	g, err := compile(new(checkpoint.Memory))
	if err != nil {
		log.Fatal(err)
	}
	res, err := g.Invoke(ctx, State{Question: state.Of("why?")}, thread)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.Interrupts[0].Prompt) // interrupted Ship it?

	res, err = g.Resume(ctx, graph.Reply(true), thread) // here or in another process
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.State.Facts.Len(), res.State.Approved.Get()) // done 2 true
}

package graph_test

import (
	"context"
	"fmt"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

type State struct {
	Question state.Value[string] `json:"question"`
	Facts    state.List[string]  `json:"facts"`
	Rounds   state.Sum[int]      `json:"rounds"`
	Approved state.Value[bool]   `json:"approved"`
}

func search(ctx context.Context, s *State) error {
	s.Facts.Append("a fact about " + s.Question.Get())
	s.Rounds.Add(1)
	return nil
}

func review(ctx context.Context, s *State) (graph.Command, error) {
	if s.Rounds.Get() < 2 {
		return graph.Goto("search"), nil
	}
	ok, err := graph.Ask[bool](ctx, graph.Question{Prompt: "Ship it?"})
	if err != nil {
		return graph.Command{}, err
	}
	s.Approved.Set(ok)
	return graph.Goto(graph.End), nil
}

// The graph searches twice, asks a person, and continues with the answer.
func Example() {
	ctx := context.Background()
	b := graph.New[State]("review")
	b.Node("search", graph.Func(search).With(graph.Policy{Timeout: 30 * time.Second, Retry: graph.Retry{Attempts: 3}}))
	b.Node("review", graph.Router(review, "search", graph.End))
	b.Edge(graph.Start, "search")
	b.Edge("search", "review")
	g, err := b.Compile(graph.Config{Store: new(checkpoint.Memory)})
	if err != nil {
		fmt.Println(err)
		return
	}

	res, err := g.Invoke(ctx, State{Question: state.Of("why?")}, graph.RunOptions{Thread: "t1"})
	fmt.Println(res.Status, res.Interrupts[0].Prompt, err)

	res, err = g.Resume(ctx, graph.Answer(res.Interrupts[0].ID, true), graph.RunOptions{Thread: "t1"})
	fmt.Println(res.Status, res.State.Facts.Len(), "facts, approved:", res.State.Approved.Get(), err)
	// Output:
	// interrupted Ship it? <nil>
	// done 2 facts, approved: true <nil>
}

// The run has two readers that get all its events, and a goroutine that waits for its end.
func ExampleGraph_Start() {
	b := graph.New[State]("talk")
	b.Node("model", graph.Func(func(ctx context.Context, s *State) error {
		for _, delta := range []string{"forty", "-two"} {
			if err := graph.EmitMessage(ctx, graph.Token{ID: "m1", Role: "assistant", Delta: delta}); err != nil {
				return err
			}
		}
		s.Facts.Append("forty-two")
		return graph.EmitMessage(ctx, graph.Token{ID: "m1", Role: "assistant", Final: true, Text: "forty-two"})
	}))
	b.Edge(graph.Start, "model")
	b.Edge("model", graph.End)
	g, err := b.Compile(graph.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}

	live := g.Start(context.Background(), State{}, graph.RunOptions{Hold: true}) // it begins with the first reader or waiter
	words, log := live.Events(graph.Messages), live.Join(graph.Reader{Modes: graph.Updates, Lossy: true})
	for ev := range words {
		if ev.Mode == graph.Messages && !ev.Token.Streamed {
			fmt.Print(ev.Token.Delta, ev.Token.Text)
		}
	}
	fmt.Println()
	for ev := range log {
		if ev.Mode == graph.Updates {
			fmt.Println(ev.Node, string(ev.Writes))
		}
	}
	res, err := live.Wait()
	fmt.Println(res.Status, err)
	// Output:
	// forty-two
	// model {"facts":["forty-two"]}
	// done <nil>
}

// The node has two alternatives and two attempts. When all have failed, its handler continues the
// run.
func ExampleBuilder_OnError() {
	asks := func(where string) graph.Node[State] {
		return graph.Func(func(ctx context.Context, s *State) error {
			fmt.Println("attempt", graph.Attempt(ctx), "asks", where)
			return fmt.Errorf("%s is down", where)
		})
	}
	mend := func(_ context.Context, s *State, failure *graph.NodeError) (graph.Command, error) {
		s.Facts.Append("nothing is known")
		fmt.Println("handler:", failure.Node, failure.Kind(), "after attempt", failure.Attempt)
		return graph.Goto("review"), nil
	}

	b := graph.New[State]("careful")
	b.Node("search", graph.Fallback(asks("the library"), asks("the archive")))
	b.Node("sort", graph.Func(search))
	b.Node("review", graph.Router(review, "search", graph.End))
	b.Edge(graph.Start, "search")
	b.Edge("search", "sort")
	b.Edge("sort", "review")
	b.OnError("search", graph.Handler(mend, "review"))
	b.Defaults(graph.Policy{Timeout: time.Minute, Retry: graph.Retry{Attempts: 2, Initial: time.Millisecond}})
	g, err := b.Compile(graph.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var in State
	in.Rounds.Add(2)
	res, err := g.Invoke(context.Background(), in, graph.RunOptions{})
	fmt.Println(res.Status, res.State.Facts.Slice(), err)
	// Output:
	// attempt 1 asks the library
	// attempt 1 asks the archive
	// attempt 2 asks the library
	// attempt 2 asks the archive
	// handler: search error after attempt 2
	// interrupted [nothing is known] <nil>
}

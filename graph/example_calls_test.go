package graph_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// The side effect of the node happens once, although the node fails and runs again.
func ExampleOnce() {
	charged, tries := 0, 0
	b := graph.New[State]("pay")
	b.Node("pay", graph.Func(func(ctx context.Context, s *State) error {
		receipt, err := graph.Once(ctx, "charge", func(ctx context.Context) (string, error) {
			charged++ // graph.ExecutionID(ctx) is the key for the bank
			return "receipt 1", nil
		})
		if err != nil {
			return err
		}
		if tries++; tries == 1 {
			return errors.New("the mail server is away")
		}
		s.Facts.Append(receipt)
		return nil
	}).With(graph.Policy{Retry: graph.Retry{Attempts: 3, Initial: time.Nanosecond}}))
	b.Edge(graph.Start, "pay")
	b.Edge("pay", graph.End)
	g, err := b.Compile(graph.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := g.Invoke(context.Background(), State{}, graph.RunOptions{})
	fmt.Println(res.State.Facts, "tried", tries, "times, charged", charged, err)
	// Output:
	// ["receipt 1"] tried 2 times, charged 1 <nil>
}

// The node makes two calls at once. After a pause, both are replayed.
func ExampleGo() {
	fetched := 0
	fetch := func(what string) func(context.Context) (string, error) {
		return func(context.Context) (string, error) {
			fetched++
			return "news of " + what, nil
		}
	}
	b := graph.New[State]("news")
	b.Node("news", graph.Func(func(ctx context.Context, s *State) error {
		north := graph.Go(ctx, "fetch", fetch("the north"))
		a, err1 := north.Wait(ctx)
		south := graph.Go(ctx, "fetch", fetch("the south"))
		b, err2 := south.Wait(ctx)
		ok, err3 := graph.Ask[bool](ctx, graph.Question{Prompt: "Print " + a + " and " + b + "?"})
		s.Approved.Set(ok)
		return errors.Join(err1, err2, err3)
	}))
	b.Edge(graph.Start, "news")
	b.Edge("news", graph.End)
	g, err := b.Compile(graph.Config{Store: new(checkpoint.Memory)})
	if err != nil {
		fmt.Println(err)
		return
	}
	run := graph.RunOptions{Thread: "t1"}
	res, err := g.Invoke(context.Background(), State{}, run)
	fmt.Println(res.Interrupts[0].Prompt, err)
	res, err = g.Resume(context.Background(), graph.Reply(true), run)
	fmt.Println(res.Status, "fetched", fetched, "times", err)
	// Output:
	// Print news of the north and news of the south? <nil>
	// done fetched 2 times <nil>
}

// The child gives up and sends its parent to a person.
func ExampleToParent() {
	type Robot struct {
		Tries state.Sum[int] `json:"tries"`
	}
	r := graph.New[Robot]("robot")
	r.Node("try", graph.Router(func(_ context.Context, s *Robot) (graph.Command, error) {
		if s.Tries.Add(1); s.Tries.Get() < 3 {
			return graph.Goto("try"), nil
		}
		return graph.ToParent(graph.Goto("person"), State{Facts: state.ListOf("too hard for a robot")}), nil
	}, "try", graph.End))
	r.Edge(graph.Start, "try")
	robot, err := r.Compile(graph.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	b := graph.New[State]("support")
	b.Node("robot", graph.Subgraph(robot,
		func(*State) (Robot, error) { return Robot{}, nil },
		func(s *State, end *Robot) error { s.Facts.Append("done by a robot"); return nil },
		"person", graph.End))
	b.Node("person", graph.Func(func(_ context.Context, s *State) error {
		s.Facts.Append("done by a person")
		return nil
	}))
	b.Edge(graph.Start, "robot")
	b.Edge("person", graph.End)
	g, err := b.Compile(graph.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := g.Invoke(context.Background(), State{}, graph.RunOptions{})
	fmt.Println(res.State.Facts, err)
	// Output:
	// ["too hard for a robot","done by a person"] <nil>
}

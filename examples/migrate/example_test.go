package migrate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/react"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

// must returns v. The programs are short because they stop at the first error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func Example_chain() {
	type State struct {
		Topic, Text state.Value[string]
	}
	b := graph.New[State]("chain")
	b.Node("outline", graph.Func(func(_ context.Context, s *State) error {
		s.Text.Set("outline of " + s.Topic.Get())
		return nil
	}))
	b.Node("write", graph.Func(func(_ context.Context, s *State) error {
		s.Text.Set("text from " + s.Text.Get())
		return nil
	}))
	b.Edge(graph.Start, "outline")
	b.Edge("outline", "write")
	b.Edge("write", graph.End)
	g := must(b.Compile(graph.Config{}))

	res := must(g.Invoke(context.Background(), State{Topic: state.Of("tides")}, graph.RunOptions{}))
	fmt.Println(res.State.Text.Get())
	// Output: text from outline of tides
}

func Example_reducers() {
	type State struct {
		Facts state.List[string]
		Words state.Sum[int]
	}
	add := func(fact string) graph.Node[State] {
		return graph.Func(func(_ context.Context, s *State) error {
			s.Facts.Append(fact)
			s.Words.Add(len(strings.Fields(fact)))
			return nil
		})
	}
	b := graph.New[State]("reducers")
	b.Node("left", add("the moon pulls"))
	b.Node("right", add("the sea follows it"))
	b.Edge(graph.Start, "left") // both run in one step
	b.Edge(graph.Start, "right")
	b.Edge("left", graph.End)
	b.Edge("right", graph.End)
	g := must(b.Compile(graph.Config{}))

	res := must(g.Invoke(context.Background(), State{}, graph.RunOptions{}))
	fmt.Println(res.State.Facts.Slice(), res.State.Words.Get())
	// Output: [the moon pulls the sea follows it] 7
}

func Example_loop() {
	type State struct {
		Draft state.Value[string]
		Tries state.Sum[int]
	}
	b := graph.New[State]("loop")
	b.Node("write", graph.Func(func(_ context.Context, s *State) error {
		s.Tries.Add(1)
		s.Draft.Set(fmt.Sprintf("draft %d", s.Tries.Get()))
		return nil
	}))
	b.Edge(graph.Start, "write")
	b.Branch("write", func(_ context.Context, s *State) (graph.Command, error) {
		if s.Tries.Get() < 3 {
			return graph.Goto("write"), nil
		}
		return graph.Goto(graph.End), nil
	}, "write", graph.End)
	g := must(b.Compile(graph.Config{MaxSteps: 25}))

	res := must(g.Invoke(context.Background(), State{}, graph.RunOptions{}))
	fmt.Println(res.State.Draft.Get())
	// Output: draft 3
}

func Example_sends() {
	type State struct {
		Cities state.Value[[]string]
		Report state.List[string]
	}
	b := graph.New[State]("sends")
	b.Branch(graph.Start, func(_ context.Context, s *State) (cmd graph.Command, _ error) {
		for _, city := range s.Cities.Get() {
			cmd = cmd.Send("look", city)
		}
		return cmd, nil
	}, "look")
	b.Node("look", graph.Worker(func(_ context.Context, s *State, city string) error {
		s.Report.Append(city + " is dry")
		return nil
	}))
	b.Edge("look", graph.End)
	g := must(b.Compile(graph.Config{}))

	res := must(g.Invoke(context.Background(), State{Cities: state.Of([]string{"Oslo", "Lima"})}, graph.RunOptions{}))
	fmt.Println(res.State.Report.Slice()) // in the order of the Sends, whichever ended first
	// Output: [Oslo is dry Lima is dry]
}

func Example_agent() {
	weather := tool.Func(tool.Info{Name: "weather", Description: "the weather of a city"},
		func(_ context.Context, in struct {
			City string `json:"city"`
		}) (string, error) {
			return "It rains in " + in.City + ".", nil
		})
	m := model.Script( // openai.New(openai.Config{Model: "gpt-5-mini"}) is a real one
		model.Ask(message.Call{ID: "1", Name: "weather", Arguments: json.RawMessage(`{"city":"Oslo"}`)}),
		model.Say("Take an umbrella."),
	)
	b := must(react.New(react.Config{Model: m, Tools: must(tool.NewSet(weather))}))
	g := must(b.Compile(graph.Config{}))

	res := must(g.Invoke(context.Background(), react.Input("What shall I take to Oslo?"), graph.RunOptions{}))
	fmt.Println(res.State.Answer.Get())
	// Output: Take an umbrella.
}

func Example_memory() {
	type State struct {
		Messages message.Log
	}
	b := graph.New[State]("memory")
	b.Node("answer", graph.Func(func(_ context.Context, s *State) error {
		return s.Messages.Add(message.Assistant(fmt.Sprintf("I know %d messages.", s.Messages.Len())))
	}))
	b.Edge(graph.Start, "answer")
	b.Edge("answer", graph.End)
	store := &checkpoint.Memory{} // sqlite.Open, redis.OpenURL and postgres.Open outlive the process
	g := must(b.Compile(graph.Config{Store: store}))

	thread := graph.RunOptions{Thread: "user-7"}
	for _, text := range []string{"Hello.", "And now?"} {
		res := must(g.Invoke(context.Background(), State{Messages: message.LogOf(message.User(text))}, thread))
		last, _ := res.State.Messages.Last()
		fmt.Println(last.Text())
	}
	// Output:
	// I know 1 messages.
	// I know 3 messages.
}

func Example_approval() {
	type State struct {
		Amount state.Value[int]
		Status state.Value[string]
	}
	b := graph.New[State]("approval")
	b.Node("pay", graph.Func(func(ctx context.Context, s *State) error {
		amount, d, err := graph.Approve(ctx, graph.Approval[int]{Question: graph.Question{Prompt: "Pay?"}, Args: s.Amount.Get()})
		if err != nil {
			return err // the run waits, for days if it must
		}
		if !d.Approved() {
			s.Status.Set("refused: " + d.Message)
			return nil
		}
		s.Status.Set(fmt.Sprintf("paid %d", amount))
		return nil
	}))
	b.Edge(graph.Start, "pay")
	b.Edge("pay", graph.End)
	g := must(b.Compile(graph.Config{Store: &checkpoint.Memory{}}))

	thread := graph.RunOptions{Thread: "order-1"}
	res := must(g.Invoke(context.Background(), State{Amount: state.Of(120)}, thread))
	fmt.Println(res.Status, res.Interrupts[0].Prompt)
	res = must(g.Resume(context.Background(), graph.Reply(graph.EditTo(100)), thread)) // here or in another process
	fmt.Println(res.State.Status.Get())
	// Output:
	// interrupted Pay?
	// paid 100
}

func Example_history() {
	type State struct {
		Steps state.List[string]
	}
	b := graph.New[State]("history")
	for _, name := range []string{"a", "b", "c"} {
		b.Node(name, graph.Func(func(_ context.Context, s *State) error { s.Steps.Append(name); return nil }))
	}
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", "c")
	b.Edge("c", graph.End)
	store := &checkpoint.Memory{}
	g := must(b.Compile(graph.Config{Store: store}))

	ctx, thread := context.Background(), graph.RunOptions{Thread: "t1"}
	must(g.Invoke(ctx, State{}, thread))
	for commit := range graph.History(ctx, store, checkpoint.Key{Thread: "t1"}, checkpoint.Query{}) {
		if slices.Equal(commit.Next, []string{"c"}) {
			thread.At = commit.Checkpoint // before c
		}
	}
	res := must(g.Resume(ctx, graph.Answers{}, thread)) // a branch: c runs again, a and b do not
	fmt.Println(res.State.Steps.Slice())
	// Output: [a b c]
}

func Example_subgraph() {
	type Child struct {
		Text, Summary state.Value[string]
	}
	c := graph.New[Child]("summarize")
	c.Node("shorten", graph.Func(func(_ context.Context, s *Child) error {
		s.Summary.Set(strings.Fields(s.Text.Get())[0] + "…")
		return nil
	}))
	c.Edge(graph.Start, "shorten")
	c.Edge("shorten", graph.End)
	child := must(c.Compile(graph.Config{}))

	type State struct {
		Article, Lead state.Value[string]
	}
	b := graph.New[State]("paper")
	b.Node("lead", graph.Subgraph(child,
		func(s *State) (Child, error) { return Child{Text: state.Of(s.Article.Get())}, nil },
		func(s *State, end *Child) error { s.Lead.Set(end.Summary.Get()); return nil }))
	b.Edge(graph.Start, "lead")
	b.Edge("lead", graph.End)
	g := must(b.Compile(graph.Config{}))

	res := must(g.Invoke(context.Background(), State{Article: state.Of("Tides turn twice a day.")}, graph.RunOptions{}))
	fmt.Println(res.State.Lead.Get())
	// Output: Tides…
}

func Example_retryAndStream() {
	type State struct {
		Answer state.Value[string]
	}
	call := func(ctx context.Context, s *State) error {
		if graph.Attempt(ctx) == 1 {
			return errors.New("the model is busy")
		}
		for _, word := range []string{"It ", "rains."} {
			if err := graph.EmitMessage(ctx, graph.Token{ID: "1", Delta: word}); err != nil {
				return err
			}
		}
		s.Answer.Set("It rains.")
		return nil
	}
	b := graph.New[State]("stream")
	b.Node("answer", graph.Func(call).With(graph.Policy{
		Timeout: 10 * time.Second,
		Retry:   graph.Retry{Attempts: 3, Initial: time.Millisecond},
	}))
	b.Edge(graph.Start, "answer")
	b.Edge("answer", graph.End)
	g := must(b.Compile(graph.Config{}))

	for ev, err := range g.Stream(context.Background(), State{}, graph.RunOptions{Modes: graph.Messages | graph.Updates}) {
		if err != nil {
			panic(err)
		}
		fmt.Print(ev.Token.Delta)
		if ev.Mode == graph.Updates {
			fmt.Printf("\n%s wrote %s\n", ev.Node, ev.Writes)
		}
	}
	// Output:
	// It rains.
	// answer wrote {"Answer":"It rains."}
}

package chattest

import (
	"context"
	"errors"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

type talkState struct {
	Messages message.Log         `json:"messages"`
	Mood     state.Value[string] `json:"mood"`
}

// weather is the call of a tool that the model makes.
var weather = message.Call{ID: "call-1", Name: "weather", Arguments: []byte(`{"city":"Rome"}`)}

// speak streams a message, and adds it. id is unique in the thread.
func speak(ctx context.Context, s *talkState, id, reasoning string, pieces []string, calls ...message.Call) error {
	send := func(t graph.Token) error {
		t.ID, t.Role = id, "assistant"
		return graph.EmitMessage(ctx, t)
	}
	if reasoning != "" {
		if err := send(graph.Token{Reasoning: reasoning}); err != nil {
			return err
		}
	}
	text := ""
	for _, p := range pieces {
		text += p
		if err := send(graph.Token{Delta: p}); err != nil {
			return err
		}
	}
	for i, c := range calls {
		half := len(c.Arguments) / 2
		for _, piece := range []graph.TokenCall{
			{Index: i, ID: c.ID, Name: c.Name, Arguments: string(c.Arguments[:half])}, {Index: i, Arguments: string(c.Arguments[half:])},
		} {
			if err := send(graph.Token{Call: &piece}); err != nil {
				return err
			}
		}
	}
	if err := send(graph.Token{Final: true, Text: text, Usage: &graph.TokenUsage{Input: 3, Output: 5}}); err != nil {
		return err
	}
	m := message.Assistant(text, calls...)
	m.ID = id
	return s.Messages.Add(m)
}

// model answers what a person has said last: weather calls a tool, ask asks, wait waits until it is
// cancelled, and fail fails.
func model(ctx context.Context, s *talkState) error {
	last, _ := s.Messages.Last()
	switch last.Text() {
	case "weather":
		return speak(ctx, s, last.ID+"-call", "", nil, weather)
	case "sunny":
		m := message.Assistant("It is sunny.") // not streamed
		m.ID = last.ID + "-sunny"
		return s.Messages.Add(m)
	case "fail":
		return errors.New("the model is down")
	case "wait":
		if err := speak(ctx, s, last.ID+"-wait", "", []string{"Wait"}); err != nil {
			return err
		}
		<-ctx.Done()
		return context.Cause(ctx)
	case "ask":
		ok, err := graph.Ask[bool](ctx, graph.Question{Prompt: "Send it?"})
		if err != nil {
			return err
		}
		if !ok {
			return speak(ctx, s, last.ID+"-no", "", []string{"Not sent."})
		}
		return speak(ctx, s, last.ID+"-yes", "", []string{"Sent."})
	}
	if err := graph.Emit(ctx, map[string]string{"name": "note", "text": "thinking"}); err != nil {
		return err
	}
	s.Mood.Set("good")
	return speak(ctx, s, last.ID+"-answer", "Hm.", []string{"Hello, ", "world."})
}

// Talk compiles the graph of a model with a tool. Its messages are in the field messages.
func Talk(t testing.TB, store checkpoint.Store) graph.Untyped {
	t.Helper()
	b := graph.New[talkState]("talk")
	b.Node("model", graph.Func(model))
	b.Node("tools", graph.Func(func(_ context.Context, s *talkState) error {
		m := message.Tool(message.ResultOf(weather.ID, "sunny"))
		last, _ := s.Messages.Last()
		m.ID = last.ID + "-result"
		return s.Messages.Add(m)
	}))
	b.Edge(graph.Start, "model")
	b.Branch("model", func(_ context.Context, s *talkState) (graph.Command, error) {
		if last, _ := s.Messages.Last(); len(last.Calls) > 0 {
			return graph.Goto("tools"), nil
		}
		return graph.Goto(graph.End), nil
	}, "tools", graph.End)
	b.Edge("tools", "model")
	return compiled(t, b, store)
}

type doubleState struct {
	N      state.Value[int] `json:"n"`
	Double state.Value[int] `json:"double"`
}

// Double compiles a graph without messages. It doubles n.
func Double(t testing.TB, store checkpoint.Store) graph.Untyped {
	t.Helper()
	b := graph.New[doubleState]("double")
	b.Node("double", graph.Func(func(_ context.Context, s *doubleState) error {
		s.Double.Set(2 * s.N.Get())
		return nil
	}))
	b.Edge(graph.Start, "double")
	b.Edge("double", graph.End)
	return compiled(t, b, store)
}

func compiled[S any](t testing.TB, b *graph.Builder[S], store checkpoint.Store) graph.Untyped {
	t.Helper()
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return g.Untyped()
}

// Keys are the keys "key of ada" and "key of bob" of two callers.
func Keys() server.Auth {
	k := &server.Keys{}
	k.Add("ada", "key of ada")
	k.Add("bob", "key of bob")
	return server.Auth{Authenticate: k.Authenticate, Rules: server.Owners}
}

// Start returns a server of the graphs talk and double, which works until the end of the test.
func Start(t testing.TB, change ...func(*server.Config)) *server.Server {
	t.Helper()
	store := new(checkpoint.Memory)
	c := server.Config{Store: store, Graphs: map[string]graph.Untyped{"talk": Talk(t, store), "double": Double(t, store)}, Version: "1.2.3"}
	for _, f := range change {
		f(&c)
	}
	s, err := server.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); s.Work(ctx, server.Workers{Slots: 4}) }()
	t.Cleanup(func() { stop(); <-ended })
	return s
}

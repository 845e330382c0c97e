// Command triage is a support agent for a shop. A graph classifies a message, searches three
// sources at once, and lets a model answer with tools; a refund needs a person's decision. Each
// customer is a thread, so the second message knows the first, in another process or after a crash:
//
//	go run ./examples/triage run triage --thread ada --input message='my A-17 arrived broken'
//	go run ./examples/triage inbox edit --thread ada --args '{"order":"A-17","amount":20}'
//	go run ./examples/triage run triage --thread ada --input message='what did you refund?'
//
// The threads are in SQLite, or with --store redis://localhost:6379 in Redis. The model follows
// rules and needs no network; with OPENAI_API_KEY or OPENAI_BASE_URL a real model is used.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/model/openai"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/react"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
	"github.com/weftrun/weft/weftcli"
)

// State is what the graph knows. Fields tagged turn are reset by the next message.
type State struct {
	react.State
	Message   state.Value[string] `json:"message" weft:"turn"`
	Topic     state.Value[string] `json:"topic" weft:"turn"`
	Documents state.List[string]  `json:"documents" weft:"turn"`
	Customer  state.Set[string]   `json:"customer"` // what is remembered of the customer
	Reply     state.Value[string] `json:"reply" weft:"turn"`
}

// Topic is what the classifier answers.
type Topic struct {
	Topic string `json:"topic" jsonschema:"broken, delivery or other"`
}

// Refund are the arguments of the tool refund.
type Refund struct {
	Order  string  `json:"order" jsonschema:"the number, such as A-17"`
	Amount float64 `json:"amount"`
}

// shop is the world outside: what the sources know, and the bank.
type shop struct {
	find func(ctx context.Context, source, topic string) ([]string, error)
	pay  func(ctx context.Context, id string, r Refund) error
}

func (a shop) graph(m model.Model) (*graph.Builder[State], error) {
	classify := func(ctx context.Context, s *State) error {
		t, err := graph.Call(ctx, "classify", func(ctx context.Context) (Topic, error) {
			return model.Decode[Topic](ctx, m, model.Request{Messages: []message.Message{
				message.System("Classify the message."), message.User(s.Message.Get()),
			}})
		})
		s.Topic.Set(t.Topic)
		return err
	}
	byWords := func(_ context.Context, s *State) error { // if no model answers
		s.Topic.Set("other")
		if strings.Contains(s.Message.Get(), "broken") {
			s.Topic.Set("broken")
		}
		return nil
	}
	plan := func(_ context.Context, s *State) (cmd graph.Command, err error) {
		err = s.Messages.Add(message.User(s.Message.Get()))
		for _, source := range []string{"manuals", "orders", "policies"} {
			cmd = cmd.Send("search", source)
		}
		return cmd, err
	}
	search := func(ctx context.Context, s *State, source string) error {
		found, err := a.find(ctx, source, s.Topic.Get())
		s.Documents.Append(found...)
		return err
	}
	missing := func(_ context.Context, s *State, _ *graph.NodeError) (graph.Command, error) {
		s.Documents.Append("one source cannot be reached now")
		return graph.Goto(react.ModelNode), nil
	}
	remember := func(_ context.Context, s *State) error {
		s.Reply.Set(s.Answer.Get())
		s.Customer.Add("asked about " + s.Topic.Get())
		return nil
	}
	refund := tool.Func(tool.Info{Name: "refund", Description: "pays an order back", Mode: tool.Permit, Prompt: "Refund?"},
		func(ctx context.Context, r Refund) (string, error) {
			return fmt.Sprintf("refunded %.2f for %s", r.Amount, r.Order), a.pay(ctx, tool.ID(ctx), r)
		})
	tools, err := tool.NewSet(refund)

	brief := graph.Policy{Timeout: 20 * time.Second, Retry: graph.Retry{Attempts: 3, Initial: 100 * time.Millisecond}}
	b := graph.New[State]("triage")
	b.Node("classify", graph.Fallback(graph.Func(classify), graph.Func(byWords)).With(graph.Policy{Timeout: time.Minute}))
	b.Node("plan", graph.Router(plan, "search"))
	b.Node("search", graph.Worker(search).With(brief))
	b.OnError("search", graph.Handler(missing, react.ModelNode))
	b.Node("remember", graph.Func(remember))
	b.Edge(graph.Start, "classify")
	b.Edge("classify", "plan")
	b.Edge("search", react.ModelNode)
	b.Edge("remember", graph.End)
	return b, errors.Join(err, react.AddOf(b, func(s *State) *react.State { return &s.State },
		react.Config{Model: m, Tools: tools, Next: "remember", MaxTurns: 6},
		react.Of[State]{System: func(s *State) (string, error) {
			return fmt.Sprintf("You answer for a shop.\nThe customer: %s\nDocuments:\n%s",
				strings.Join(s.Customer.Slice(), "; "), strings.Join(s.Documents.Slice(), "\n")), nil
		}}))
}

// openGraph opens the graph over the store of the command line.
func openGraph(_ context.Context, store checkpoint.Store) (graph.Untyped, error) {
	m, err := choose()
	if err != nil {
		return nil, err
	}
	b, err := demoShop().graph(m)
	if err != nil {
		return nil, err
	}
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		return nil, err
	}
	return g.Untyped(), nil
}

func choose() (model.Model, error) {
	if os.Getenv("OPENAI_API_KEY") == "" && os.Getenv("OPENAI_BASE_URL") == "" {
		return rules(), nil
	}
	return openai.New(openai.Config{Model: "gpt-5-mini"})
}

func main() {
	weftcli.Main(weftcli.Config{
		Name:   "triage",
		Graphs: map[string]weftcli.Graph{"triage": openGraph},
		Stores: map[string]weftcli.Opener{"redis": func(ctx context.Context, url string) (checkpoint.Store, error) { return redis.OpenURL(ctx, url) }},
	})
}

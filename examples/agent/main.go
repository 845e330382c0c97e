// Command agent is a support agent for orders. It looks orders up, and refunds one after a person
// has approved the refund. Its model follows a few rules and needs no network. With OPENAI_API_KEY
// or OPENAI_BASE_URL in the environment, it uses a real model:
//
//	go run ./examples/agent
//	OPENAI_BASE_URL=http://localhost:11434/v1 OPENAI_MODEL=qwen3 go run ./examples/agent
package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/model/openai"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/react"
)

// Order is an order as the agent sees it.
type Order struct {
	ID    string  `json:"id"`
	What  string  `json:"what"`
	Paid  float64 `json:"paid"`
	State string  `json:"state"`
}

var orders = map[string]Order{
	"A-17": {"A-17", "a blue kettle", 39.90, "arrived broken"},
	"A-18": {"A-18", "two cups", 12.00, "on its way"},
}

var lookup = tool.Func(tool.Info{Name: "lookup", Description: "finds an order by its number"},
	func(_ context.Context, a struct {
		ID string `json:"id" jsonschema:"the number, such as A-17"`
	}) (Order, error) {
		o, ok := orders[a.ID]
		if !ok {
			return o, fmt.Errorf("there is no order %q", a.ID)
		}
		return o, nil
	})

var refund = tool.Func(tool.Info{Name: "refund", Description: "pays an order back", Mode: tool.Permit, Prompt: "Pay it back?"},
	func(ctx context.Context, a struct {
		ID     string  `json:"id"`
		Amount float64 `json:"amount"`
	}) (string, error) {
		// A real tool passes tool.ID(ctx) to the bank. The id is the same after a crash, so the
		// bank pays once.
		return fmt.Sprintf("paid back %.2f for %s", a.Amount, a.ID), nil
	})

func support(m model.Model, store checkpoint.Store) (*graph.Graph[react.State], error) {
	set, err := tool.NewSet(lookup, refund)
	if err != nil {
		return nil, err
	}
	b, err := react.New(react.Config{
		Name: "support", Model: m, Tools: set, MaxTurns: 8,
		System: "You answer for orders. Look an order up before you say anything about it. Refund what arrived broken.",
		Budget: model.Budget{Tokens: 50_000, Time: 5 * time.Minute},
	})
	if err != nil {
		return nil, err
	}
	return b.Compile(graph.Config{Store: store}) // every mistake at once
}

// talk runs one turn of a conversation. It reads decisions about approvals from in.
func talk(ctx context.Context, g *graph.Graph[react.State], thread, said string, in *bufio.Scanner, out io.Writer) error {
	o := graph.RunOptions{Thread: thread, Modes: graph.Messages}
	events := g.Stream(ctx, react.Input(said), o)
	for {
		var end graph.Event
		spoke := false // a model that calls a tool may not speak
		for ev, err := range events {
			if err != nil {
				return err
			}
			if ev.Mode == graph.Ended {
				end = ev
			}
			fmt.Fprint(out, ev.Token.Delta) // word by word
			spoke = spoke || ev.Token.Delta != ""
			if ev.Token.Final && spoke {
				fmt.Fprintln(out)
				spoke = false
			}
		}
		if end.Status != graph.Interrupted {
			return nil
		}
		var answers graph.Answers
		for _, q := range end.Interrupts {
			fmt.Fprintf(out, "? %s %s [y/N] ", q.Prompt, strings.Join(strings.Fields(q.Detail), " "))
			d := graph.Decision{Type: graph.DecisionReject, Message: "not now"}
			if in.Scan() && strings.EqualFold(strings.TrimSpace(in.Text()), "y") {
				d = graph.Decision{Type: graph.DecisionApprove}
			}
			fmt.Fprintln(out)
			answers = answers.Answer(q.ID, d)
		}
		events = g.StreamResume(ctx, answers, o) // here or in another process
	}
}

// choose returns the model that the environment configures, or else the model that follows rules.
func choose() (model.Model, error) {
	if os.Getenv("OPENAI_API_KEY") == "" && os.Getenv("OPENAI_BASE_URL") == "" {
		return rules(), nil
	}
	return openai.New(openai.Config{Model: cmp.Or(os.Getenv("OPENAI_MODEL"), "gpt-4.1-mini")})
}

func main() {
	m, err := choose()
	if err != nil {
		log.Fatal(err)
	}
	g, err := support(m, &checkpoint.Memory{})
	if err != nil {
		log.Fatal(err)
	}
	in := bufio.NewScanner(os.Stdin)
	for _, said := range []string{"What became of A-17?", "Then give me the money back.", "Thanks. And A-99?"} {
		fmt.Println(">", said)
		if err := talk(context.Background(), g, "t1", said, in, os.Stdout); err != nil {
			log.Fatal(err)
		}
	}
}

// Desk is a conversation about four years of Seattle's weather, with an agent that has six capabilities, each in a file
// of its own:
//
//	go run ./examples/desk chat --thread demo --say 'which measurements of rain do we have?'
//	go run ./examples/desk chat --thread demo --say 'monthly totals of those for 2013'
//	go run ./examples/desk chat --thread demo --say 'plot it'
//	go run ./examples/desk chat --thread demo --say 'export it'
//	go run ./examples/desk chat --thread demo --say yes
//
// Each line is a process of its own. Export asks first, so the fourth ends with a question (exit code 4), which the fifth
// answers. Without --say it is a chat on the terminal. What it draws and exports is below the folder out, or the one
// that DESK_OUT names.
//
// It thinks by the rules of rules.go. With OPENAI_API_KEY or OPENAI_BASE_URL a model thinks in their place, the one
// that OPENAI_MODEL names.
package main

import (
	"cmp"
	"context"
	"os"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/model/openai"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/weftcli"
)

func main() {
	weftcli.Main(weftcli.Config{
		Name:   "desk",
		Chats:  map[string]weftcli.Chat{"desk": open},
		Stores: map[string]weftcli.Opener{"redis": func(ctx context.Context, url string) (checkpoint.Store, error) { return redis.OpenURL(ctx, url) }},
	})
}

// open makes the agent over a store: with a model, if there is one.
func open(_ context.Context, store checkpoint.Store) (turn.Untyped, error) {
	var m model.Model
	if os.Getenv("OPENAI_API_KEY") != "" || os.Getenv("OPENAI_BASE_URL") != "" {
		asked, err := openai.New(openai.Config{Model: cmp.Or(os.Getenv("OPENAI_MODEL"), "gpt-4.1-mini")})
		if err != nil {
			return nil, err
		}
		m = asked
	}
	d, err := desk(store, cmp.Or(os.Getenv("DESK_OUT"), "out"), m)
	if err != nil {
		return nil, err
	}
	return d.Untyped(), nil
}

// desk is the agent: what it can do, what it can know, how it thinks. Without a model it thinks by rules.
func desk(store checkpoint.Store, out string, m model.Model) (*turn.Agent[agent.State], error) {
	can, err := capabilities.NewRegistry(find, timeRange, retrieve, analyse, plot(out), export(out))
	if err != nil {
		return nil, err
	}
	knows, err := agent.NewTypes(agent.TypeOf[Measurements](), agent.TypeOf[Range](), agent.TypeOf[Series](),
		agent.TypeOf[Table](), agent.TypeOf[Picture](), agent.TypeOf[File]())
	if err != nil {
		return nil, err
	}
	manager := agent.Manager{Types: knows}
	thinks := turn.Config{Manager: manager, Capabilities: can, Extract: extract, Match: match, Plan: plan, Answer: answer, Clarify: clarify}
	if m != nil {
		thinks = turn.WithModel(turn.Config{Manager: manager, Capabilities: can}, m)
	}
	g, err := turn.Graph("desk", thinks, graph.Config{Store: store})
	if err != nil {
		return nil, err
	}
	return turn.NewAgent(g, manager), nil
}

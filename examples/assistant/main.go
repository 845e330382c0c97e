// Assistant is an agent that talks about four years of Seattle's weather. It has six capabilities,
// each in its own file:
//
//	go run ./examples/assistant chat --thread demo --say 'which measurements of rain do we have?'
//	go run ./examples/assistant chat --thread demo --say 'monthly totals of those for 2013'
//	go run ./examples/assistant chat --thread demo --say 'plot it'
//	go run ./examples/assistant chat --thread demo --say 'export it'
//	go run ./examples/assistant chat --thread demo --say yes
//
// Each line is a process of its own. Export asks first, so the fourth ends with a question (exit
// code 4), and the fifth answers it. Without --say it is a chat on the terminal. Charts and tables
// are written to the folder out, or to the folder that ASSISTANT_OUT names.
//
// The agent follows the rules of rules.go. With OPENAI_API_KEY or OPENAI_BASE_URL it uses a model
// instead. OPENAI_MODEL names the model.
package main

import (
	"cmp"
	"context"
	"os"
	"time"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/model/openai"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/weftcli"
)

func main() {
	weftcli.Main(weftcli.Config{
		Name:   "assistant",
		Chats:  map[string]weftcli.Chat{"assistant": open},
		Stores: map[string]weftcli.Opener{"redis": func(ctx context.Context, url string) (checkpoint.Store, error) { return redis.OpenURL(ctx, url) }},
	})
}

// open returns the agent over a store, with a model if the environment configures one.
func open(ctx context.Context, store checkpoint.Store) (turn.Untyped, error) {
	var m model.Model
	if os.Getenv("OPENAI_API_KEY") != "" || os.Getenv("OPENAI_BASE_URL") != "" {
		asked, err := openai.New(openai.Config{Model: cmp.Or(os.Getenv("OPENAI_MODEL"), "gpt-4.1-mini")})
		if err != nil {
			return nil, err
		}
		m = asked
	}
	services, err := openServices(ctx, store)
	if err != nil {
		return nil, err
	}
	a, err := assistant(store, services, cmp.Or(os.Getenv("ASSISTANT_OUT"), "out"), m)
	if err != nil {
		return nil, err
	}
	return a.Untyped(), nil
}

// openServices returns the services of the store: the configuration of its threads, their
// conversations and their sessions.
func openServices(ctx context.Context, store checkpoint.Store) (*turn.Services, error) {
	docs, ok := store.(interface {
		Documents(context.Context) (document.Store, error)
	})
	if !ok {
		return nil, nil
	}
	d, err := docs.Documents(ctx)
	if err != nil {
		return nil, err
	}
	services, err := turn.NewServices(d)
	if err == nil {
		services.Within = 30 * time.Second // a file on a slow disk may need more than the default
	}
	return services, err
}

// assistant returns the agent: its capabilities, its context types, and its rules or its model.
func assistant(store checkpoint.Store, services *turn.Services, out string, m model.Model) (*turn.Agent[agent.State], error) {
	registry, err := capabilities.NewRegistry(find, timeRange, retrieve, analyse, plot(out), export(out))
	if err != nil {
		return nil, err
	}
	types, err := agent.NewTypes(agent.TypeOf[Measurements](), agent.TypeOf[Range](), agent.TypeOf[Series](),
		agent.TypeOf[Table](), agent.TypeOf[Picture](), agent.TypeOf[File]())
	if err != nil {
		return nil, err
	}
	manager := agent.StateManager{Types: types}
	c := turn.Config{Manager: manager, Capabilities: registry, Extract: extract, Match: match, Plan: plan, Answer: answer, Clarify: clarify}
	if m != nil {
		c = turn.WithModel(turn.Config{Manager: manager, Capabilities: registry}, m)
	}
	c.Services = services
	g, err := turn.Graph("assistant", c, graph.Config{Store: store})
	if err != nil {
		return nil, err
	}
	a := turn.NewAgent(g, manager)
	a.Services = services
	return a, nil
}

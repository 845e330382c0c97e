package weft

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/cli"
	"github.com/weftrun/weft/nodes"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/record"
)

// Config is what a program adds to the command line. The zero Config is the command
// weft itself.
type Config struct {
	// Name is how the program calls itself in help and errors; "" means weft.
	Name string
	// Nodes are nodes by the name that stands behind "uses: go:"; see workflow.Go.
	Nodes map[string]workflow.Kind
	// Reducers are those that fields of a file may name, by the name that stands behind
	// "reducer: go:"; see workflow.ReducerOf.
	Reducers map[string]workflow.Reducer
	// Types are types of files by the name that stands behind "go:"; see workflow.TypeOf.
	Types map[string]record.Type
	// Kinds are kinds of nodes by the key that a node has in a file, beside the
	// ready ones of package nodes. One with the name of a ready kind replaces it.
	Kinds map[string]workflow.Kind
	// Models are what the kinds llm and agent ask, by the name that files give.
	Models map[string]model.Model
	// Tools are what the kinds tool and agent call.
	Tools []tool.Tool
	// Capabilities are those of an agent that has nothing to say beside what it can do: one of the
	// program's name, next to Agents. It knows the types of context of what capabilities.Tool makes.
	Capabilities []capabilities.Capability
	// Agents are those whose capabilities the kinds capability and plan run, by name.
	Agents map[string]turn.Config
	// Stores open stores by scheme, beside sqlite: and memory:. --store redis://HOST is
	// opened by Stores["redis"], which gets the whole address; redis.OpenURL and
	// postgres.Open take it as it is. A program has in its binary only the clients of
	// the stores that it names here: the command weft names those of cmd/weft/stores.go.
	Stores map[string]Opener
	// Graphs are graphs in Go by name, which has to be the graph's own. The commands that take
	// a FILE take the name as well, and threads of a graph go on by it: see [Graph].
	Graphs map[string]Graph
	// Chats are agents by name, with which the command chat talks. Each is opened over the
	// store that --store names; package nodes/turn makes one: see [Chat].
	Chats map[string]Chat
}

// Opener opens the store at an address, which is what --store says.
type Opener = func(ctx context.Context, address string) (checkpoint.Store, error)

// Chat opens an agent over a store: it compiles the graph of its turns with that store, and returns
// its agent without the type of its state: see [turn.Agent.Untyped].
type Chat = func(ctx context.Context, store checkpoint.Store) (turn.Untyped, error)

// Graph opens a graph in Go over a store: it compiles the graph with that store, and returns it as
// [graph.Graph.Plain] does. [Built] makes one of a builder.
type Graph = func(ctx context.Context, store checkpoint.Store) (graph.Untyped, error)

// Built is the Graph of a builder, compiled with what the command replay needs.
func Built[S any](b *graph.Builder[S]) Graph {
	return func(_ context.Context, store checkpoint.Store) (graph.Untyped, error) {
		g, err := b.Compile(graph.Config{Store: store, Trace: true})
		if err != nil {
			return nil, err
		}
		return g.Untyped(), nil
	}
}

// Main carries out the command line of the process and ends the process with the
// exit code. It does not return.
func Main(c Config) {
	if _, err := c.program(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", cmp.Or(c.Name, "weft"), err)
		os.Exit(2)
	}
	os.Exit(cli.Main(context.Background(), c.commandLine()))
}

// program is what files may name; its error is that of the tools and of the capabilities.
func (c Config) program() (nodes.Program, error) {
	set, err := tool.NewSet(c.Tools...)
	agents, wrong := c.agents()
	return nodes.Program{Models: c.Models, Tools: set, Agents: agents}, errors.Join(err, wrong)
}

// agents are Agents, with the one of the capabilities.
func (c Config) agents() (map[string]turn.Config, error) {
	if len(c.Capabilities) == 0 {
		return c.Agents, nil
	}
	name, all := cmp.Or(c.Name, "weft"), map[string]turn.Config{}
	maps.Copy(all, c.Agents)
	reg, err := capabilities.NewRegistry(c.Capabilities...)
	types, wrong := capabilities.TypesOf(c.Capabilities...)
	err = errors.Join(err, wrong)
	if _, twice := all[name]; twice {
		err = errors.Join(err, fmt.Errorf("there are Capabilities and an agent %q: put them into its Config", name))
	}
	all[name] = turn.Config{Manager: agent.Manager{Types: types}, Capabilities: reg}
	return all, err
}

func (c Config) commandLine() cli.Config {
	all := cli.Config{Name: c.Name, Kinds: map[string]workflow.Kind{}, Stores: map[string]cli.Opener{},
		Graphs: map[string]cli.Graph{}, Chats: map[string]cli.Chat{}}
	has, _ := c.program() // Main has looked at the error
	maps.Copy(all.Kinds, has.Kinds())
	maps.Copy(all.Kinds, c.Kinds)
	for name, k := range c.Nodes {
		all.Kinds["go:"+name] = k
	}
	all.Reducers, all.Types = map[string]workflow.Reducer{}, map[string]record.Type{}
	for name, r := range c.Reducers {
		all.Reducers["go:"+name] = r
	}
	for name, t := range c.Types {
		all.Types["go:"+name] = t
	}
	for scheme, open := range c.Stores {
		all.Stores[scheme] = open
	}
	for name, open := range c.Graphs {
		all.Graphs[name] = open
	}
	for name, open := range c.Chats {
		all.Chats[name] = open
	}
	return all
}

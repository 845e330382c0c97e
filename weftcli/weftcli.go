package weftcli

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
	"github.com/weftrun/weft/internal/cli/verbs"
	"github.com/weftrun/weft/nodes"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/server"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/record"
)

// Config is what a program adds to the command line. The zero Config is the command weft itself.
type Config struct {
	// Name is the program's name in help texts and errors; "" means weft.
	Name string
	// Nodes are the program's nodes by the name after "uses: go:"; see workflow.Go.
	Nodes map[string]workflow.Kind
	// Reducers are the reducers that fields of a file can name, by the name after
	// "reducer: go:"; see workflow.ReducerOf.
	Reducers map[string]workflow.Reducer
	// Types are types of fields in files, by the name after "go:"; see workflow.TypeOf.
	Types map[string]record.Type
	// Kinds are kinds of nodes by their key in a file, in addition to those of package nodes.
	// A kind with the name of one of package nodes replaces it.
	Kinds map[string]workflow.Kind
	// Models are the models of the kinds llm and agent, by name.
	Models map[string]model.Model
	// Providers open the models that files and weft.yaml declare under models, by name, such as
	// "openai": openai.Provider().
	Providers map[string]model.Provider
	// Tools are the tools of the kinds tool and agent.
	Tools []tool.Tool
	// Capabilities make one more agent, with the name of the program. It knows the context
	// types of all that capabilities.Tool makes.
	Capabilities []capabilities.Capability
	// Agents are the agents whose capabilities the kinds capability and plan run, by name.
	Agents map[string]turn.Config
	// Stores open stores by scheme, in addition to sqlite: and memory:. The address
	// redis://HOST is opened by Stores["redis"], which gets the whole address; redis.OpenURL
	// and postgres.Open take it unchanged. A binary contains only the clients of the stores
	// that it names here: those of the command weft are in cmd/weft/stores.go.
	Stores map[string]Opener
	// Graphs are graphs in Go by name, which must be the graph's own name. Commands that take
	// a FILE take this name too, and resume its threads: see [Graph].
	Graphs map[string]Graph
	// Chats are the agents of the command chat, by name: see [Chat].
	Chats map[string]Chat
	// Server, if it is set, changes the settings of the server of the commands serve, dev and
	// worker after those of their flags: for example its Auth, Routes or Limits.
	Server func(*server.Config)
	// Engines open engines by scheme, for --engine. The address temporal://HOST:PORT/NAMESPACE is
	// opened by Engines["temporal"], which gets the whole address: see [Engine].
	Engines map[string]EngineOpener
	// Telemetry starts an export of traces and metrics, for --otlp: Open of package otlp of module
	// otel is one. nil is none.
	Telemetry TelemetryOpener
}

// Engine has runs carried out in other processes, which open the same store. Package engine of
// module temporal has one.
type Engine = verbs.Engine

// EngineConfig is what an engine is opened with.
type EngineConfig = verbs.EngineConfig

// EngineError is the error of an EngineOpener with what to do about it.
type EngineError = verbs.EngineError

// EngineOpener opens an engine.
type EngineOpener = verbs.EngineOpener

// TelemetryOpener starts an export to the address of --otlp. It returns the observer of the graphs,
// and a function that sends what is left and ends the export.
type TelemetryOpener = verbs.TelemetryOpener

// ErrNoTelemetry is the error of --otlp in a program without Config.Telemetry.
var ErrNoTelemetry = verbs.ErrNoTelemetry

// ErrNoEngine is the error of an engine that a program does not have.
var ErrNoEngine = verbs.ErrNoEngine

// Opener opens the store at an address, which is the value of --store.
type Opener = func(ctx context.Context, address string) (checkpoint.Store, error)

// Chat opens an agent over a store. It compiles the graph of the agent's turns with that store, and
// returns what [turn.Agent.Untyped] returns.
type Chat = func(ctx context.Context, store checkpoint.Store) (turn.Untyped, error)

// Graph opens a graph in Go over a store. It compiles the graph with that store, and returns what
// [graph.Graph.Untyped] returns. [Built] makes a Graph of a builder.
type Graph = func(ctx context.Context, store checkpoint.Store) (graph.Untyped, error)

// Built returns the Graph of a builder, compiled with the traces that the command replay needs.
func Built[S any](b *graph.Builder[S]) Graph {
	return func(_ context.Context, store checkpoint.Store) (graph.Untyped, error) {
		g, err := b.Compile(graph.Config{Store: store, Trace: true})
		if err != nil {
			return nil, err
		}
		return g.Untyped(), nil
	}
}

// Main runs the command line of the process and exits with its exit code. It does not return.
func Main(c Config) {
	config, err := c.commandLine()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", cmp.Or(c.Name, "weft"), err)
		os.Exit(2)
	}
	os.Exit(verbs.Main(context.Background(), config))
}

// program returns the models, tools and agents that files can name.
func (c Config) program() (nodes.Program, error) {
	set, err := tool.NewSet(c.Tools...)
	agents, agentsErr := c.agents()
	return nodes.Program{Models: c.Models, Providers: c.Providers, Tools: set, Agents: agents}, errors.Join(err, agentsErr)
}

// agents returns Agents and the agent that Capabilities make.
func (c Config) agents() (map[string]turn.Config, error) {
	if len(c.Capabilities) == 0 {
		return c.Agents, nil
	}
	name, all := cmp.Or(c.Name, "weft"), map[string]turn.Config{}
	maps.Copy(all, c.Agents)
	registry, err := capabilities.NewRegistry(c.Capabilities...)
	types, typesErr := capabilities.TypesOf(c.Capabilities...)
	err = errors.Join(err, typesErr)
	if _, twice := all[name]; twice {
		err = errors.Join(err, fmt.Errorf("agent %q exists: add the Capabilities to its Config", name))
	}
	all[name] = turn.Config{Manager: agent.StateManager{Types: types}, Capabilities: registry}
	return all, err
}

// commandLine returns the configuration of the commands.
func (c Config) commandLine() (verbs.Config, error) {
	program, err := c.program()
	all := verbs.Config{
		Name: c.Name, Stores: c.Stores, Graphs: c.Graphs, Chats: c.Chats, Engines: c.Engines, Telemetry: c.Telemetry, Server: c.Server,
		Options: workflow.Options{Kinds: program.Kinds(), Sections: program.Sections(), Reducers: prefixed(c.Reducers), Types: prefixed(c.Types)},
	}
	maps.Copy(all.Options.Kinds, c.Kinds)
	maps.Copy(all.Options.Kinds, prefixed(c.Nodes))
	return all, err
}

// prefixed returns a map with "go:" before each name.
func prefixed[T any](m map[string]T) map[string]T {
	all := make(map[string]T, len(m))
	for name, v := range m {
		all["go:"+name] = v
	}
	return all
}

package verbs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/server"
)

// Engine has runs carried out in other processes, which open the same store.
type Engine interface {
	// Graph returns the graph whose runs the engine has carried out.
	Graph(g graph.Untyped) (graph.Untyped, error)
	// Work carries out runs of the graphs until ctx ends, and then lets the steps that run finish.
	Work(ctx context.Context, graphs []graph.Untyped) error
	Close() error
}

// EngineConfig is what an engine is opened with.
type EngineConfig struct {
	Address string // the value of --engine
	Store   checkpoint.Store
	Bus     topic.Bus // of the store
	// Documents are those of the store; nil if it keeps none.
	Documents document.Store
	// Settings decodes the settings of a run, as the server makes them.
	Settings func(json.RawMessage) (any, error)
	Grace    time.Duration // for nodes whose run is cancelled; 0 is the default of the engine
	Drain    time.Duration // for steps when Work ends; 0 is the default of the engine
	Log      *slog.Logger
}

// EngineOpener opens an engine.
type EngineOpener = func(ctx context.Context, c EngineConfig) (Engine, error)

// ErrNoEngine is the error of an engine that this program does not have.
var ErrNoEngine = errors.New("this program does not have the engine")

// enginePrograms are the programs with engines that the stock command line lacks, by scheme.
var enginePrograms = map[string]string{"temporal": "github.com/weftrun/weft/temporal/cmd/weft"}

// engineFlag adds the flag --engine to the verbs that run graphs.
func (a *app) engineFlag(cmds ...*cobra.Command) {
	for _, cmd := range cmds {
		cmd.Flags().StringVar(&a.grants.engine, "engine", "", "what runs the steps: "+a.enginesInWords()+" (default this process)")
	}
}

func (a *app) enginesInWords() string {
	if names := slices.Sorted(maps.Keys(a.config.Engines)); len(names) > 0 {
		return strings.Join(names, ":, ") + ":"
	}
	return "temporal://HOST:PORT/NAMESPACE in a program that has it"
}

// openEngine opens the engine that the command line names. log may be nil.
func (a *app) openEngine(ctx context.Context, store checkpoint.Store, c EngineConfig) (Engine, error) {
	address := a.grants.engine
	scheme, _, ok := strings.Cut(address, ":")
	if !ok {
		return nil, reports.Usage("write it as temporal://HOST:PORT/NAMESPACE", "the engine %q has no scheme", address)
	}
	open := a.config.Engines[scheme]
	if open == nil {
		next := "leave --engine out: the steps then run in this process"
		if names := slices.Sorted(maps.Keys(a.config.Engines)); len(names) > 0 {
			next = "use one of " + strings.Join(names, ", ")
		}
		if program := enginePrograms[scheme]; program != "" {
			next = fmt.Sprintf("use the program %[1]s, this command line with the engine: go install %[1]s@latest; a program of your own names it in weftcli.Config.Engines", program)
		}
		return nil, reports.Usage(next, "%w %q", ErrNoEngine, scheme)
	}
	if a.forgets() {
		return nil, reports.Usage("name a store of redis: or postgres: with --store", "the workers of an engine share no store in memory")
	}
	bus, err := topic.Of(ctx, store)
	if err != nil {
		return nil, err
	}
	c.Address, c.Store, c.Bus, c.Settings = address, store, bus, decodeSettings
	if c.Documents, err = a.documents(ctx, store); err != nil && !errors.Is(err, errKeepsNo) {
		return nil, err
	}
	e, err := open(ctx, c)
	if err != nil {
		return nil, reports.Usage("check that the server of the engine runs at this address", "the engine %q cannot be used: %w", reports.WithoutPassword(address), err)
	}
	return e, nil
}

// decodeSettings decodes the settings of a run of the server.
func decodeSettings(data json.RawMessage) (any, error) {
	var s server.Settings
	err := json.Unmarshal(data, &s)
	return s, err
}

// onEngine returns a graph whose runs the engine has carried out that the command line names, if it
// names one. The engine is closed with the command.
func (a *app) onEngine(ctx context.Context, store checkpoint.Store, d declared) (declared, error) {
	if a.grants.engine == "" {
		return d, nil
	}
	if a.runner == nil {
		e, err := a.openEngine(ctx, store, EngineConfig{})
		if err != nil {
			return d, err
		}
		a.runner = e
	}
	g, err := a.runner.Graph(d.Untyped)
	if err != nil {
		return d, err
	}
	if d.Untyped = g; d.agent != nil {
		d.agent = d.agent.On(g)
	}
	return d, nil
}

// workForEngine carries out runs of the engine until a signal.
func (a *app) workForEngine(ctx context.Context, f serveFlags, args []string) error {
	log, err := a.logger(f.log)
	if err != nil {
		return err
	}
	return withStore(ctx, a.open, func(store checkpoint.Store) error {
		e, err := a.openEngine(ctx, store, EngineConfig{Grace: f.workers.Grace, Drain: f.workers.Drain, Log: log})
		if err != nil {
			return err
		}
		a.runner = e
		v, err := sources{app: a, args: args, store: store, local: true}.open(ctx)
		if err != nil {
			return err
		}
		working, stop := context.WithCancel(ctx)
		defer stop()
		defer a.signals.OnFirst(func() {
			a.Note("draining; one more signal stops at once")
			stop()
		})()
		a.working(slices.Sorted(maps.Keys(v.graphs)))
		return e.Work(working, slices.Collect(maps.Values(v.graphs)))
	})
}

// closeEngine closes the engine of the command.
func (a *app) closeEngine() {
	if a.runner != nil {
		_ = a.runner.Close() // the command has ended, and nothing waits for the engine
	}
}

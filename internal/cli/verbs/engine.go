package verbs

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/cli/serve"
	"github.com/weftrun/weft/server"
)

// Engine has runs carried out in other processes, which open the same store.
type Engine interface {
	// Graph returns the graph whose runs the engine has carried out.
	Graph(g graph.Untyped) (graph.Untyped, error)
	// Work carries out runs of the graphs until stop is closed, and then lets the steps that run
	// finish. When ctx ends it cancels them, and returns the cause within a second or so.
	Work(ctx context.Context, stop <-chan struct{}, graphs []graph.Untyped) error
	// Doctor examines the server of the engine. It needs no store.
	Doctor(ctx context.Context) []checkpoint.Finding
	Close() error
}

// EngineError is the error of an EngineOpener with what to do about it.
type EngineError struct {
	Err  error
	Next string
}

func (e *EngineError) Error() string { return e.Err.Error() }
func (e *EngineError) Unwrap() error { return e.Err }

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
	// CancelTimeout is how long the caller of a run that it has cancelled waits for the end of the
	// run; 0 is the default of the engine.
	CancelTimeout time.Duration
	// NoWorkers is called when a run waits and no worker is there for it; nil is none. place names
	// what workers poll.
	NoWorkers func(place string)
	// Signer signs the decisions that Work stores, see graph.WithSigner; nil for none.
	Signer ed25519.PrivateKey
	Log    *slog.Logger
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
	open, err := a.engineOpener()
	if err != nil {
		return nil, err
	}
	if a.inMemory() {
		return nil, reports.Usage("name a store of redis: or postgres: with --store", "the workers of an engine share no store in memory")
	}
	if c.Bus, err = topic.Of(ctx, store); err != nil {
		return nil, err
	}
	c.Store, c.Settings = store, decodeSettings
	if c.Documents, err = a.documents(ctx, store); err != nil && !errors.Is(err, errKeepsNo) {
		return nil, err
	}
	return open(ctx, c)
}

// engineOpener returns what opens the engine that the command line names.
func (a *app) engineOpener() (EngineOpener, error) {
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
	return func(ctx context.Context, c EngineConfig) (Engine, error) {
		c.Address = address
		e, err := open(ctx, c)
		if err != nil {
			next, known := "check that the server of the engine runs at this address", (*EngineError)(nil)
			if errors.As(err, &known) {
				next = known.Next
			}
			return nil, reports.Usage(next, "the engine %q cannot be used: %w", reports.WithoutPassword(address), err)
		}
		return e, nil
	}, nil
}

// decodeSettings decodes the settings of a run of the server.
func decodeSettings(data json.RawMessage) (any, error) {
	var s server.Settings
	err := json.Unmarshal(data, &s)
	return s, err
}

// onEngine returns a graph whose runs the engine has carried out that the command line names, if it
// names one. name is that of the graph or its file. The engine is closed with the command.
func (a *app) onEngine(ctx context.Context, store checkpoint.Store, name string, d declared) (declared, error) {
	if a.grants.engine == "" {
		return d, nil
	}
	if a.runner == nil {
		e, err := a.openEngine(ctx, store, EngineConfig{CancelTimeout: a.cancelTimeout, NoWorkers: a.noWorkers(name)})
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

// noWorkers returns a function that reports once that a run waits for a worker.
func (a *app) noWorkers(name string) func(place string) {
	var once sync.Once
	return func(place string) {
		once.Do(func() {
			a.noteBeside(fmt.Sprintf("no worker polls %s, and the run waits for one; start it with %s", place, a.Command("worker", name)))
		})
	}
}

// workForEngine carries out runs of the engine until a signal. Beside that it wakes threads, and
// begins the runs of schedules. Those runs are the engine's too.
func (a *app) workForEngine(ctx context.Context, f serveFlags, args []string) error {
	log, err := a.logger(f.log)
	if err == nil {
		err = f.check()
	}
	if err != nil {
		return err
	}
	f.workers.WakeOnly = true        // a server has the flags for the rest
	a.busyTimeout = 30 * time.Second // several workers may write to one file all the time
	return withStore(ctx, a.open, func(store checkpoint.Store) error {
		e, err := a.openEngine(ctx, store, EngineConfig{Grace: f.workers.Grace, Drain: f.workers.Drain, Signer: a.signer, Log: log})
		if err != nil {
			return err
		}
		a.runner = e
		o, err := a.openServer(ctx, f, args, store, log)
		if err != nil {
			return err
		}
		p := serve.Config{Server: o.Server, Workers: f.workers, Log: log, Ready: func(string) { a.working(o.GraphIDs()) }}
		worked := make(chan error, 1)
		err = a.runServer(ctx, p, func(besides context.Context, stop func()) {
			worked <- e.Work(ctx, besides.Done(), slices.Collect(maps.Values(o.first.local)))
			stop()
		})
		return errors.Join(err, <-worked)
	})
}

// closeEngine closes the engine of the command.
func (a *app) closeEngine() {
	if a.runner != nil {
		_ = a.runner.Close() // the command has ended, and nothing waits for the engine
	}
}

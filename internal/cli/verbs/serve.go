package verbs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/demo"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/cli/serve"
	"github.com/weftrun/weft/server"
)

// defaultListen is where clients of the LangGraph server expect one on this machine.
const defaultListen = "127.0.0.1:2024"

// What clients of the server, and its operators, set in the environment.
const (
	defaultsVariable = "LANGGRAPH_CONFIG"    // the settings of the system assistants, as JSON by graph
	secretVariable   = "WEFT_WEBHOOK_SECRET" // signs webhooks
)

// studioOff is the value of --studio without pages.
const studioOff = "off"

// studios are the values of --studio.
var studios = []string{string(server.StudioOn), string(server.StudioRead), studioOff}

func (a *app) serveVerb() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve [FILE|DIR|NAME...]",
		Short: "Serve graphs over HTTP to clients of the LangGraph server",
		Long: `Serve serves the workflows, the graphs in Go and the agents that are named, and of a folder all
workflows below it. Without a name it serves the graphs of this program, or if it has none
the workflows below the current folder. It runs their runs too. Any number of processes may
serve one store.

With --engine the workers of the engine run the steps, and all servers on the store must have
the same engine. Runs go on while no server lives.

The first Ctrl-C or SIGTERM drains: runs stop at the end of their step, and go on in another
process, or when this one is started again. The second stops at once.`,
		Args: a.arguments("FILE", 0, math.MaxInt),
		RunE: func(cmd *cobra.Command, args []string) error { return a.serve(cmd.Context(), f, args) },
	}
	f.listenFlags(cmd)
	cmd.Flags().StringArrayVar(&f.origins, "cors", nil, "ORIGIN of a page that may call the server, such as https://app.example.com, or *; repeatable")
	return cmd
}

func (a *app) devVerb() *cobra.Command {
	f := serveFlags{reload: true, studio: string(server.StudioOn)}
	cmd := &cobra.Command{
		Use:   "dev [FILE|DIR|NAME...]",
		Short: "Serve graphs during development: files are read again when they change",
		Long: `Dev is serve for development. When a workflow changes, or comes to a folder, it is served as it
is then; a run that is running ends with the version that it began with. Pages of every
origin may call the server.

With --demo it serves two graphs of its own, one to chat with, which need no network and no
model. Their threads are in memory, unless --store names a store.`,
		Args: a.arguments("FILE", 0, math.MaxInt),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.demo {
				if len(args) > 0 {
					return reports.Usage("leave out --demo to serve files", "--demo serves a graph of its own, and no files")
				}
				a.showDemo()
			}
			return a.serve(cmd.Context(), f, args)
		},
	}
	f.listenFlags(cmd)
	cmd.Flags().BoolVar(&f.demo, "demo", false, "serve a graph that shows the studio, in place of files")
	cmd.Flags().StringArrayVar(&f.origins, "cors", []string{"*"}, "ORIGIN of a page that may call the server; repeatable")
	return cmd
}

// demoPace is how long each step of the demonstration takes at least.
const demoPace = 700 * time.Millisecond

// showDemo makes the demonstration the only graphs of the program.
func (a *app) showDemo() {
	a.Store = cmp.Or(a.Store, "memory:")
	a.config.Chats = nil
	a.config.Graphs = map[string]Graph{
		demo.Name: func(_ context.Context, store checkpoint.Store) (graph.Untyped, error) {
			return demo.Graph(store, demoPace)
		},
		demo.AssistantName: func(_ context.Context, store checkpoint.Store) (graph.Untyped, error) {
			return demo.Assistant(store, demoPace)
		},
	}
}

func (a *app) workerVerb() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "worker [FILE|DIR|NAME...]",
		Short: "Run the runs of a server's store, without listening",
		Long: `Worker runs the runs that servers on the same store have accepted. It must know the graphs
that they serve: name the same files, in the same program. It ends as serve does.

With --engine it runs the steps of runs that the engine has, for the commands with the same
--engine and the same store. The server of the engine gives it work. It wakes threads, and leaves
the runs of a server's API to servers, so --slots and --lease have no meaning.`,
		Args: a.arguments("FILE", 0, math.MaxInt),
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.inMemory() && a.grants.engine == "" {
				return reports.Usage("name a store of sqlite:, redis: or postgres: with --store", "a worker shares no store in memory with a server")
			}
			if a.grants.engine != "" {
				return a.workForEngine(cmd.Context(), f, args)
			}
			return a.serve(cmd.Context(), f, args)
		},
	}
	f.workFlags(cmd)
	return cmd
}

// logger returns the log of a process.
func (a *app) logger(level string) (*slog.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil || !slices.Contains([]string{"debug", "info", "warn", "error"}, level) {
		return nil, reports.Usage("use one of debug, info, warn, error", "there is no level %q", level)
	}
	o := &slog.HandlerOptions{Level: least}
	if a.JSON {
		return slog.New(slog.NewJSONHandler(a.Stderr, o)), nil
	}
	return slog.New(slog.NewTextHandler(a.Stderr, o)), nil
}

// serve serves until a signal.
func (a *app) serve(ctx context.Context, f serveFlags, args []string) error {
	log, err := a.logger(f.log)
	if err == nil {
		err = f.check()
	}
	if err != nil {
		return err
	}
	if f.workers.Slots == 0 {
		f.workers.Slots = -1 // 0 is the default of the server
	}
	a.busyTimeout = 30 * time.Second // several servers may write to one file all the time
	a.cancelTimeout = 0              // a client of the server cancels a run, and no signal
	return withStore(ctx, a.open, func(store checkpoint.Store) error {
		o, err := a.openServer(ctx, f, args, store, log)
		if err != nil {
			return err
		}
		p := serve.Config{
			Server: o.Server, Workers: f.workers, Listen: f.listen, Log: log,
			Guard: serve.Guard{Loopback: o.config.Auth.Authenticate == nil && !f.insecure, Hosts: f.hosts},
			Ready: func(url string) {
				pages := ""
				if o.config.Studio != server.StudioOff && url != "" {
					pages = url + strings.TrimSuffix(f.studioBase, "/") + "/"
				}
				a.ready(url, pages, o.Server)
			},
		}
		if !f.reload {
			return a.runServer(ctx, p, func(context.Context, func()) {})
		}
		return a.runServer(ctx, p, func(ctx context.Context, _ func()) { o.sources.watch(ctx, o.Server, o.first) })
	})
}

// openedServer is a server with what it was made of.
type openedServer struct {
	*server.Server
	config  server.Config
	sources sources
	first   edition
}

// openServer returns a server of the graphs that args name.
func (a *app) openServer(ctx context.Context, f serveFlags, args []string, store checkpoint.Store, log *slog.Logger) (o openedServer, err error) {
	o.sources = sources{app: a, args: args, store: store}
	if o.config, err = f.config(store); err != nil {
		return o, err
	}
	if o.first, err = o.sources.open(ctx); err != nil {
		return o, err
	}
	o.config.Graphs, o.config.Log = o.first.graphs, log
	o.config.Editor = a.editor(o.sources, o.first, f.reload && !f.demo)
	if a.config.Server != nil {
		a.config.Server(&o.config)
	}
	if err = f.checkCallers(o.config.Auth); err != nil {
		return o, err
	}
	if f.embedder != "" {
		if err = a.embed(&o.config, f.embedder); err != nil {
			return o, err
		}
	}
	if o.Server, err = server.New(ctx, o.config); err != nil {
		return o, err
	}
	return o, o.first.declare(ctx, o.Timers())
}

// runServer runs a process until a signal, or until beside calls stop. beside runs with it.
func (a *app) runServer(ctx context.Context, c serve.Config, beside func(ctx context.Context, stop func())) error {
	c.Signer = a.signer
	stopped := make(chan struct{})
	stop := sync.OnceFunc(func() { close(stopped) })
	defer a.signals.OnFirst(func() {
		a.Note("draining; one more signal stops at once")
		stop()
	})()
	// A run belongs to the caller who created it, and not to the user of this command.
	own, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	besides, end := context.WithCancel(own)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		beside(besides, stop)
	}()
	defer func() { end(); <-ended }()
	err := serve.Run(own, stopped, c)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, serve.ErrListen) {
		return &reports.Failure{Code: reports.ExitFailed, Err: err, Next: "choose another address with --listen HOST:PORT; port 0 takes a free one"}
	}
	return err
}

// ready reports that the process works. studio is the address of its pages, or "".
func (a *app) ready(url, studio string, srv *server.Server) {
	if url == "" {
		a.working(srv.GraphIDs())
		return
	}
	text := fmt.Sprintf("listening on %s with %s\n", url, strings.Join(srv.GraphIDs(), ", "))
	if studio != "" {
		text += fmt.Sprintf("studio at %s\n", studio)
	}
	a.report(url, studio, srv.GraphIDs(), text)
}

// working reports that the process works, without an address.
func (a *app) working(graphs []string) {
	a.report("", "", graphs, fmt.Sprintf("working for %s\n", strings.Join(graphs, ", ")))
}

func (a *app) report(url, studio string, graphs []string, text string) {
	if !a.JSON {
		fmt.Fprint(a.Stdout, text)
		return
	}
	_ = a.PrintJSON(struct {
		URL    string   `json:"url,omitempty"`
		Studio string   `json:"studio,omitempty"`
		Graphs []string `json:"graphs"`
	}{url, studio, graphs})
}

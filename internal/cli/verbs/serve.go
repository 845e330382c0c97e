package verbs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
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
	"github.com/weftrun/weft/server/queue"
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

// serveFlags are the flags of serve, dev and worker.
type serveFlags struct {
	listen          string // "" does not listen
	auth            serve.Auth
	insecure        bool
	hosts, origins  []string
	notify          string // the URL that gets notices; "" for none
	webhookHosts    []string
	privateWebhooks bool
	truncate        bool
	lease           time.Duration
	embedder        string
	studio          string
	studioBase      string
	workers         server.Workers
	log             string
	reload          bool
	demo            bool
}

// workFlags adds the flags of all three commands.
func (f *serveFlags) workFlags(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.workers.Slots, "slots", 64, "how many runs run at once; 0 leaves all runs to other processes")
	cmd.Flags().DurationVar(&f.workers.Grace, "grace", 10*time.Second, "how long a node may go on when its run was cancelled")
	cmd.Flags().DurationVar(&f.workers.Drain, "drain", 25*time.Second, "how long a run may finish its step when the process stops")
	cmd.Flags().DurationVar(&f.lease, "lease", queue.DefaultLease, "how long a process keeps its runs without a sign of life; raise it for a store that stalls")
	cmd.Flags().StringVar(&f.notify, "notify", "", "URL that gets the reminders and escalations of open questions; set it for each process on the store (default only the log)")
	cmd.Flags().StringArrayVar(&f.webhookHosts, "webhook-host", nil, "HOST that webhooks may call, such as *.example.com; repeatable (default all public ones)")
	cmd.Flags().BoolVar(&f.privateWebhooks, "allow-private-webhooks", false, "let webhooks call this machine and private networks")
	cmd.Flags().StringVar(&f.log, "log", "info", "the least level of the lines on stderr: debug, info, warn or error")
}

// listenFlags adds the flags of the commands that listen.
func (f *serveFlags) listenFlags(cmd *cobra.Command) {
	f.workFlags(cmd)
	cmd.Flags().StringVar(&f.listen, "listen", defaultListen, "HOST:PORT to listen at; port 0 chooses one")
	cmd.Flags().StringVar(&f.auth.From, "auth", "", "keys:FILE with API keys, or jwt:FILE with the public key or secret of an issuer; env:NAME in place of FILE reads a variable")
	cmd.Flags().StringVar(&f.auth.Issuer, "auth-issuer", "", "the issuer that a token must have")
	cmd.Flags().StringVar(&f.auth.Audience, "auth-audience", "", "the audience that a token must have")
	cmd.Flags().BoolVar(&f.insecure, "insecure", false, "listen to other machines without --auth")
	cmd.Flags().StringArrayVar(&f.hosts, "host", nil, "NAME under which this machine may be called without --auth; repeatable (default names of this machine)")
	cmd.Flags().StringVar(&f.studio, "studio", cmp.Or(f.studio, studioOff), "pages below /studio/ for a browser: on, read (they change nothing) or off")
	cmd.Flags().StringVar(&f.studioBase, "studio-base", "/studio", "the PATH of these pages, such as /tools/weft/studio behind a proxy")
	cmd.Flags().Lookup("studio").NoOptDefVal = string(server.StudioOn)
	cmd.Flags().StringVar(&f.embedder, "embedder", "", "NAME under embedders of weft.yaml: the model by which the store API finds items by meaning")
	cmd.Flags().BoolVar(&f.truncate, "allow-truncate", false, "let clients on this machine remove all threads, for tests")
}

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
			if a.forgets() && a.grants.engine == "" {
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

// check returns the error of flags that do not fit each other.
func (f *serveFlags) check() error {
	if f.lease != 0 && f.lease < server.MinLease { // the server chooses for 0
		return reports.Usage("leave it out for "+queue.DefaultLease.String(), "--lease must be at least %v (got %v)", server.MinLease, f.lease)
	}
	if f.listen == "" {
		return nil
	}
	if !slices.Contains(studios, f.studio) {
		return reports.Usage("use one of "+strings.Join(studios, ", "), "there is no studio %q", f.studio)
	}
	if !strings.HasPrefix(f.studioBase, "/") || strings.Trim(f.studioBase, "/") == "" {
		return reports.Usage("write --studio-base /tools/studio", "--studio-base must be a path (got %q)", f.studioBase)
	}
	switch _, _, err := net.SplitHostPort(f.listen); {
	case err != nil:
		return reports.Usage("write --listen "+defaultListen, "--listen must be HOST:PORT (got %q)", f.listen)
	case f.auth.From != "" && f.insecure:
		return reports.Usage("give one of them", "--auth authenticates callers, --insecure accepts all")
	case f.auth.From == "" && f.auth.Issuer+f.auth.Audience != "":
		return reports.Usage("name the key of the issuer with --auth jwt:FILE", "--auth-issuer and --auth-audience need --auth")
	}
	return nil
}

// checkCallers returns the error of an address at which the callers are not known.
func (f *serveFlags) checkCallers(auth server.Auth) error {
	if f.listen == "" || auth.Authenticate != nil || f.insecure {
		return nil
	}
	if host, _, _ := net.SplitHostPort(f.listen); serve.IsLoopback(host) { // check has seen its error
		return nil
	}
	return reports.Usage("name keys with --auth keys:FILE, or accept every caller with --insecure", "other machines reach %s, and no caller would be authenticated", f.listen)
}

// config returns the settings of the server.
func (f *serveFlags) config(store checkpoint.Store) (c server.Config, err error) {
	c = server.Config{
		Store: store, AllowTruncate: f.truncate, Studio: server.Studio(strings.TrimPrefix(f.studio, studioOff)), StudioBase: f.studioBase, Version: version(), CORS: server.CORS{Origins: f.origins, PrivateNetwork: f.reload},
		Lease:    f.lease,
		Webhooks: server.Webhooks{Notify: f.notify, Outbound: server.Outbound{Hosts: f.webhookHosts, AllowPrivate: f.privateWebhooks}, Secret: []byte(os.Getenv(secretVariable))},
	}
	if f.notify != "" {
		if err := c.Webhooks.Outbound.Check(f.notify); err != nil {
			return c, reports.Usage("write --notify https://example.com/notices; --webhook-host limits it too", "--notify %.200q: %w", f.notify, err)
		}
	}
	if f.auth.From != "" {
		if c.Auth, err = f.auth.Open(); err != nil {
			return c, reports.Usage("write --auth keys:FILE or --auth jwt:FILE", "--auth: %w", err)
		}
	}
	if text := os.Getenv(defaultsVariable); text != "" {
		if err := json.Unmarshal([]byte(text), &c.Defaults); err != nil {
			return c, reports.Usage("write an object with a config and a context for each graph", "$%s is not valid: %w", defaultsVariable, err)
		}
	}
	return c, nil
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

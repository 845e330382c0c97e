package verbs

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/cli/terminal"
	"github.com/weftrun/weft/server"
)

// Config configures a command line.
type Config struct {
	// Name is the name of the program; "" means weft.
	Name string
	// Options has the kinds, reducers and types that a workflow can name.
	Options workflow.Options
	// Stores open stores by scheme, in addition to sqlite: and memory:. The value of --store is
	// opened by Stores[scheme], which gets the whole address. This package imports no client of a
	// server, so a program contains only the clients of the stores that it names.
	Stores map[string]Opener
	// Graphs open graphs in Go by name, for the verbs that take a FILE.
	Graphs map[string]Graph
	// Chats open agents by name, with which chat talks; their graphs are served as Graphs are.
	Chats map[string]Chat
	// Server, if it is set, changes the settings of the server of the verbs serve, dev and worker.
	Server func(*server.Config)
	// Engines open engines by scheme, for --engine.
	Engines map[string]EngineOpener
	// Telemetry starts the export for --otlp; nil is none.
	Telemetry TelemetryOpener

	Args           []string // without the program's name; nil means those of the process
	Stdin          io.Reader
	Stdout, Stderr io.Writer // nil means those of the process
}

// options returns the options of workflow files, with --strict.
func (a *app) options() workflow.Options {
	o := a.config.Options
	o.Strict = a.strict
	o.AllowHosts = append(slices.Clip(o.AllowHosts), a.grants.hosts...)
	o.AllowExec = o.AllowExec || a.grants.exec
	return o
}

// grants are what a person allows a file, and the file that it shares models and tools with. They
// are repeated in the commands that are suggested, because each process needs them.
type grants struct {
	blobs  string // --blobs, or "" for none
	hashes bool   // --hashes
	config string // --config FILE
	hosts  []string
	exec   bool
	engine string // --engine, or "" for this process
	otlp   string // --otlp, or "" for no export
}

// flags returns the flags that repeat the grants.
func (g grants) flags() (words []string) {
	if g.config != "" {
		words = append(words, "--config", g.config)
	}
	if g.blobs != "" {
		words = append(words, "--blobs", g.blobs)
	}
	for _, host := range g.hosts {
		words = append(words, "--allow-host", host)
	}
	if g.exec {
		words = append(words, "--allow-exec")
	}
	if g.engine != "" {
		words = append(words, "--engine", g.engine)
	}
	if g.otlp != "" {
		words = append(words, "--otlp", g.otlp)
	}
	return words
}

// Opener opens the store at an address.
type Opener = func(ctx context.Context, address string) (checkpoint.Store, error)

// Main runs one command and returns the exit code of the process.
func Main(ctx context.Context, c Config) (code int) {
	a := newApp(c)
	defer func() {
		if v := recover(); v != nil {
			code = a.Report(reports.BugFailure(v))
		}
	}()
	ctx, stop := a.signals.Context(ctx)
	defer stop()
	defer a.closeTelemetry()
	defer a.closeEngine()
	err := a.root().ExecuteContext(ctx)
	if err == nil {
		if err = a.written.Err(); err == nil { // not each print looks at it
			return reports.ExitDone
		}
		return a.Report(&reports.Failure{Code: reports.ExitFailed, Err: fmt.Errorf("the output is not complete: %w", err)})
	}
	return a.Report(a.Explain(ctx, err, a.started))
}

// app is one call of the command line.
type app struct {
	*reports.Output
	config    Config
	by        string // --by, or ""
	sign      string // --sign, or ""
	signer    ed25519.PrivateKey
	strict    bool // warnings are errors
	grants    grants
	runner    Engine            // of --engine; nil until it is used
	started   bool              // a command has begun; before that every error is a usage error
	written   *terminal.Checked // stdout, but for a terminal
	signals   *terminal.Signals
	telemetry telemetry
	// busyTimeout is how long a call waits while another process writes to the file of threads; 0
	// is the default of the store.
	busyTimeout time.Duration
	// cancelTimeout is that of EngineConfig, for the runs of the command.
	cancelTimeout time.Duration
	// shown prints a line beside the progress of a run; it is nil while none is shown.
	shown atomic.Pointer[func(line string)]
}

// noteBeside prints a line for the user to Stderr while runs may show their progress there. With
// --json it prints nothing.
func (a *app) noteBeside(text string) {
	if show := a.shown.Load(); show != nil {
		(*show)(a.Name + ": " + text)
		return
	}
	a.Note("%s", text)
}

func newApp(c Config) *app {
	c.Name = cmp.Or(c.Name, "weft")
	if c.Args == nil {
		c.Args = os.Args[1:]
	}
	if c.Stdin == nil {
		c.Stdin = os.Stdin
	}
	if c.Stdout == nil {
		c.Stdout = os.Stdout
	}
	if c.Stderr == nil {
		c.Stderr = os.Stderr
	}
	json, raw := slices.Contains(c.Args, "--json"), slices.Contains(c.Args, "--raw")
	written := &terminal.Checked{Writer: c.Stdout}
	if !terminal.IsTerminal(c.Stdout) {
		c.Stdout = written
	}
	a := &app{config: c, written: written, signals: new(terminal.Signals), cancelTimeout: time.Second, Output: &reports.Output{
		Name: c.Name, Stdout: terminal.EscapingWriter(c.Stdout, json || raw), Stderr: terminal.EscapingWriter(c.Stderr, json || raw),
		Progress: c.Stderr, Verbatim: terminal.EscapingWriter(c.Stdout, true), Invocation: invocation(c.Name), JSON: json, Raw: raw,
	}}
	a.Advice = a.adviceOf
	return a
}

// adviceOf returns advice for a store that cannot be used.
func (a *app) adviceOf(h reports.Hint) string {
	if h == reports.NextLocked {
		return a.locked()
	}
	return a.unavailable()
}

// root is the command without a verb.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   a.Name,
		Short: "Run workflows that survive a crash and wait for people",
		Long: fmt.Sprintf(`%s runs workflows written in YAML. A run belongs to a thread, and each step of a
thread is stored: after a crash, a pause or a question the same command goes on.
Where a verb takes a THREAD, --thread NAME has the same meaning. A unique prefix of the
name is enough, except to remove something.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 invalid workflow, 4 waiting for a
person, 5 another process works on the thread, 130 stopped by a signal.`, a.Name),
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			a.started = true
			if a.JSON { // warnings of stores
				slog.SetDefault(slog.New(slog.NewJSONHandler(a.Stderr, nil)))
			}
			a.Grants = a.grants.flags()
			ctx, err := a.identified(cmd)
			cmd.SetContext(ctx)
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.JSON {
				return reports.Usage(a.Invocation+" --help lists the commands", "a command is missing")
			}
			return cmd.Help()
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetArgs(a.config.Args)
	root.SetIn(a.config.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	f := root.PersistentFlags()
	f.StringVar(&a.Store, "store", "", "where threads are stored: "+a.storeHelp()+" (default $WEFT_STORE, or a file of the user)")
	f.StringVar(&a.grants.blobs, "blobs", "", "where large values are: store, beside the threads, or folder:DIR (default nowhere)")
	f.BoolVar(&a.grants.hashes, "hashes", false, "let the checkpoints of new threads carry the hash of the one before; see verify")
	f.BoolVar(&a.JSON, "json", a.JSON, "print JSON, errors too")
	f.StringVar(&a.by, "by", "", "who decides, for the record of the thread: a claim, no proof (default the user's login name)")
	f.StringVar(&a.sign, "sign", "", "a FILE with a private key, Ed25519 in PEM, that signs decisions; see verify")
	f.BoolVar(&a.Raw, "raw", a.Raw, "do not escape control characters in text that goes to a file or a pipe")
	f.StringVar(&a.grants.config, "config", "", "a FILE with models and tools for workflows (default "+workflow.ConfigName+" beside the workflow, or above it in the repository)")
	f.StringArrayVar(&a.grants.hosts, "allow-host", nil, "HOST or HOST:PORT that may get a key of the environment although a file names it; repeatable")
	f.BoolVar(&a.grants.exec, "allow-exec", false, "let workflows start programs")
	root.AddCommand(a.verbs()...)
	a.completed(root)
	return root
}

func (a *app) verbs() []*cobra.Command {
	run, resume, inbox, chat, doctor := a.runVerb(), onThreads(a.resumeVerb()), a.inboxVerb(), a.chatVerb(), a.doctorVerb()
	serving, worker, dev := a.serveVerb(), a.workerVerb(), a.devVerb()
	a.engineFlag(run, resume, inbox, chat, serving, worker, doctor)
	a.otlpFlag(run, resume, inbox, chat, serving, worker, dev)
	return []*cobra.Command{
		run, resume, inbox, chat,
		serving, dev, worker, a.wakeVerb(), a.schedulesVerb(), a.mcpVerb(), a.runsVerb(), a.usageVerb(),
		a.threadsVerb(), a.sessionsVerb(), onThreads(a.historyVerb()), onThreads(a.stateVerb()), onThreads(a.diffVerb()), onThreads(a.forkVerb()), onThreads(a.pinVerb()), onThreads(a.unpinVerb()), onThreads(a.replayVerb()),
		onThreads(a.exportVerb()), a.importVerb(), onThreads(a.pruneVerb()), onThreads(a.deleteVerb()), onThreads(a.verifyVerb()), a.blobsVerb(), a.reindexVerb(),
		a.newVerb(), a.validateVerb(), a.checkVerb(), a.testVerb(), a.fmtVerb(), a.explainVerb(), a.schemaVerb(), a.graphVerb(), doctor, a.completionVerb(), a.manVerb(), a.versionVerb(),
	}
}

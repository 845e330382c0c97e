package workflow

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/record"
)

// Workflow is a file that was loaded and checked. It does not change and is safe for
// concurrent use.
type Workflow struct {
	Name        string // the file's name without its ending where it gives none
	Description string
	Path        string // as it was given to Load or Parse
	Hash        string // of the file and of all files it names, as hex

	plan  *plan
	src   *source
	shape *record.Shape
	env   Env
	vault *vault
	timed bool           // the state has timeField
	named **graph.Limits // of this file and all that were loaded with it
	opts  Options
	subs  []*Workflow
	ents  *Entries
	warns []Problem
}

// Options say what a file may use.
type Options struct {
	// Kinds are the kinds of nodes beside set and workflow, by name. Those that begin
	// with "go:" are named after uses. See nodes.Kinds for the ready ones.
	Kinds map[string]Kind
	// Sections are the sections that files and Config have beside those of the language, by name.
	Sections map[string]Section
	// Config is the path of a file whose sections all loaded files share; "" is none. See
	// [FindConfig].
	Config string
	// AllowHosts and AllowExec are those of [Env]. No file can grant them.
	AllowHosts []string
	AllowExec  bool
	// Reducers are those that fields may name, beside the ready ones, by "go:NAME".
	Reducers map[string]Reducer
	// Types are those that a file may use beside its own, by "go:NAME". See TypeOf.
	Types map[string]record.Type
	// Strict makes mistakes of the warnings, so that Load fails where Warnings would
	// name something.
	Strict bool
	// Root is the folder that all files a workflow names are below, symbolic links
	// included; "" means the folder of the file.
	Root string
	// Out is the folder that nodes write below; "" means out in Root.
	Out string
	// LookupEnv gives the variables of the environment that a file names under env and
	// secrets; nil means os.LookupEnv. It is asked for these names alone, each time
	// that one is used.
	LookupEnv func(name string) (value string, ok bool)
	// Now gives the time that expressions see as run.time; nil means time.Now.
	Now func() time.Time
}

// Load reads and checks a file, and the files it names. The error is an *Error that
// holds every mistake, unless the file cannot be read at all.
func Load(path string, o Options) (*Workflow, error) {
	l, rel, err := newLoader(path, o)
	if err != nil {
		return nil, err
	}
	text, err := l.read(rel)
	if err != nil {
		return nil, err
	}
	return l.first(rel, filepath.ToSlash(path), text)
}

// Parse is Load for a text in memory. The path names it in errors, and its folder is that of
// the files that the text names.
func Parse(path string, src []byte, o Options) (*Workflow, error) {
	l, rel, err := newLoader(path, o)
	if err != nil {
		return nil, err
	}
	return l.first(rel, filepath.ToSlash(path), src)
}

// Warnings returns what is no mistake in the file, and in those it names, but probably not
// meant, by file, line and column.
func (w *Workflow) Warnings() []Problem { return slices.Clone(w.warns) }

// Compile returns the graph. Limits of the file fill in what cfg leaves zero, and its
// named limits those that cfg.Limits does not have; all graphs that are compiled of w share
// them. Where nodes are cached and cfg.Cache is nil, the graph has a cache in memory.
func (w *Workflow) Compile(cfg graph.Config) (*graph.Graph[record.Record], error) {
	return w.compile(cfg, making{graphs: children{}})
}

func (w *Workflow) limited(cfg graph.Config) graph.Config {
	fill(&cfg.MaxSteps, w.plan.limits.steps)
	fill(&cfg.MaxTasks, w.plan.limits.fanout)
	fill(&cfg.Concurrency, w.plan.limits.concurrency)
	fill(&cfg.Timeout, w.plan.limits.timeout)
	fill(&cfg.MaxState, w.plan.limits.state)
	if cfg.RunRetry.Attempts == 0 {
		cfg.RunRetry = w.plan.runRetry
	}
	cfg.Limits = cfg.Limits.Or(*w.named)
	if cached := func(n *node) bool { return n.cache != nil }; cfg.Cache == nil && slices.ContainsFunc(w.plan.nodes, cached) {
		cfg.Cache = new(graph.MemoryCache)
	}
	return cfg
}

func fill[T comparable](to *T, with T) {
	var zero T
	if *to == zero {
		*to = with
	}
}

// NewState returns a record in which nothing is set, for programs that fill it
// themselves.
func (w *Workflow) NewState() record.Record {
	rec := w.shape.New()
	w.stamp(&rec, w.opts.now().Unix())
	w.configure(&rec, w.plan.defaultConfig())
	return rec
}

func (o Options) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}

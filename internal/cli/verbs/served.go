package verbs

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/cli/terminal"
	"github.com/weftrun/weft/wake"
)

// sources are the graphs that a server serves: what the arguments name, or all of the program.
type sources struct {
	*app
	args  []string
	store checkpoint.Store
}

// all returns the arguments. Without any it returns the graphs of this program, or if there are
// none the current folder.
func (s sources) all() []string {
	switch {
	case len(s.args) > 0:
		return s.args
	case len(s.config.Graphs) > 0:
		return slices.Sorted(maps.Keys(s.config.Graphs))
	}
	return []string{"."}
}

// namesOf returns the names of graphs and agents, and the workflow files, of one argument.
func (s sources) namesOf(arg string) ([]string, error) {
	if s.has(arg) {
		return []string{arg}, nil
	}
	found, err := s.filesIn([]string{arg})
	return slices.DeleteFunc(found, isShared), err
}

// isShared reports whether a file has only models and tools for workflows.
func isShared(file string) bool {
	if filepath.Base(file) != workflow.ConfigName {
		return false
	}
	text, err := terminal.ReadFileAtMost(file, terminal.MaxInput)
	return err == nil && !workflowKey.Match(text)
}

// edition is what was read of the sources.
type edition struct {
	sources []source
	graphs  map[string]graph.Untyped
	local   map[string]graph.Untyped // those whose steps run in this process, also with an engine
	files   map[string]string        // of workflows, by graph
	// schedules are those of the workflows, by graph. A workflow without some has an empty list.
	schedules map[string][]wake.Schedule
	meta      map[string]map[string]string // of the runs of workflows, by graph
}

// source is a graph that was read, with the name that it was read by.
type source struct {
	arg, name string // the argument, and the graph of this program or the file below it
	declared         // on the engine, if there is one
	local     graph.Untyped
	hash      string // of a workflow
	schedules []wake.Schedule
}

// open opens the graphs. It fails if one of them cannot be opened.
func (s sources) open(ctx context.Context) (v edition, err error) {
	v = newEdition()
	seen := map[string]bool{}
	for _, arg := range s.all() {
		names, err := s.namesOf(arg)
		if err != nil {
			return v, err
		}
		for _, name := range names {
			if seen[name] {
				continue
			}
			o, err := s.read(ctx, arg, name)
			if err == nil {
				err = v.add(o)
			}
			if err != nil {
				return v, err
			}
			seen[name] = true
		}
	}
	if len(v.graphs) == 0 {
		return v, errNoGraph()
	}
	return v, nil
}

func errNoGraph() error {
	return reports.Usage("name a workflow file, or a folder with some", "there is no graph to serve")
}

// read opens one graph.
func (s sources) read(ctx context.Context, arg, name string) (o source, err error) {
	o.arg, o.name = arg, name
	open, err := s.app.local(name)
	if err != nil {
		return o, err
	}
	here, err := open(ctx, s.store)
	if err == nil {
		err = here.checkEnv()
	}
	if err != nil {
		return o, err
	}
	o.local = here.Untyped
	if o.declared, err = s.onEngine(ctx, s.store, name, here); err != nil || o.flow == nil {
		return o, err
	}
	o.hash = o.flow.Hash + s.sharedHash(name)
	o.schedules, err = o.flow.Schedules()
	return o, err
}

func newEdition() edition {
	return edition{
		graphs: map[string]graph.Untyped{}, local: map[string]graph.Untyped{}, files: map[string]string{},
		schedules: map[string][]wake.Schedule{}, meta: map[string]map[string]string{},
	}
}

// add adds a graph. Its name must be its own.
func (v *edition) add(o source) error {
	name := o.Name()
	if i := slices.IndexFunc(v.sources, func(other source) bool { return other.Name() == name }); i >= 0 {
		return reports.Usage("give one of them another name", "%s and %s both have a graph named %q", v.sources[i].name, o.name, name)
	}
	v.sources = append(v.sources, o)
	v.graphs[name], v.local[name] = o.Untyped, o.local
	if o.flow != nil {
		v.files[name], v.meta[name], v.schedules[name] = o.name, (&session{graph: o.declared}).metadata(), o.schedules
	}
	return nil
}

// hash identifies the workflows of an edition. It is equal for equal workflows.
func (v *edition) hash() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(v.files)) {
		i := slices.IndexFunc(v.sources, func(o source) bool { return o.Name() == name })
		fmt.Fprintln(&b, name, v.sources[i].hash)
	}
	return b.String()
}

// sharedHash identifies the file with models and tools of a workflow; "" if there is none.
func (s sources) sharedHash(file string) string {
	o, err := s.shared(file)
	if err != nil || o.Config == "" {
		return ""
	}
	text, err := terminal.ReadFileAtMost(o.Config, terminal.MaxInput)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

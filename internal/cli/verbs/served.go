package verbs

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/cli/terminal"
	"github.com/weftrun/weft/server"
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

// names returns names of graphs and agents, and workflow files.
func (s sources) names() (names []string, err error) {
	for _, arg := range s.all() {
		found := []string{arg}
		if !s.has(arg) {
			if found, err = s.filesIn(found); err != nil {
				return nil, err
			}
			found = slices.DeleteFunc(found, isShared)
		}
		for _, name := range found {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// isShared reports whether a file has only models and tools for workflows.
func isShared(file string) bool {
	if filepath.Base(file) != workflow.ConfigName {
		return false
	}
	text, err := terminal.ReadFileAtMost(file, terminal.MaxInput)
	return err == nil && !workflowKey.Match(text)
}

// edition is what was read of the sources. It is equal for equal workflows.
type edition struct {
	graphs map[string]graph.Untyped
	local  map[string]graph.Untyped // those whose steps run in this process, also with an engine
	files  map[string]string        // of workflows, by graph
	hash   string
	// schedules are those of the workflows, by graph. A workflow without some has an empty list.
	schedules map[string][]wake.Schedule
	meta      map[string]map[string]string // of the runs of workflows, by graph
}

// open opens the graphs.
func (s sources) open(ctx context.Context) (v edition, err error) {
	names, err := s.names()
	if err != nil {
		return v, err
	}
	v.graphs, v.local = map[string]graph.Untyped{}, map[string]graph.Untyped{}
	v.files, v.schedules, v.meta = map[string]string{}, map[string][]wake.Schedule{}, map[string]map[string]string{}
	from := map[string]string{}
	for _, name := range names {
		open, err := s.app.local(name)
		if err != nil {
			return v, err
		}
		here, err := open(ctx, s.store)
		if err == nil {
			err = here.checkEnv()
		}
		if err != nil {
			return v, err
		}
		d, err := s.onEngine(ctx, s.store, name, here)
		if err != nil {
			return v, err
		}
		if other, twice := from[d.Name()]; twice {
			return v, reports.Usage("give one of them another name", "%s and %s both have a graph named %q", other, name, d.Name())
		}
		v.graphs[d.Name()], v.local[d.Name()], from[d.Name()] = d.Untyped, here.Untyped, name
		if d.flow != nil {
			v.files[d.Name()], v.meta[d.Name()] = name, (&session{graph: d}).metadata()
			if v.schedules[d.Name()], err = d.flow.Schedules(); err != nil {
				return v, err
			}
			v.hash += d.flow.Hash + s.sharedHash(name)
		}
	}
	if len(v.graphs) == 0 {
		return v, reports.Usage("name a workflow file, or a folder with some", "there is no graph to serve")
	}
	return v, nil
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

// reloadEvery is how often dev looks at the files.
const reloadEvery = 250 * time.Millisecond

// watch serves the graphs anew when a workflow has changed, until ctx ends. If one is not valid,
// what was served before stays.
func (s sources) watch(ctx context.Context, srv *server.Server, served edition) {
	tick := time.NewTicker(reloadEvery)
	defer tick.Stop()
	var seen, failed string // at first a change since the graphs were opened is looked for
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now := s.stamp()
		if now == seen {
			continue
		}
		seen = now
		next, err := s.open(ctx)
		if err == nil && next.hash != served.hash {
			if err = srv.SetGraphs(ctx, next.graphs); err == nil {
				err = next.declare(ctx, srv.Timers())
			}
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if err.Error() != failed { // else it is another file that has changed
				s.Report(s.Classify(err))
			}
			failed = err.Error()
		case next.hash != served.hash || failed != "":
			served, failed = next, ""
			s.Note("read the workflows again: %s", strings.Join(srv.GraphIDs(), ", "))
		}
	}
}

// stamp returns a text that changes when a file does in the folders of the workflows, or the file
// with their models and tools.
func (s sources) stamp() string {
	var b strings.Builder
	add := func(path string, info fs.FileInfo, err error) {
		if err == nil { // what cannot be read has not changed
			fmt.Fprintln(&b, path, info.Size(), info.ModTime().UnixNano())
		}
	}
	own, _ := s.missingFile() // the file of the store changes with each step
	for _, folder := range s.folders() {
		n := 0
		_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil, own != "" && strings.HasPrefix(path, own):
				return nil
			case d.IsDir() && path != folder && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
				return filepath.SkipDir
			case d.IsDir():
				return nil
			}
			if n++; n > maxStamped {
				return filepath.SkipAll
			}
			info, err := d.Info()
			add(path, info, err)
			return nil
		})
	}
	if s.grants.config != "" {
		info, err := os.Stat(s.grants.config)
		add(s.grants.config, info, err)
	}
	return b.String()
}

// folders returns the folders whose files dev looks at.
func (s sources) folders() []string {
	all := map[string]bool{}
	for _, arg := range s.all() {
		info, err := os.Stat(arg)
		switch {
		case s.has(arg), err != nil:
		case info.IsDir():
			all[arg] = true
		default:
			all[filepath.Dir(arg)] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// maxStamped is how many files of a folder dev looks at.
const maxStamped = 10_000

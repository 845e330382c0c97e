package verbs

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/server"
)

// reloadEvery is how often dev looks at the files.
const reloadEvery = 250 * time.Millisecond

// reloader serves the workflows of a folder anew when they change.
type reloader struct {
	sources
	srv    *server.Server
	served edition
	failed map[string]string // the errors of what could not be read, by argument or name
	reason string            // the error of the server, which serves what it served before
}

// watch serves the graphs anew when a workflow has changed, until ctx ends. Of a workflow that is
// not valid, the last valid version stays.
func (s sources) watch(ctx context.Context, srv *server.Server, first edition) {
	r := &reloader{sources: s, srv: srv, served: first}
	tick := time.NewTicker(reloadEvery)
	defer tick.Stop()
	seen := "" // at first a change since the graphs were opened is looked for
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if now := s.stamp(); now != seen {
			seen = now
			r.reload(ctx)
		}
	}
}

// reload serves what the files have now, and reports what has changed.
func (r *reloader) reload(ctx context.Context) {
	next, failures := r.reopen(ctx)
	again := r.update(ctx, next)
	failed := map[string]string{}
	news := again
	var old, none []string
	for _, f := range failures {
		text := f.err.Error()
		if before, known := r.failed[f.name]; !known || before != text {
			news = true
			if ctx.Err() == nil && !slices.Contains(slices.Collect(maps.Values(failed)), text) { // else of a file that several share
				r.Report(r.Classify(f.err))
			}
		}
		if failed[f.name] = text; f.stays {
			old = append(old, f.name)
		} else {
			none = append(none, f.name)
		}
	}
	for name := range r.failed {
		again = again || failed[name] == ""
	}
	r.failed = failed
	switch {
	case ctx.Err() != nil || !news && !again:
		return
	case again:
		r.Note("read the workflows again: %s", strings.Join(r.srv.GraphIDs(), ", "))
	}
	if len(old) > 0 {
		r.Note("still serving the last valid version of %s", strings.Join(old, ", "))
	}
	if len(none) > 0 {
		r.Note("not serving %s", strings.Join(none, ", "))
	}
}

// update serves an edition if it is another one. It returns true if the server serves other graphs
// than before, or again what it could not.
func (r *reloader) update(ctx context.Context, next edition) (again bool) {
	reason := ""
	if next.hash() != r.served.hash() {
		err := r.serve(ctx, next)
		if again = err == nil; !again {
			if reason = err.Error(); reason != r.reason && ctx.Err() == nil {
				r.Report(r.Classify(err))
			}
		}
	}
	if reason == "" {
		again = again || r.reason != ""
		r.served = next
	}
	r.reason = reason
	return again
}

// serve serves an edition. Workflows that it no longer has lose their schedules.
func (r *reloader) serve(ctx context.Context, next edition) error {
	if err := r.srv.SetGraphs(ctx, next.graphs); err != nil {
		return err
	}
	all := edition{schedules: maps.Clone(next.schedules)}
	for name := range r.served.schedules {
		if next.graphs[name] == nil {
			all.schedules[name] = nil
		}
	}
	return all.declare(ctx, r.srv.Timers())
}

// failure is why an argument or a workflow could not be read.
type failure struct {
	name  string
	err   error
	stays bool // its last valid version goes on
}

// reopen opens each graph by itself. What cannot be opened stays as it is served.
func (r *reloader) reopen(ctx context.Context) (next edition, failures []failure) {
	next = newEdition()
	var read []source
	for _, arg := range r.all() {
		names, err := r.namesOf(arg)
		if err != nil {
			stays := false
			for _, o := range r.served.sources {
				if o.arg == arg {
					read, stays = append(read, o), true
				}
			}
			failures = append(failures, failure{arg, err, stays})
			continue
		}
		for _, o := range r.served.sources { // a file that has lost its nodes, or is being written
			if _, gone := os.Lstat(o.name); o.arg == arg && gone == nil && !slices.Contains(names, o.name) {
				names = append(names, o.name)
			}
		}
		for _, name := range names {
			if slices.ContainsFunc(read, func(o source) bool { return o.name == name }) {
				continue
			}
			o, err := r.read(ctx, arg, name)
			if err != nil {
				before := r.before(name)
				failures = append(failures, failure{name, err, before != nil})
				if before == nil {
					continue
				}
				o = *before
			}
			read = append(read, o)
		}
	}
	// A graph that keeps its name comes before one that takes the name.
	slices.SortStableFunc(read, func(a, b source) int { return cmp.Compare(r.rank(a), r.rank(b)) })
	for _, o := range read {
		if err := next.add(o); err != nil {
			before := r.before(o.name)
			stays := before != nil && next.add(*before) == nil
			failures = append(failures, failure{o.name, err, stays})
		}
	}
	if len(next.graphs) == 0 {
		return r.served, append(failures, failure{strings.Join(r.all(), ", "), errNoGraph(), true})
	}
	return next, failures
}

// before returns what is served of a name, or nil.
func (r *reloader) before(name string) *source {
	for i, o := range r.served.sources {
		if o.name == name {
			return &r.served.sources[i]
		}
	}
	return nil
}

// rank is 0 for a source whose graph has the name that it is served under, else 1.
func (r *reloader) rank(o source) int {
	if before := r.before(o.name); before != nil && before.Name() == o.Name() {
		return 0
	}
	return 1
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
			info, err := os.Stat(path) // of what a link leads to
			if err != nil {
				info, err = d.Info()
			}
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

package verbs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/state"
	msg "github.com/weftrun/weft/state/message"
)

// These are the keys of the metadata that the command line writes into checkpoints.
const (
	metaPath = "workflow"      // the absolute path of the workflow file
	metaHash = "workflow_hash" // of its content
)

// session is one command on one thread.
type session struct {
	*app
	store  checkpoint.Store
	thread string
	graph  declared
	trace  string            // the file for the trace of the run; "" for none
	opened *openedGraphs     // of a verb for many threads; nil for one
	meta   map[string]string // the metadata of the thread that is not of the command line itself
}

// inspect returns the newest checkpoint of the thread. found is false if the thread does not exist.
func (s *session) inspect(ctx context.Context) (p graph.CommitInfo, found bool, err error) {
	p, err = graph.Inspect(ctx, s.store, checkpoint.Key{Thread: s.thread})
	if errors.Is(err, graph.ErrUnknownThread) {
		return p, false, nil
	}
	s.keepMeta(p.Metadata)
	return p, err == nil, err
}

// keepMeta lets the runs of this command have the metadata that the thread has. What was given
// stays.
func (s *session) keepMeta(of map[string]string) {
	for key, value := range of {
		if _, given := s.meta[key]; given || key == metaPath || key == metaHash {
			continue
		}
		if s.meta == nil {
			s.meta = map[string]string{}
		}
		s.meta[key] = value
	}
}

// mustInspect is inspect for a thread that must exist. It accepts a unique prefix of its name.
func (s *session) mustInspect(ctx context.Context) (graph.CommitInfo, error) {
	if err := s.lengthen(ctx); err != nil {
		return graph.CommitInfo{}, err
	}
	return s.mustInspectExactly(ctx)
}

// mustInspectExactly is mustInspect for commands that cannot be undone: it accepts only the whole
// name.
func (s *session) mustInspectExactly(ctx context.Context) (graph.CommitInfo, error) {
	p, found, err := s.inspect(ctx)
	if err == nil && !found {
		err = s.unknownThread()
	}
	return p, err
}

// lengthen completes a unique prefix of a thread's name. A thread with exactly that name takes
// precedence.
func (s *session) lengthen(ctx context.Context) error {
	if err := checkpoint.CheckThread(s.thread); err != nil {
		return err
	}
	_, found, err := s.inspect(ctx)
	if found || err != nil {
		return err
	}
	var names []string
	for p, err := range graph.Threads(ctx, s.store, checkpoint.ThreadQuery{After: s.thread, Limit: most + 1}) {
		if err != nil {
			return err
		}
		if strings.HasPrefix(p.Thread, s.thread) {
			names = append(names, p.Thread)
		}
	}
	if len(names) == 0 {
		return nil
	}
	s.thread, err = s.begun("thread", s.thread, names, s.Command("threads"))
	return err
}

func (s *session) unknownThread() error {
	return reports.Usage(s.Command("threads")+" lists the threads of the store", "there is no thread %q", s.thread)
}

// find opens the graph of the thread: the named file, or the graph that its checkpoints name. args
// precede the FILE in the usage of a verb that takes the thread as an argument.
func (s *session) find(ctx context.Context, verb, file string, p graph.CommitInfo, args ...string) error {
	path := file
	if path == "" {
		path = p.Metadata[metaPath]
	}
	next := s.Command(verb, "FILE", "--thread", s.thread)
	if len(args) > 0 {
		next = s.Command(append(append([]string{verb}, args...), "FILE")...)
	}
	if path == "" && s.has(p.Graph) {
		path = p.Graph
	}
	if path == "" {
		return reports.Usage(next, "thread %q belongs to %q, and does not say which file that is: a graph in Go goes on in its own program", s.thread, p.Graph)
	}
	if _, err := os.Stat(path); file == "" && !s.has(path) && errors.Is(err, fs.ErrNotExist) {
		return reports.Usage(next, "thread %q belongs to the workflow %s, which is no longer there", s.thread, path)
	}
	var err error
	if s.graph, err = s.opened.open(ctx, s, path); err != nil {
		return err
	}
	return s.sameGraph(p)
}

// openGraph opens a graph over the store.
func (s *session) openGraph(ctx context.Context, path string) (declared, error) {
	open, err := s.declared(path)
	if err != nil {
		return declared{}, err
	}
	return open(ctx, s.store)
}

// findToRead is find for commands that only read the thread. If this program cannot use the graph,
// s.graph stays empty and why is the reason: the file is missing or invalid, or it names unknown
// nodes.
func (s *session) findToRead(ctx context.Context, verb, file string, p graph.CommitInfo, args ...string) (why, err error) {
	err = s.find(ctx, verb, file, p, args...)
	if err == nil || file != "" || ctx.Err() != nil {
		return nil, err
	}
	s.graph = declared{}
	return err, nil
}

// errSubgraph is the reason why the values of a subgraph are shown as they are stored.
var errSubgraph = errors.New("they are those of a subgraph")

// whyStored is findToRead for values at a moment. The values of a subgraph are read without its
// graph.
func (s *session) whyStored(ctx context.Context, verb, file string, p graph.CommitInfo, at moment, args ...string) (why, err error) {
	switch {
	case at.namespace == "":
		return s.findToRead(ctx, verb, file, p, args...)
	case file != "":
		return nil, reports.Usage("leave the FILE out", "with --namespace values are shown as they are stored, and %s is not read", file)
	}
	return errSubgraph, nil
}

// noteStored notes that values are shown without the graph of the thread.
func (s *session) noteStored(p graph.CommitInfo, why error) {
	s.Note("values are shown as they are stored, without defaults, since %s", s.whyForeign(p, why))
}

// whyForeign describes in one line why this program cannot run the graph of a thread.
func (s *session) whyForeign(p graph.CommitInfo, why error) string {
	if reports.IsInvalid(why) {
		return "its workflow" + in(p.Metadata[metaPath]) + " is not valid for this program: " + reports.OneLine(reports.Problems(why)[0].Message)
	}
	return reports.OneLine(s.Public(reports.Message(why)))
}

// stored returns a reader of threads that needs no graph.
func (s *session) stored() graph.StoredReader {
	return graph.StoredReader{Store: s.store, Channels: map[state.Kind]func() state.Channel{
		"message.Log": func() state.Channel { return new(msg.Log).Channel() },
	}}
}

// sameGraph returns an error if the thread belongs to another graph.
func (s *session) sameGraph(p graph.CommitInfo) error {
	if p.Graph == s.graph.Name() {
		return nil
	}
	return reports.Usage("name another thread with --thread, or the thread's own workflow",
		"thread %q belongs to the workflow %q%s, not to %q", s.thread, p.Graph, in(p.Metadata[metaPath]), s.graph.Name())
}

func in(path string) string {
	if path == "" {
		return ""
	}
	return " in " + path
}

// changed reports whether the workflow has changed since the last run of the thread.
func (s *session) changed(p graph.CommitInfo) bool {
	was := p.Metadata[metaHash]
	return was != "" && s.graph.flow != nil && was != s.graph.flow.Hash
}

// warnChanged notes that the workflow of an unfinished turn has changed. The graph
// rejects changes that do not fit.
func (s *session) warnChanged(p graph.CommitInfo) {
	if s.changed(p) {
		s.Note("the workflow has changed since thread %q began this turn", s.thread)
	}
}

// metadata returns the metadata for the checkpoints of this command.
func (s *session) metadata() map[string]string {
	flow := s.graph.flow
	if flow == nil { // the name of the graph identifies it
		return s.meta
	}
	path, err := filepath.Abs(flow.Path)
	if err != nil { // the working directory is gone
		path = flow.Path
	}
	all := map[string]string{metaPath: path, metaHash: flow.Hash}
	maps.Copy(all, s.meta)
	return all
}

// load reads a workflow file.
func (a *app) load(path string) (*workflow.Workflow, error) {
	o, err := a.shared(path)
	if err != nil {
		return nil, err
	}
	flow, err := workflow.Load(path, o)
	if err != nil {
		return nil, reports.CannotRead(path, err)
	}
	return flow, nil
}

// shared returns the options for a workflow file, with the file that it shares models and tools
// with.
func (a *app) shared(path string) (o workflow.Options, err error) {
	o = a.options()
	if o.Config = a.grants.config; o.Config == "" {
		o.Config, err = workflow.FindConfig(path)
	}
	if o.Config == "" || err != nil {
		return o, err
	}
	if _, err := os.Stat(o.Config); err != nil {
		return o, reports.CannotRead(o.Config, err)
	}
	return o, nil
}

// withStore runs fn with an open store and closes it afterwards.
func withStore(ctx context.Context, open func(context.Context) (checkpoint.Store, error), fn func(checkpoint.Store) error) (err error) {
	store, err := open(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := store.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("closing the store: %w", cerr)
		}
	}()
	return fn(store)
}

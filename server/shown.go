package server

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/wire"
)

// shownThread is a thread, or a subgraph on it, as the runs and states of one graph show it.
type shownThread struct {
	server     *Server
	thread     string
	namespace  string      // in Weft; "" is the thread itself
	root       servedGraph // of the thread; without a graph if the thread never ran
	graph      servedGraph // of the namespace
	graphID    string      // of the root
	assistant  string
	namespaces []string // those of the thread that have commits, if they were loaded
}

// shown returns a thread with its graph for a use.
func (s *Server) shown(ctx context.Context, graphID string, u Use) (shownThread, error) {
	t := shownThread{server: s, thread: u.Settings.Thread, graphID: graphID, assistant: u.Settings.Assistant}
	if graphID == "" {
		return t, nil
	}
	var err error
	t.root, err = s.graph(ctx, graphID, u)
	t.graph = t.root
	return t, err
}

// ran reports whether the thread has a graph.
func (t shownThread) ran() bool { return t.graph.Untyped != nil }

// in returns the thread in another namespace.
func (t shownThread) in(namespace string) (shownThread, bool) {
	inner, ok := t.root.in(namespace)
	t.namespace, t.graph = namespace, inner
	return t, ok
}

// inWire returns the thread in a namespace on the wire.
func (t shownThread) inWire(ctx context.Context, namespace string) (shownThread, error) {
	if namespace == "" || !t.ran() {
		return t, nil
	}
	err := t.load(ctx)
	if err != nil {
		return t, err
	}
	found, ok := wire.FindNamespace(namespace, t.namespaces)
	if ok {
		if t, ok = t.in(found); ok {
			return t, nil
		}
	}
	return t, wire.Errorf(wire.CodeCheckpointNotFound, "Checkpoint namespace %.200q not found", namespace)
}

// load finds out which namespaces have commits.
func (t *shownThread) load(ctx context.Context) (err error) {
	if t.namespaces == nil && t.ran() {
		t.namespaces, err = t.server.namespacesOf(ctx, t.thread)
	}
	return err
}

// stored returns what is stored of the namespace.
func (t shownThread) stored() graph.StoredThread[json.RawMessage] {
	return t.graph.Thread(t.thread).In(t.namespace)
}

// view returns how the graph is shown. Commits are loaded when they are needed.
func (t shownThread) view(ctx context.Context) *wire.View {
	v := &wire.View{Thread: t.thread, Graph: t.graphID, Assistant: t.assistant, Messages: t.graph.messages, Namespaces: t.namespaces}
	if t.graph.Untyped != nil {
		v.Initial, _ = t.graph.Initial() // of defaults, which were checked
		if t.namespace != "" {
			v.Name = t.graph.Name()
		}
	}
	v.Commit = func(number uint64) (wire.Snapshot, bool) {
		s, err := t.commit(ctx, number)
		return s, err == nil
	}
	return v
}

// inner returns how the graph of a namespace is shown while it runs.
func (t shownThread) inner(ctx context.Context, namespace string) *wire.View {
	if inner, ok := t.in(namespace); ok {
		return inner.view(ctx)
	}
	return &wire.View{Thread: t.thread, Graph: t.graphID, Assistant: t.assistant}
}

// parents returns the ids of the newest checkpoints of the graphs around the namespace, by their
// namespaces on the wire; nil for the thread itself.
func (t shownThread) parents(ctx context.Context) (map[string]string, error) {
	if t.namespace == "" {
		return nil, nil
	}
	all := map[string]string{}
	for ns := t.namespace; ns != ""; {
		ns, _ = cutLast(ns)
		info, err := graph.Inspect(ctx, t.server.config.Store, checkpoint.Key{Thread: t.thread, Namespace: ns})
		if errors.Is(err, graph.ErrUnknownThread) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all[wire.NamespaceToWire(ns)] = wire.CheckpointOf(info.Checkpoint, 1, info.Time).String()
	}
	return all, nil
}

// cutLast returns a namespace without its last segment, and that segment.
func cutLast(ns string) (before, last string) {
	if i := strings.LastIndex(ns, "|"); i >= 0 {
		return ns[:i], ns[i+1:]
	}
	return "", ns
}

// whole returns how the graph is shown with the states of its subgraphs, at a commit.
func (t shownThread) whole(ctx context.Context, info graph.CommitInfo, parents map[string]string) *wire.View {
	v := t.view(ctx)
	v.Parents = parents
	around := map[string]string{wire.NamespaceToWire(t.namespace): wire.CheckpointOf(info.Checkpoint, 1, info.Time).String()}
	for ns, id := range parents {
		around[ns] = id
	}
	v.Child = func(namespace string) *wire.ThreadState {
		inner, ok := t.in(namespace)
		if !ok {
			return nil
		}
		s, err := inner.commit(ctx, 0)
		if err != nil {
			return nil
		}
		state, err := inner.whole(ctx, s.Info, around).State(s, 1, nil)
		if err != nil {
			return nil
		}
		if len(state.Interrupts) == 0 {
			state.Interrupts = nil
		}
		return &state
	}
	return v
}

// commit loads a commit with its state; 0 is the newest.
func (t shownThread) commit(ctx context.Context, number uint64) (wire.Snapshot, error) {
	state, info, err := t.stored().State(ctx, number)
	return wire.Snapshot{Info: info, State: state}, err
}

// ignoreUnknown returns nil for the error of a thread without commits.
func ignoreUnknown(err error) error {
	if errors.Is(err, graph.ErrUnknownThread) {
		return nil
	}
	return err
}

// follows reports whether a commit goes on from another one.
func follows(next, info graph.CommitInfo) bool {
	if next.Parent != 0 {
		return next.Parent == info.Checkpoint
	}
	return next.Checkpoint == info.Checkpoint+1
}

// next returns the commit that follows another one with the next number; nil if it goes on from a
// different one, or there is none.
func (t shownThread) next(ctx context.Context, info graph.CommitInfo) (*wire.Snapshot, error) {
	s, err := t.commit(ctx, info.Checkpoint+1)
	switch {
	case errors.Is(err, graph.ErrUnknownThread), errors.Is(err, checkpoint.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case !follows(s.Info, info):
		return nil, nil
	}
	return &s, nil
}

func noCheckpoint(id string) *wire.Error {
	return wire.Errorf(wire.CodeCheckpointNotFound, "Checkpoint %.100q not found", id)
}

// find loads the commit of a checkpoint by its id.
func (t shownThread) find(ctx context.Context, text string) (wire.Snapshot, wire.CheckpointID, error) {
	id, err := wire.ParseCheckpointID(text)
	if err != nil {
		if _, err := wire.ParseUUID(text); err != nil {
			return wire.Snapshot{}, id, invalid("checkpoint_id must be a UUID (got %.100q)", text)
		}
		return wire.Snapshot{}, id, noCheckpoint(text)
	}
	if id.Number == 0 || !t.ran() {
		return wire.Snapshot{}, id, noCheckpoint(text)
	}
	s, err := t.commit(ctx, id.Number)
	switch {
	case errors.Is(err, graph.ErrUnknownThread), errors.Is(err, checkpoint.ErrNotFound):
		err = noCheckpoint(text)
	case err == nil && !wire.Matches(id, s.Info.Checkpoint, s.Info.Time, wire.Phases(s.Info)):
		err = noCheckpoint(text)
	}
	return s, id, err
}

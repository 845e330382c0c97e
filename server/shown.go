package server

import (
	"context"
	"errors"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/wire"
)

// shownThread is a thread as the runs and states of one graph show it.
type shownThread struct {
	server    *Server
	thread    string
	graphID   string
	assistant string
}

func (s *Server) shown(thread, graphID, assistant string) shownThread {
	return shownThread{s, thread, graphID, assistant}
}

// view returns how the graph of a namespace is shown. Commits are loaded when they are needed.
func (t shownThread) view(ctx context.Context, namespace string) *wire.View {
	v := &wire.View{Thread: t.thread, Graph: t.graphID, Assistant: t.assistant}
	if namespace != "" {
		return v
	}
	v.Messages = t.server.messages()[t.graphID]
	v.Commit = func(number uint64) (wire.Snapshot, bool) {
		s, err := t.commit(ctx, number)
		return s, err == nil
	}
	return v
}

// commit loads a commit with its state; 0 is the newest.
func (t shownThread) commit(ctx context.Context, number uint64) (wire.Snapshot, error) {
	g := t.server.graphs()[t.graphID]
	if g == nil {
		return wire.Snapshot{}, wire.Errorf(wire.CodeGraphNotFound, "Graph %.100q not found", t.graphID)
	}
	state, info, err := g.Thread(t.thread).State(ctx, number)
	return wire.Snapshot{Info: info, State: state}, err
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
	if id.Number == 0 {
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

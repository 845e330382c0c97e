package graph

import (
	"context"
	"errors"
	"iter"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/schedule"
	"github.com/weftrun/weft/state"
)

// StoredThread reads what the store of a graph holds of one thread. [Graph.Thread] returns it, also
// for a thread that does not exist yet: the methods return an [ErrUnknownThread] then. S is the
// state of the graph, or json.RawMessage where an [Untyped] returned it.
type StoredThread[S any] struct {
	stored programThread
	state  func(state.View) (S, error)
}

// programThread does what a StoredThread does without the type of the state.
type programThread struct {
	p   *program
	key checkpoint.Key
}

// Thread returns what the store holds of a thread.
func (g *Graph[S]) Thread(thread string) StoredThread[S] {
	return StoredThread[S]{g.p.thread(thread), func(v state.View) (S, error) { return *v.State.(*S), nil }}
}

func (p *program) thread(id string) programThread {
	return programThread{p, checkpoint.Key{Thread: id}}
}

// In returns what is stored of a subgraph on the thread, by its Namespace; "" is the thread's own
// graph. The graph that Thread was called on is then that of the subgraph, compiled with the same
// Store. Decisions, Replay and Draw are about the thread as a whole.
func (t StoredThread[S]) In(namespace string) StoredThread[S] {
	t.stored.key.Namespace = namespace
	return t
}

// State returns the state at a commit, with the commit; 0 is the newest.
func (t StoredThread[S]) State(ctx context.Context, at uint64) (s S, p CommitInfo, err error) {
	v, p, err := t.stored.load(ctx, at)
	if err != nil {
		return s, p, err
	}
	s, err = t.state(v)
	return s, p, err
}

// load returns the state at a commit, as a view by the schema of the graph, with the commit.
func (t programThread) load(ctx context.Context, at uint64) (v state.View, p CommitInfo, err error) {
	store, err := t.p.requireStore()
	if err != nil {
		return v, p, err
	}
	snap, p, err := loadCommit(ctx, store, t.key, at)
	if err != nil {
		return v, p, err
	}
	_, v, err = checkpoint.Restore(snap, t.p.schema)
	return v, p, err
}

// Decisions yields what was decided about the thread; see [ThreadDecisions].
func (t StoredThread[S]) Decisions(ctx context.Context) iter.Seq2[DecisionRecord, error] {
	return t.stored.decisions(ctx)
}

func (t programThread) decisions(ctx context.Context) iter.Seq2[DecisionRecord, error] {
	store, err := t.p.requireStore()
	if err != nil {
		return func(yield func(DecisionRecord, error) bool) { yield(DecisionRecord{}, err) }
	}
	return ThreadDecisions(ctx, store, t.key.Thread)
}

// StoredState is a commit of a thread with its state.
type StoredState[S any] struct {
	CommitInfo
	State S
}

// statesAtOnce is how many states are read at once.
const statesAtOnce = 32

// States yields the commits with their states, newest first, as [History] yields them without. It
// reads up to 32 states at once, also where the caller takes fewer: set Query.Limit.
func (t StoredThread[S]) States(ctx context.Context, q checkpoint.Query) iter.Seq2[StoredState[S], error] {
	return func(yield func(StoredState[S], error) bool) {
		for page, err := range t.stored.pages(ctx, q) {
			states, errs := t.readStates(ctx, page)
			for i, s := range states {
				if errors.Is(errs[i], ErrUnknownThread) {
					continue // it was pruned in the meantime
				}
				if !yield(s, errs[i]) {
					return
				}
			}
			if err != nil {
				yield(StoredState[S]{}, err)
				return
			}
		}
	}
}

// pages yields the commits of a History in pages of statesAtOnce. The last page may be empty, and
// it comes with the error of the History if there is one.
func (t programThread) pages(ctx context.Context, q checkpoint.Query) iter.Seq2[[]CommitInfo, error] {
	return func(yield func([]CommitInfo, error) bool) {
		store, err := t.p.requireStore()
		if err != nil {
			yield(nil, err)
			return
		}
		var page []CommitInfo
		for p, err := range History(ctx, store, t.key, q) {
			if err != nil {
				yield(page, err)
				return
			}
			if page = append(page, p); len(page) < statesAtOnce {
				continue
			}
			if !yield(page, nil) {
				return
			}
			page = nil
		}
		yield(page, nil)
	}
}

// readStates returns the states at commits, each with its error.
func (t StoredThread[S]) readStates(ctx context.Context, page []CommitInfo) ([]StoredState[S], []error) {
	states, errs := make([]StoredState[S], len(page)), make([]error, len(page))
	reads := make([]func(), len(page))
	for i, p := range page {
		states[i].CommitInfo = p
		reads[i] = func() { states[i].State, _, errs[i] = t.State(ctx, p.Checkpoint) }
	}
	schedule.AtOnce(reads...)
	return states, errs
}

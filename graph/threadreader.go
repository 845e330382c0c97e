package graph

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/weftrun/weft/checkpoint"
)

// threadReader reads the stored commits of a thread, those of its subgraphs too.
type threadReader struct {
	ctx    context.Context
	store  checkpoint.Store
	thread string
}

// storedCommit is a stored commit without its state.
type storedCommit struct {
	checkpoint.Snapshot
	rec *checkpoint.Record
}

func (t threadReader) key(namespace string) checkpoint.Key {
	return checkpoint.Key{Thread: t.thread, Namespace: namespace}
}

// commits yields the commits of a namespace that a query selects, newest first. After an error it
// yields nothing more.
func (t threadReader) commits(namespace string, q checkpoint.Query) iter.Seq2[storedCommit, error] {
	return func(yield func(storedCommit, error) bool) {
		for snap, err := range t.store.History(t.ctx, t.key(namespace), q) {
			if err != nil {
				yield(storedCommit{}, err)
				return
			}
			rec, err := checkpoint.ReadRecord(snap)
			if err != nil {
				yield(storedCommit{}, err)
				return
			}
			if !yield(storedCommit{snap, rec}, nil) {
				return
			}
		}
	}
}

// newestNumber returns the number of the newest commit of a namespace.
func (t threadReader) newestNumber(namespace string) (uint64, error) {
	for snap, err := range t.store.History(t.ctx, t.key(namespace), checkpoint.Query{Limit: 1}) {
		return snap.Seq, err
	}
	return 0, unknown(t.key(namespace), 0)
}

// newest returns the newest commit of a namespace, and the pending writes.
func (t threadReader) newest(namespace string) (c storedCommit, pending []checkpoint.Entry, err error) {
	if c.Snapshot, err = t.store.Load(t.ctx, t.key(namespace), 0); err != nil {
		return c, nil, err
	}
	if c.rec, err = checkpoint.ReadRecord(c.Snapshot); err == nil {
		pending, err = checkpoint.ReadPending(c.Snapshot)
	}
	return c, pending, err
}

// at returns the record of one commit; nil if there is no such commit.
func (t threadReader) at(namespace string, seq uint64) (*checkpoint.Record, error) {
	for c, err := range t.commits(namespace, checkpoint.Query{Before: seq + 1, Limit: 1}) {
		if err != nil || c.Seq == seq {
			return c.rec, err
		}
	}
	return nil, nil
}

// callerOf returns the newest commit of the parent at which the task of w is due.
func (t threadReader) callerOf(w *checkpoint.Within) (uint64, *checkpoint.Record, error) {
	for c, err := range t.commits(w.Namespace, checkpoint.Query{}) {
		if err != nil {
			return 0, nil, err
		}
		if branchOf(c.rec) == w.Root.Branch && isDue(c.rec, w.Task) {
			return c.Seq, c.rec, nil
		}
	}
	where := fmt.Sprintf("thread %q", t.thread)
	if w.Namespace != "" {
		where += fmt.Sprintf(", namespace %q", w.Namespace)
	}
	return 0, nil, unknownError(fmt.Sprintf("graph: no such commit: %s has none left before step %d of turn %d, in which node %q ran",
		where, w.Step, w.Turn, w.Node))
}

func isDue(rec *checkpoint.Record, task string) bool {
	return slices.ContainsFunc(rec.Next, func(t checkpoint.Task) bool { return t.ID == task })
}

// hasBranched reports whether the call of a subgraph at this place has begun its branch of the
// chain.
func (t threadReader) hasBranched(namespace string, place *checkpoint.Within) (bool, error) {
	for c, err := range t.commits(namespace, checkpoint.Query{}) {
		if err != nil {
			return false, err
		}
		switch w := c.rec.Within; {
		case w == nil, w.Root.Branch != place.Root.Branch:
			return false, nil
		case w.Call == place.Call:
			return true, nil
		}
	}
	return false, nil
}

// branchOf returns the branch of the thread on which a commit was made.
func branchOf(rec *checkpoint.Record) uint64 {
	if rec.Within != nil {
		return rec.Within.Root.Branch
	}
	return rec.Branch
}

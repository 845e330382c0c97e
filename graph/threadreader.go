package graph

import (
	"context"
	"iter"

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

package graph

import (
	"fmt"

	"github.com/weftrun/weft/checkpoint"
)

// A thread is a tree when it was gone back in. A subgraph that lives as long as the
// thread has a chain of its own, which knows nothing of that: so what it goes on from is
// looked for among its commits. It is the newest that was made for a task on the way
// that the graph at the root itself has come.

// position returns where the graph at the root is while t runs.
func (t *task) position() checkpoint.Position {
	for t.run.inside != nil {
		t = t.run.inside
	}
	return checkpoint.Position{Branch: t.run.branch, Turn: t.run.turn, Step: t.step}
}

// lineage returns the way that a run at the root has come: for each branch, its own
// first, the last position on it. The Turn of its own is 0: it has not ended.
func (r *run) lineage() ([]checkpoint.Position, error) {
	way := []checkpoint.Position{{Branch: r.branch}}
	if r.replays != nil { // the future is not its own
		way[0].Turn, way[0].Step = r.turn, r.step
	}
	for at := r.branch; at != 0; {
		begun, err := r.recordAt(at)
		if err != nil {
			return nil, err
		}
		from, err := r.recordAt(begun.Parent)
		if err != nil {
			return nil, err
		}
		way = append(way, checkpoint.Position{Branch: from.Branch, Turn: from.Turn, Step: from.Step})
		at = from.Branch
	}
	return way, nil
}

// recordAt returns the record of one commit of the run's own chain.
func (r *run) recordAt(seq uint64) (*checkpoint.Record, error) {
	key := r.key()
	for snap, err := range r.cfg.Store.History(r.ctx, key, checkpoint.Query{Before: seq + 1, Limit: 1}) {
		if err == nil && snap.Seq != seq {
			break
		}
		if err != nil {
			return nil, err
		}
		return checkpoint.ReadRecord(snap)
	}
	return nil, fmt.Errorf("%w: commit %d of namespace %q, from which a branch began, was pruned", checkpoint.ErrNotFound, seq, r.ns)
}

// on reports whether a call was made on the way.
func on(way []checkpoint.Position, w *checkpoint.Within) bool {
	for _, p := range way {
		if at := w.Root; at.Branch == p.Branch {
			return p.Turn == 0 || at.Turn < p.Turn || at.Turn == p.Turn && at.Step <= p.Step
		}
	}
	return false
}

// openShared opens the chain of a subgraph that lives as long as the thread.
func (r *run) openShared(key checkpoint.Key) (*checkpoint.Chain, error) {
	c, err := checkpoint.Open(r.ctx, r.cfg.Store, key, r.schema)
	if err != nil || c.Record == nil || r.root().branch == 0 && r.root().replays == nil {
		return c, err
	}
	way, err := r.root().lineage()
	if err != nil || c.Record.Within == nil || on(way, c.Record.Within) {
		return c, err
	}
	for snap, err := range r.cfg.Store.History(r.ctx, key, checkpoint.Query{Before: c.Head()}) {
		if err != nil {
			return nil, err
		}
		rec, err := checkpoint.ReadRecord(snap)
		if err != nil {
			return nil, err
		}
		if rec.Within == nil || on(way, rec.Within) {
			return checkpoint.OpenAt(r.ctx, r.cfg.Store, key, r.schema, snap.Seq)
		}
	}
	c.Forget()
	return c, nil
}

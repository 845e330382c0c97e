package graph

import (
	"cmp"
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
	if r.req.replays() { // the future is not its own
		way[0].Turn, way[0].Step = r.turn, r.step
	}
	for at := r.branch; at != 0; {
		begun, err := r.thread().recordAt(r.ns, at)
		if err != nil {
			return nil, err
		}
		from, err := r.thread().recordAt(r.ns, cmp.Or(begun.Parent, at-1))
		if err != nil {
			return nil, err
		}
		way = append(way, checkpoint.Position{Branch: from.Branch, Turn: from.Turn, Step: from.Step})
		at = from.Branch
	}
	return way, nil
}

// recordAt returns the record of the commit of a namespace from which a branch began.
func (t threadReader) recordAt(namespace string, seq uint64) (*checkpoint.Record, error) {
	rec, err := t.at(namespace, seq)
	if rec == nil && err == nil {
		err = fmt.Errorf("%w: commit %d of namespace %q, from which a branch began, was pruned", checkpoint.ErrNotFound, seq, namespace)
	}
	return rec, err
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

// onHost is on for the chain of the graph that made the call. What was called there counts also
// where the step of the root was begun again, as far as the chain itself has kept it.
func onHost(way []checkpoint.Position, w *checkpoint.Within) bool {
	for _, p := range way {
		if p.Branch == w.Root.Branch {
			return p.Turn == 0 || w.Turn < p.Turn || w.Turn == p.Turn && w.Step <= p.Step
		}
	}
	return false
}

// ways are the ways that the root and the hosts of a subgraph have come.
type ways struct {
	*run
	root  []checkpoint.Position
	hosts map[string][]checkpoint.Position
}

// on reports whether a call was made on the way.
func (y *ways) on(w *checkpoint.Within) (bool, error) {
	if w == nil || on(y.root, w) {
		return true, nil
	}
	if w.Namespace == "" {
		return false, nil
	}
	way, known := y.hosts[w.Namespace]
	if !known {
		var err error
		if way, err = y.thread().wayOf(w.Namespace, y.session.root.branch); err != nil {
			return false, err
		}
		y.hosts[w.Namespace] = way
	}
	return onHost(way, w), nil
}

// openShared opens the chain of a subgraph that lives as long as the thread.
func (r *run) openShared(key checkpoint.Key) (*checkpoint.Chain, error) {
	c, err := checkpoint.Open(r.ctx, r.cfg.Store, key, r.schema)
	if err != nil || c.Record == nil || r.session.root.branch == 0 && !r.session.root.req.replays() {
		return c, err
	}
	way, err := r.session.root.lineage()
	if err != nil {
		return nil, err
	}
	y := &ways{r, way, map[string][]checkpoint.Position{}}
	if ok, err := y.on(c.Record.Within); ok || err != nil {
		return c, err
	}
	older, err := r.openNewest(key, y.on)
	if older == nil && err == nil {
		c.Forget()
		return c, nil
	}
	return older, err
}

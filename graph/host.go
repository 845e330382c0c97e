package graph

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weftrun/weft/checkpoint"
)

// hosts returns the commit of the root at which the tasks are due that run a subgraph, and how
// they come to the subgraph's commit number at, or its newest if at is 0. The Rewind is nil if
// the thread stands there.
func (r *run) hosts(namespace string, at uint64) (host uint64, rw *checkpoint.Rewind, err error) {
	child, stands, named := "", true, fmt.Sprintf("commit %d of namespace %q", at, namespace)
	for namespace != "" {
		newest, err := r.thread().newestNumber(namespace)
		if err != nil {
			return 0, nil, err
		}
		if at == 0 {
			at = newest
		}
		rec, err := r.thread().at(namespace, at)
		if err != nil {
			return 0, nil, err
		}
		if rec == nil {
			return 0, nil, unknown(r.thread().key(namespace), at)
		}
		w := rec.Within
		if w == nil {
			return 0, nil, fmt.Errorf("%w: namespace %q of thread %q is that of no subgraph", ErrEdit, namespace, r.opts.Thread)
		}
		stands, child = stands && at == newest, cmp.Or(child, rec.Graph)
		rw = &checkpoint.Rewind{Task: w.Task, Call: w.Call, Scopes: w.Scopes, Namespace: namespace, At: at, Next: rw}
		var was *checkpoint.Record
		if host, was, err = r.thread().hostOf(w); err != nil {
			return 0, nil, fmt.Errorf("%w, and %s belongs to that step", err, named)
		}
		rw.Branches = []uint64{was.Branch}
		if before := was.Rewind; before != nil && before.Task == w.Task {
			rw.Branches = append(rw.Branches, before.Branches...)
		}
		if namespace, at = w.Namespace, host; namespace == "" && r.ns == "" && child == r.name && was.Graph != r.name {
			return 0, nil, fmt.Errorf("%w: %s is gone back to with the graph of the thread, %q, and not with that of the subgraph", ErrEdit, named, was.Graph)
		}
	}
	newest, err := r.thread().newestNumber("")
	if stands && err == nil && host == newest {
		return host, nil, nil
	}
	return host, rw, err
}

// hostOf returns the newest commit of the parent at which the task of w is due.
func (t threadReader) hostOf(w *checkpoint.Within) (uint64, *checkpoint.Record, error) {
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

// wayOf returns how the chain of a subgraph has come to where it stands on the thread's present
// branch, present: for each branch of the thread on which its commits were made, the last position there.
// The Turn of the present one is 0: it has not ended. A chain that has no commit on the present
// branch gives nothing.
func (t threadReader) wayOf(namespace string, present uint64) (way []checkpoint.Position, err error) {
	var at uint64 // the next commit on the way, or before; 0 is the newest
	exact := false
	for c, err := range t.commits(namespace, checkpoint.Query{}) {
		if err != nil {
			return nil, err
		}
		if at != 0 && c.Seq > at {
			continue
		}
		if exact && c.Seq != at {
			return nil, fmt.Errorf("%w: commit %d of namespace %q, from which a branch began, was pruned", checkpoint.ErrNotFound, at, namespace)
		}
		rec := c.rec
		switch w := rec.Within; {
		case w == nil, way == nil && w.Root.Branch != present:
			return nil, nil
		case way == nil:
			way = []checkpoint.Position{{Branch: present}}
		case w.Root.Branch != way[len(way)-1].Branch:
			way = append(way, checkpoint.Position{Branch: w.Root.Branch, Turn: rec.Turn, Step: rec.Step})
		}
		at, exact = cmp.Or(rec.Parent, c.Seq-1), rec.Parent != 0
		if at == 0 || rec.Source == checkpoint.Input && rec.Turn == 1 {
			break // it began there, from nothing
		}
	}
	return way, nil
}

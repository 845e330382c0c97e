package graph

import (
	"cmp"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
)

// Resuming from an older commit turns the history of a thread into a tree. A subgraph whose state
// lives as long as the thread has a chain of its own, which does not branch with the thread. So the
// commit from which it goes on is looked for: the newest that was made for a task on the lineage of
// the graph at the root.

// lineage is where a chain on the thread's present branch comes from: for each branch of the
// thread, the present one first, the last position there. The Turn of the first is 0 if it has not
// ended.
type lineage []checkpoint.Position

// includes reports whether a task at a position of the root is on the lineage.
func (l lineage) includes(at checkpoint.Position) bool {
	for _, p := range l {
		if at.Branch == p.Branch {
			return p.Turn == 0 || at.Turn < p.Turn || at.Turn == p.Turn && at.Step <= p.Step
		}
	}
	return false
}

// lineages are those of the root and of the graphs around a subgraph.
type lineages struct {
	threadReader
	root  lineage
	hosts map[string]lineage // by namespace, as far as they were read
}

// include reports whether a call was made on the thread's present branch, or before it began. A
// call from inside a subgraph counts also where the step of the root was begun again, as far as the
// chain of that subgraph has retained it.
func (l *lineages) include(w *checkpoint.Within) (bool, error) {
	if w == nil || l.root.includes(w.Root) {
		return true, nil
	}
	if w.Namespace == "" {
		return false, nil
	}
	host, known := l.hosts[w.Namespace]
	if !known {
		var err error
		if host, err = l.lineageOf(w.Namespace, l.root[0].Branch); err != nil {
			return false, err
		}
		l.hosts[w.Namespace] = host
	}
	return host.includes(checkpoint.Position{Branch: w.Root.Branch, Turn: w.Turn, Step: w.Step}), nil
}

// lineageOf returns the lineage of the chain of a subgraph on the thread's present branch. A chain
// that has no commit there gives nothing.
func (t threadReader) lineageOf(namespace string, present uint64) (lin lineage, err error) {
	var at uint64 // the next commit has this number, or at most this one; 0 for the newest
	exact := false
	for c, err := range t.commits(namespace, checkpoint.Query{}) {
		if err != nil {
			return nil, err
		}
		if at != 0 && c.Seq > at {
			continue
		}
		if exact && c.Seq != at {
			return nil, prunedStart(at, namespace)
		}
		rec := c.rec
		switch w := rec.Within; {
		case w == nil, lin == nil && w.Root.Branch != present:
			return nil, nil
		case lin == nil:
			lin = lineage{{Branch: present}}
		case w.Root.Branch != lin[len(lin)-1].Branch:
			lin = append(lin, checkpoint.Position{Branch: w.Root.Branch, Turn: rec.Turn, Step: rec.Step})
		}
		at, exact = cmp.Or(rec.Parent, c.Seq-1), rec.Parent != 0
		if at == 0 || rec.Source == checkpoint.Input && rec.Turn == 1 {
			break // it began there, from nothing
		}
	}
	return lin, nil
}

// branchStart returns the record of the commit with which a branch began, or from which it began.
func (t threadReader) branchStart(namespace string, seq uint64) (*checkpoint.Record, error) {
	rec, err := t.at(namespace, seq)
	if rec == nil && err == nil {
		err = prunedStart(seq, namespace)
	}
	return rec, err
}

func prunedStart(seq uint64, namespace string) error {
	return fmt.Errorf("%w: commit %d of namespace %q, from which a branch began, was pruned", checkpoint.ErrNotFound, seq, namespace)
}

package graph

import (
	"slices"
	"strings"

	"github.com/weftrun/weft/checkpoint"
)

// Going back to a commit of a subgraph begins a branch of the thread, at the commit of the root
// before the step whose task runs the subgraph. The records of the branch hold a
// [checkpoint.Rewind] for a later Resume. The task runs again from its beginning. At the call, the
// subgraph begins a branch of its own chain at the commit. Subgraphs that the task called before
// give what they ended with; those after it begin anew.

// ended returns the end of the same call on the branches that the thread has left, if the
// subgraph had ended there.
func (v *childCall) ended() (none resumePoint, err error) {
	t := v.up.task
	roots := t.root().rewound().branches()
	if t.run.cfg.Store == nil || v.p.cfg.Nested == Stateless {
		return none, nil
	}
	for _, branch := range t.rewound().Branches {
		ns := v.namespace(branch)
		for c, err := range t.run.thread().commits(ns, checkpoint.Query{}) {
			if err != nil {
				return none, err
			}
			if w := c.rec.Within; w != nil && w.Call == v.call() && slices.Contains(roots, w.Root.Branch) {
				if !c.rec.Done() {
					return none, nil
				}
				return resumePoint{namespace: ns, at: c.Seq}, nil
			}
		}
	}
	return none, nil
}

// past returns the results and answers of the task of rw in its step, as far as it is known: from
// the pending writes of the commit at, of which was is the record, or from the Trace of the commit
// after it.
func (t threadReader) past(namespace string, rw *checkpoint.Rewind, at uint64, was *checkpoint.Record, pending []checkpoint.Entry) (past []checkpoint.Entry, err error) {
	if rw == nil {
		return nil, nil
	}
	if len(pending) == 0 {
		pending, err = t.traceAfter(namespace, at, was)
	}
	if len(pending) == 0 && err == nil {
		pending, err = t.pastOfHead(namespace, rw)
	}
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	add := func(slot string, data []byte) {
		if !known[slot] {
			known[slot] = true
			past = append(past, checkpoint.Entry{Task: rw.Task, Slot: slotPast + slot, Data: data})
		}
	}
	inner, _, _ := strings.Cut(rw.Call, "#")
	for _, e := range pending { // the newest first
		id, isMemo := strings.CutPrefix(e.Slot, slotMemo)
		switch {
		case isMemo && e.Task == rw.Task && id != inner && !slices.Contains(rw.Scopes, id):
			add(e.Slot, e.Data)
		case e.Task == "" && (strings.HasPrefix(e.Slot, slotAnswer) || strings.HasPrefix(e.Slot, slotRefusal)):
			add(e.Slot, e.Data)
		}
	}
	for _, e := range pending {
		if slot, ok := strings.CutPrefix(e.Slot, slotPast); ok && e.Task == rw.Task {
			add(slot, e.Data)
		}
		if isHandler(inner) && e.Task == rw.Task && e.Slot == slotFailure {
			past = append(past, e) // the call was the handler's
		}
	}
	return past, nil
}

// pastOfHead returns what the newest commit has of the branches on which the task of rw ran, if the
// thread went back from them before.
func (t threadReader) pastOfHead(namespace string, rw *checkpoint.Rewind) (past []checkpoint.Entry, err error) {
	for c, err := range t.commits(namespace, checkpoint.Query{Limit: 1}) {
		if err != nil || c.rec.Rewind == nil || c.rec.Rewind.Task != rw.Task || !slices.Contains(c.rec.Rewind.Branches, rw.Branches[0]) {
			return nil, err
		}
		entries, err := checkpoint.ReadPending(c.Snapshot)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Slot, slotPast) {
				past = append(past, e)
			}
		}
	}
	return past, nil
}

// traceAfter returns the Trace of the step that followed a commit on its own branch.
func (t threadReader) traceAfter(namespace string, at uint64, was *checkpoint.Record) (trace []checkpoint.Entry, err error) {
	for c, err := range t.commits(namespace, checkpoint.Query{}) {
		if err != nil {
			return nil, err
		}
		if c.Seq <= at {
			break
		}
		if rec := c.rec; rec.Branch == was.Branch && rec.Turn == was.Turn && rec.Step == was.Step+1 && rec.Source == checkpoint.Step {
			trace = rec.Trace
		}
	}
	return trace, nil
}

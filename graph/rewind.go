package graph

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weftrun/weft/checkpoint"
)

// To go back to a commit of a subgraph is to begin a branch of the thread: at the commit of the
// root before the step whose task runs the subgraph. The branch's records hold a
// [checkpoint.Rewind], so a later Resume knows of it too. The task runs again from its top. When
// it comes to the call, the subgraph begins a branch of its own chain at the commit. Subgraphs
// that the task called before give what they ended with; those after it begin anew.

// slotPast is how a slot begins that holds what a task kept, or was answered, on the branch from
// which the thread went back. It counts until the task comes to the call that goes back.
const slotPast = "past/"

// rewound is what a task knows that takes up a subgraph at an older commit. The task's mu guards
// reached and used; the rest does not change.
type rewound struct {
	checkpoint.Rewind
	reached bool                 // the task has come to the call
	kept    map[string]keptValue // what its code kept before
	given   answers              // the answers it had before
	used    answers              // those of them that it has used
}

// origin says where a subgraph goes on from on this branch of the thread.
type origin struct {
	namespace string
	at        uint64             // 0: it has none
	next      *checkpoint.Rewind // of its own tasks
}

// goBack makes t a task that takes up a subgraph at an older commit. slots are the task's.
func (t *task) goBack(rw *checkpoint.Rewind, slots map[string][]byte) error {
	b := &rewound{Rewind: *rw, kept: map[string]keptValue{}, given: answers{}, used: answers{}}
	var past []checkpoint.Entry
	for slot, data := range slots {
		slot, ok := strings.CutPrefix(slot, slotPast)
		if !ok {
			continue
		}
		past = append(past, checkpoint.Entry{Slot: slot, Data: data})
		if id, ok := strings.CutPrefix(slot, slotKept); ok {
			var v keptValue
			if err := json.Unmarshal(data, &v); err != nil {
				return fmt.Errorf("graph: a kept result: %w", err)
			}
			b.kept[id] = v
		}
	}
	b.given = sortPending(past).given
	if up := t.run.inside; up != nil && up.back != nil {
		b.given = up.back.given // the answers are kept at the root
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.back = b
	t.found.Store(true) // so the end of each attempt is looked at
	return nil
}

// comesTo returns where the subgraph of a call goes on from, if t goes back. From the call that
// goes back on, nothing counts of what t did before.
func (t *task) comesTo(v *visit) (origin, error) {
	b := t.back
	if b == nil {
		return origin{}, nil
	}
	isIt := b.Call == v.call()
	t.mu.Lock()
	late := b.reached
	b.reached = late || isIt
	t.mu.Unlock()
	switch {
	case late:
		return origin{}, nil
	case isIt:
		return origin{b.Namespace, b.At, b.Next}, nil
	}
	return v.ended()
}

// pastKept returns what the code of t kept under an id before the thread went back.
func (t *task) pastKept(id string) (keptValue, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.back == nil || t.back.reached {
		return keptValue{}, false
	}
	v, ok := t.back.kept[id]
	return v, ok
}

// pastAnswer returns the answer that a question of t had before the thread went back.
func (t *task) pastAnswer(id string) (answer, bool) {
	t = t.keeper()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.back == nil || t.back.reached {
		return answer{}, false
	}
	a, ok := t.back.given[id]
	if ok {
		t.back.used[id] = a
	}
	return a, ok
}

// usedAnswers returns the answers from before that t has used.
func (t *task) usedAnswers() answers {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.back == nil {
		return nil
	}
	return t.back.used
}

// missed returns an error if t has finished without the call that goes back.
func (t *task) missed() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.back == nil || t.back.reached {
		return nil
	}
	return Permanent(fmt.Errorf("%w: the node has finished and did not call the subgraph of namespace %q, which is to go on from its commit %d",
		ErrProgram, t.back.Namespace, t.back.At))
}

// rootBranches returns the branches of the thread on which t ran before, newest first.
func (t *task) rootBranches() []uint64 {
	for t.run.inside != nil {
		t = t.run.inside
	}
	if t.back == nil {
		return nil
	}
	return t.back.Branches
}

// ended returns the end of the same call on the branches that the thread has left, if the
// subgraph had ended there.
func (v *visit) ended() (none origin, err error) {
	t := v.up.task
	roots := t.rootBranches()
	if t.run.cfg.Store == nil || v.p.cfg.Nested == Stateless {
		return none, nil
	}
	for _, branch := range t.back.Branches {
		ns := v.namespace(branch)
		for c, err := range t.run.thread().commits(ns, checkpoint.Query{}) {
			if err != nil {
				return none, err
			}
			if w := c.rec.Within; w != nil && w.Call == v.call() && slices.Contains(roots, w.Root.Branch) {
				if !c.rec.Done() {
					return none, nil
				}
				return origin{namespace: ns, at: c.Seq}, nil
			}
		}
	}
	return none, nil
}

// fork commits the beginning of a branch at the commit at which the chain was opened. Where the
// run goes back to a subgraph's commit, what its task did before stands beside it. It is stored
// at once, whatever the durability.
func (r *run) fork() error {
	if !r.forks {
		return r.commit(checkpoint.Fork)
	}
	past, err := r.thread().past(r.ns, r.rewind, r.journal.Chain.Parent(), r.journal.Chain.Record, r.journal.Chain.Pending)
	if err != nil {
		return err
	}
	if r.rewind != nil && !r.journal.Chain.Branches() {
		if err := r.closeOpen(r.journal.Chain.Head(), r.journal.Chain.Record, r.journal.Chain.Pending, withoutTask(r.journal.Chain.Pending, r.rewind.Task)); err != nil {
			return err
		}
	}
	r.tries, r.next.source, r.next.ran = 0, checkpoint.Fork, nil
	return r.journal.CommitNow(past...)
}

// past returns what the task of rw kept and was answered in its step, as far as it is known:
// beside the commit at, of which was is the record, or in the Trace of the commit after it.
func (t threadReader) past(namespace string, rw *checkpoint.Rewind, at uint64, was *checkpoint.Record, beside []checkpoint.Entry) (past []checkpoint.Entry, err error) {
	if rw == nil {
		return nil, nil
	}
	if len(beside) == 0 {
		beside, err = t.traceAfter(namespace, at, was)
	}
	if len(beside) == 0 && err == nil {
		beside, err = t.pastOfHead(namespace, rw)
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
	for _, e := range beside { // what is newer first
		id, kept := strings.CutPrefix(e.Slot, slotKept)
		switch {
		case kept && e.Task == rw.Task && id != inner && !slices.Contains(rw.Scopes, id):
			add(e.Slot, e.Data)
		case e.Task == "" && (strings.HasPrefix(e.Slot, slotAnswer) || strings.HasPrefix(e.Slot, slotRefusal)):
			add(e.Slot, e.Data)
		}
	}
	for _, e := range beside {
		if slot, ok := strings.CutPrefix(e.Slot, slotPast); ok && e.Task == rw.Task {
			add(slot, e.Data)
		}
		if strings.HasSuffix(inner, "!handler") && e.Task == rw.Task && e.Slot == slotFailure {
			past = append(past, e) // the call was the handler's
		}
	}
	return past, nil
}

// pastOfHead returns what the newest commit still knows of the branches on which the task of rw
// ran, if the thread went back from them before.
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

package graph

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/journal"
	"github.com/weftrun/weft/state"
)

// An edit of a subgraph is a commit of the subgraph's own chain. The graphs around it have stored
// what the subgraph asks, and the root keeps the decisions of the thread. So that no crash leaves
// them with what is not true, they are written before the edit, from the root inwards:
//
//   - Among the pending writes of the root is an announcement, which holds the decision. It
//     counts once the commit that it names is there. After the commit the decision itself is put
//     there; where a crash prevents that, the next run that opens the root records it.
//   - Among those of each graph around the subgraph, the task that runs it loses the questions
//     that the edit closes, and is to run again.
//
// After a crash before the commit the next Resume asks these questions again.

// slotEdit is how the slot of an announcement begins. It has no task.
const slotEdit = "edit/"

// announcement returns the part of a slot that differs for each edit of a thread.
func (d *DecisionRecord) announcement() string { return fmt.Sprintf("%s/%d", d.Run, d.Checkpoint) }

// announce lets the next commit, which makes the edit d of a subgraph, be announced first. entries
// are the pending writes after it.
func (ed *editor) announce(d DecisionRecord, entries []checkpoint.Entry) error {
	data, err := ed.decider().encode(d)
	if err != nil {
		return err
	}
	note := checkpoint.Entry{Slot: slotEdit + d.announcement(), Data: data}
	ed.journal.Before(func() error {
		if fork := ed.forkRoot; fork != nil { // the commit that begins the branch of the thread has the note
			ed.forkRoot = nil
			return fork(note)
		}
		return ed.putAround(note, entries)
	})
	return nil
}

// putAround adds pending writes to the graphs around a subgraph that is to be edited.
func (ed *editor) putAround(note checkpoint.Entry, entries []checkpoint.Entry) error {
	root, err := ed.around("")
	if err != nil {
		return err
	}
	closed, err := ed.closes(entries)
	if err != nil {
		return err
	}
	outer, err := ed.outerPuts(root, closed)
	if err != nil {
		return err
	}
	discards, err := ed.discardsOf(root, closed)
	if err != nil {
		return err
	}
	if root.DecisionRoom(mostDecisions) > len(discards) {
		made, err := madeEdits(ed.thread(), root.Pending)
		if err != nil {
			return err
		}
		outer[0].entries = append(outer[0].entries, note)
		for _, d := range made {
			outer[0].entries = append(outer[0].entries, checkpoint.Entry{Slot: checkpoint.SlotDecision + d.announcement(), Data: d.data})
		}
	} else {
		ed.decider().logUnrecorded()
	}
	for _, d := range discards {
		data, err := ed.decider().encode(d)
		if err != nil {
			return err
		}
		slot := checkpoint.SlotDecision + d.Question + "/" + d.Run
		outer[0].entries = append(outer[0].entries, checkpoint.Entry{Slot: slot, Data: data})
	}
	for _, o := range outer {
		if len(o.entries) == 0 {
			continue
		}
		if err := ed.journal.Write("put", func(ctx context.Context) error { return o.chain.Put(ctx, o.entries) }); err != nil {
			return err
		}
	}
	for _, d := range discards {
		ed.session.events.decision(ed.run, d)
	}
	return nil
}

// discardsOf returns the decisions on the questions that are closed, as the root lists them.
func (ed *editor) discardsOf(root *checkpoint.Chain, closed map[string]bool) ([]DecisionRecord, error) {
	if root.Record == nil {
		return nil, nil
	}
	all, err := ed.decider().discards(root.Record, root.Pending, nil)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(d DecisionRecord) bool { return !closed[d.Question] })
	for i := range all {
		all[i].Checkpoint, all[i].Branch = root.Head(), root.Record.Branch
	}
	if room := root.DecisionRoom(mostDecisions); len(all) > room {
		ed.decider().logUnrecorded()
		all = all[:room]
	}
	return all, nil
}

// around opens the chain of a graph around a subgraph that is edited. The program at hand is the
// subgraph's, so the state is left as it is stored.
func (ed *editor) around(namespace string) (*checkpoint.Chain, error) {
	c, err := checkpoint.Open(ed.ctx, ed.cfg.Store, checkpoint.Key{Thread: ed.opts.Thread, Namespace: namespace}, emptySchema)
	if err == nil {
		c.Fence, c.TTL = ed.journal.Chain.Fence, ed.journal.Chain.TTL
	}
	return c, err
}

// outerPut holds new pending writes of a graph around a subgraph.
type outerPut struct {
	chain   *checkpoint.Chain
	entries []checkpoint.Entry
}

// outerPuts returns the entries to write at the root, which comes first, and at the graphs below
// it. With them the tasks that run the subgraph go on with the edited one.
func (ed *editor) outerPuts(root *checkpoint.Chain, closed map[string]bool) ([]outerPut, error) {
	var inner []outerPut
	for w := ed.place(); w != nil; {
		c := root
		if w.Namespace != "" {
			var err error
			if c, err = ed.around(w.Namespace); err != nil {
				return nil, err
			}
		}
		rec := c.Record
		if rec == nil || branchOf(rec) != w.Root.Branch || !isDue(rec, w.Task) {
			break // it has gone on without the subgraph
		}
		e, err := withoutQuestions(sortPending(c.Pending).byTask[w.Task], w.Task, closed)
		if err != nil {
			return nil, err
		}
		if w.Namespace == "" {
			return append([]outerPut{{root, e}}, inner...), nil
		}
		inner = append([]outerPut{{c, e}}, inner...)
		w = rec.Within
	}
	return append([]outerPut{{root, nil}}, inner...), nil
}

// closes returns the ids of the questions in the subgraph that the edit closes; entries are the
// pending writes after it.
func (ed *editor) closes(entries []checkpoint.Entry) (map[string]bool, error) {
	before, err := sortPending(ed.journal.Chain.Pending).open(ed.journal.Chain.Record)
	if err != nil {
		return nil, err
	}
	rec, err := ed.record()
	if err != nil {
		return nil, err
	}
	after, err := sortPending(entries).open(rec)
	if err != nil {
		return nil, err
	}
	closed := map[string]bool{}
	for _, in := range before {
		closed[in.ID] = !slices.ContainsFunc(after, func(o Interrupt) bool { return o.ID == in.ID })
	}
	return closed, nil
}

// withoutQuestions returns what replaces an unfinished task, so that it runs again
// and does not wait for questions that are closed.
func withoutQuestions(slots map[string][]byte, task string, closed map[string]bool) ([]checkpoint.Entry, error) {
	last, err := readLast(slots)
	if err != nil || len(last.Open) == 0 {
		return nil, err
	}
	last.Open = slices.DeleteFunc(last.Open, func(in Interrupt) bool { return closed[in.ID] })
	last.Again = true
	data, err := json.Marshal(last)
	return []checkpoint.Entry{{Task: task, Slot: slotLast, Data: data}}, err
}

// confirm puts the decision to edit a subgraph among the pending writes of the root, now that the
// edit is made. If that fails nothing is lost: the announcement is there.
func (ed *editor) confirm(d DecisionRecord) {
	data, err := ed.decider().encode(d)
	if err != nil {
		return
	}
	root, err := ed.around("")
	if err != nil || !slices.ContainsFunc(root.Pending, func(e checkpoint.Entry) bool { return e.Slot == slotEdit+d.announcement() }) {
		return
	}
	_ = ed.journal.Write("put", func(ctx context.Context) error {
		return root.Put(ctx, []checkpoint.Entry{{Slot: checkpoint.SlotDecision + d.announcement(), Data: data}})
	})
}

// madeEdit is a decision that was announced and whose commit is there.
type madeEdit struct {
	DecisionRecord
	data json.RawMessage
}

// madeEdits returns the edits that were announced among the pending writes of the root and made,
// and are not among its decisions yet.
func madeEdits(t threadReader, pending []checkpoint.Entry) (made []madeEdit, err error) {
	for _, e := range pending {
		rest, ok := strings.CutPrefix(e.Slot, slotEdit)
		if !ok || slices.ContainsFunc(pending, func(o checkpoint.Entry) bool { return o.Slot == checkpoint.SlotDecision+rest }) {
			continue
		}
		d := madeEdit{data: e.Data}
		if err := json.Unmarshal(e.Data, &d.DecisionRecord); err != nil {
			return nil, fmt.Errorf("graph: thread %q: an announced edit: %w", t.thread, err)
		}
		for c, err := range t.commits(d.Namespace, checkpoint.Query{Before: d.Checkpoint + 1, Limit: 1}) {
			if err != nil {
				return nil, err
			}
			// A run with the same id may have made the commit.
			isEdit := c.rec.Source == checkpoint.Update || c.rec.Source == checkpoint.Fork
			if c.Seq == d.Checkpoint && c.rec.Run == d.Run && isEdit {
				made = append(made, d)
			}
		}
	}
	return made, nil
}

// recordAnnounced lets the next commit of a root chain record edits that are announced among the
// pending writes of the newest commit. They were made, but their run ended before it recorded
// them.
func recordAnnounced(t threadReader, m decider) error {
	c := m.chain
	pending := c.Pending
	if c.Branches() {
		head, err := t.store.Load(t.ctx, t.key(""), c.Head())
		if err != nil {
			return err
		}
		if pending, err = checkpoint.ReadPending(head); err != nil {
			return err
		}
	}
	made, err := madeEdits(t, pending)
	if err != nil {
		return err
	}
	for _, d := range made {
		if c.DecisionRoom(mostDecisions) == 0 {
			m.logUnrecorded()
			break
		}
		c.Decide(d.data)
	}
	c.Pending = slices.DeleteFunc(c.Pending, func(e checkpoint.Entry) bool { return strings.HasPrefix(e.Slot, slotEdit) })
	return nil
}

// forkForEdit begins the branch of the thread for an edit of a subgraph at an older commit. The
// program at hand is the subgraph's, so the root's state is taken as it is stored.
func (ed *editor) forkForEdit() error {
	key := checkpoint.Key{Thread: ed.opts.Thread}
	host, rw, err := newOpener(ed.run).hostOf(ed.ns(), ed.journal.Chain.Parent())
	if err != nil {
		return err
	}
	c, err := checkpoint.OpenAt(ed.ctx, ed.cfg.Store, key, emptySchema, host)
	if err != nil {
		return fmt.Errorf("graph %q: %w", ed.name, err)
	}
	c.Fence, c.TTL = ed.journal.Chain.Fence, ed.journal.Chain.TTL
	past, err := ed.thread().past("", rw, host, c.Record, c.Pending)
	if err != nil {
		return err
	}
	if err := recordAnnounced(ed.thread(), ed.deciderIn(c)); err != nil {
		return err
	}
	rec := *c.Record
	rec.Run, rec.Time, rec.Source, rec.Branch = ed.session.id, ed.cfg.Now().UTC(), checkpoint.Fork, c.Head()+1
	rec.Ran, rec.Trace, rec.Recovered, rec.Rewind = nil, nil, false, rw
	if ed.opts.Metadata != nil {
		rec.Metadata = ed.opts.Metadata
	}
	closed, err := ed.closeAtRoot(c, rw)
	if err != nil {
		return err
	}
	ed.place().Root.Branch = rec.Branch
	ed.forkRoot = func(more ...checkpoint.Entry) error {
		if len(more) > 0 && c.DecisionRoom(mostDecisions) == 0 {
			ed.decider().logUnrecorded()
			more = nil
		}
		err := ed.journal.Write("commit", func(ctx context.Context) error {
			return c.Commit(ctx, journal.CommitID(ed.session.writer, rec.Branch), &rec, c.State, nil, append(past, more...)...)
		})
		if err == nil {
			for _, d := range closed {
				ed.session.events.decision(ed.run, d)
			}
		}
		return err
	}
	return nil
}

// closeAtRoot lets the next commit of c, which begins a branch for an edit of a subgraph, record
// the questions that the branch closes, and returns them: all of the newest commit, or, where the
// branch begins there, those of the task that goes back.
func (ed *editor) closeAtRoot(c *checkpoint.Chain, rw *checkpoint.Rewind) ([]DecisionRecord, error) {
	rec, pending := c.Record, c.Pending
	after := withoutTask(pending, rw.Task)
	if c.Branches() {
		var err error
		var newest storedCommit
		if newest, pending, err = ed.thread().newest(""); err != nil {
			return nil, ed.fail(err)
		}
		rec, after = newest.rec, nil
	}
	m := ed.deciderIn(c)
	closed, err := m.discardsAt(c.Head(), rec, pending, after)
	if err != nil {
		return nil, err
	}
	return closed, m.record(closed...)
}

// emptySchema is that of a program that knows no field.
var emptySchema, _ = state.SchemaOf[struct{}]()

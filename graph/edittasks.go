package graph

import (
	"fmt"
	"slices"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/step"
)

// editTasks runs the edits as tasks; whole is true if they replace all that is due.
func (ed *editor) editTasks(edits []edit) (whole bool, err error) {
	due := map[int]int{} // node → how many tasks of it are due
	for _, n := range ed.front.Due {
		due[n]++
	}
	for _, s := range ed.front.Sends {
		due[s.Node]++
	}
	acted := 0
	ed.tasks = nil
	for _, e := range edits {
		t := ed.newTask()
		if err := ed.begin(t, e); err != nil {
			return false, err
		}
		if n := t.node.outcome.Node; n != step.NoNode && due[n] > 0 {
			due[n]--
			acted++
		}
		if err := t.call(t); err != nil {
			return false, t.fail(err)
		}
		if len(t.open) > 0 {
			return false, t.fail(fmt.Errorf("%w: it asks a question; an edit must not", ErrEdit))
		}
		ed.tasks = append(ed.tasks, t)
	}
	whole = acted == ed.front.Len() && acted == len(edits) && acted > 0
	if !whole && slices.ContainsFunc(ed.tasks, func(t *task) bool { return t.node.payload != nil }) {
		return false, fmt.Errorf("%w: a Worker has no name for each of its tasks; act as all that is due, or as none of them", ErrEdit)
	}
	slices.SortStableFunc(ed.tasks, func(a, b *task) int { return a.node.outcome.Node - b.node.outcome.Node })
	return whole, nil
}

// begin makes t a task that runs e in place of its node.
func (ed *editor) begin(t *task, e edit) error {
	if e.as == "" {
		anywhere := make(targets, 0, len(ed.nodes)+1)
		for i := range ed.nodes {
			if name := ed.nodes[i].name; name != Start {
				anywhere = append(anywhere, target{name, i})
			}
		}
		t.begin(&node{job: job{call: e.do, targets: append(anywhere, target{End, end})}, outcome: step.Outcome{Node: step.NoNode}}, -1, nil)
		return nil
	}
	n, ok := ed.find(e.as)
	if !ok {
		return fmt.Errorf("%w: %q is not a node of graph %q", ErrEdit, e.as, ed.name)
	}
	acting := ed.nodes[n]
	acting.call = e.do
	t.begin(&acting, -1, nil)
	return nil
}

// foldEdits folds what the edits wrote. What lives for one step ends with a whole one.
func (ed *editor) foldEdits(whole bool) error {
	if ed.ns() != "" {
		if ed.shared == nil {
			ed.shared = new(sharedState)
		}
		if err := ed.shared.note(ed.program, ed.tasks); err != nil { // it may share its parent's state
			return ed.fail(err)
		}
	}
	if whole {
		return ed.fold()
	}
	if err := ed.foldAll(ed.program, ed.tasks); err != nil {
		return ed.fail(err)
	}
	return nil
}

// notes returns the entries that belong to no task of the step.
func notes(pending []checkpoint.Entry) (rest []checkpoint.Entry) {
	for _, e := range pending {
		if e.Task == "" && e.Slot != slotPaused && e.Slot != slotInvalid && e.Slot != slotRerun {
			rest = append(rest, e)
		}
	}
	return rest
}

// withoutActed returns the entries without those of tasks that the edits replace.
func (ed *editor) withoutActed(pending []checkpoint.Entry) (rest []checkpoint.Entry) {
	acted := map[string]bool{}
	for _, t := range ed.tasks {
		if t.node.outcome.Node != step.NoNode {
			acted[ed.taskID(ed.turn, ed.done+1, t.node.name, -1)] = true
		}
	}
	for _, e := range pending {
		if !acted[e.Task] {
			rest = append(rest, e)
		}
	}
	return rest
}

// finished returns the due tasks whose results are among the pending writes.
func (ed *editor) finished(pending []checkpoint.Entry) (done []*task, err error) {
	sorted := sortPending(pending)
	if _, err := sorted.dropInvalid(); err != nil {
		return nil, err
	}
	ed.tasks = nil
	ed.prepare()
	for _, t := range ed.tasks {
		if data := sorted.byTask[t.id()][slotResult]; data != nil {
			if err := t.restoreResult(data); err != nil {
				return nil, t.fail(err)
			}
			done = append(done, t)
		}
	}
	return done, nil
}

package graph

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/step"
)

// editTasks runs the edits as tasks. whole is true if each edit replaces a due task and no due task
// is left: then the edits are a superstep.
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
		if err := ed.beginEdit(t, e); err != nil {
			return false, err
		}
		if n := t.node.outcome.Node; n != step.NoNode && due[n] > 0 {
			due[n]--
			acted++
		}
		err := t.call(t)
		if len(t.open) > 0 && (err == nil || errors.Is(err, ErrInterrupted)) {
			return false, t.fail(fmt.Errorf("%w: a branch of the node must not ask or wait in an edit", ErrEdit))
		}
		if err != nil {
			return false, t.fail(err)
		}
		ed.tasks = append(ed.tasks, t)
	}
	whole = acted == ed.front.Len() && acted == len(edits) && acted > 0
	if !whole && slices.ContainsFunc(ed.tasks, func(t *task) bool { return t.node.payload != nil }) {
		return false, fmt.Errorf("%w: an edit as a Worker must be in a step that replaces all due tasks, because a node's name does not select one of its tasks", ErrEdit)
	}
	slices.SortStableFunc(ed.tasks, func(a, b *task) int { return a.node.outcome.Node - b.node.outcome.Node })
	return whole, nil
}

// beginEdit prepares t to run e: in place of the node that e names, or as no node.
func (ed *editor) beginEdit(t *task, e edit) error {
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

// foldEdits folds what the edits wrote into the state. If whole, the edits end the step, so fields
// that live for one step expire.
func (ed *editor) foldEdits(whole bool) error {
	if ed.ns() != "" {
		if ed.shared == nil {
			ed.shared = new(sharedState)
		}
		// The subgraph that is edited may be an Inline, which shares the state of its parent.
		if err := ed.shared.note(ed.program, ed.tasks); err != nil {
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

// notes returns the pending entries that stay after a step ends. They belong to no task, and are
// not the static pause, invalidation or rerun of the step.
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

// finishedTasks begins the due step and returns its tasks whose results are among the pending
// writes. It leaves all tasks of the step in ed.tasks.
func (ed *editor) finishedTasks(pending []checkpoint.Entry) (done []*task, err error) {
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

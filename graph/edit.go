package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/step"
	"github.com/weftrun/weft/state"
)

// Edit changes a thread by hand. Do gets a view of the state, as a node does: what it
// writes goes through the channels' reducers, and where its Command goes becomes due.
// Do may be nil. It has no context, so it cannot ask, and a branch of the node that it acts
// as must not.
type Edit[S any] struct {
	// As names the node in whose place the edit is made.
	//
	// With "" the edit acts as no node: its Command may name any node, and everything that was
	// due stays due, with its open questions and its stored results.
	//
	// A node's name acts as that node: its edges, joins and branches follow, its Command
	// may go to its own targets, and if it was due it has run now. Everything else
	// that was due stays due.
	//
	// [Start] begins a turn as an input does. [End] ends the turn, and takes an empty
	// Command: results of finished tasks among the pending writes are folded in, and
	// nothing is due.
	As string
	Do func(s *S) (Command, error)
}

// Edit applies edits to a thread and runs nothing: each list in steps is one commit. Edits that
// together act as all that is due are a superstep of their own, just as if the nodes had run. A
// thread that does not exist yet is begun by an edit as Start. With RunOptions.At it edits an older
// commit, as the first one of a new branch. With RunOptions.Namespace it edits a subgraph's
// checkpoints, which its parent's next Resume takes up; the questions that it closes there are
// closed for the thread. At an older commit of a subgraph the whole thread goes back, so questions
// asked since are stale.
//
// The steps before one that cannot be applied stay applied; the error names it.
func (g *Graph[S]) Edit(ctx context.Context, steps [][]Edit[S], o RunOptions) (Result[S], error) {
	out, err := g.p.drive(ctx, o, request{op: opEdit, edits: erase(steps)})
	return resultOf[S](out), err
}

// Patch edits the values of a thread as no node, and leaves all work that is due as it
// is: see [Edit]. That holds for open questions too, with the text that they were
// asked with: an answer to it is taken, whatever the values are by then. Where a yes to the
// old values must be none to the new ones, put the values into Question.Key.
func (g *Graph[S]) Patch(ctx context.Context, do func(s *S) error, o RunOptions) (Result[S], error) {
	return g.Edit(ctx, [][]Edit[S]{{{Do: func(s *S) (Command, error) { return Command{}, do(s) }}}}, o)
}

// UpdateAndResume applies an edit and answers, in one commit, and goes on with the thread like
// Resume.
func (g *Graph[S]) UpdateAndResume(ctx context.Context, e Edit[S], a Answers, o RunOptions) (Result[S], error) {
	out, err := g.p.drive(ctx, o, request{op: opUpdateAndResume, edits: erase([][]Edit[S]{{e}}), answers: a})
	return resultOf[S](out), err
}

// updateAndResume applies one edit with answers and goes on.
func (ed *editor) updateAndResume(steps [][]edit, a Answers) error {
	if err := ed.opts.checkRoot(ed.name); err != nil {
		return err
	}
	if as := steps[0][0].as; (as == Start || as == End) && len(a.given) > 0 {
		return ed.badEdit(fmt.Errorf("%w: an edit as %s ends the turn whose questions are answered", ErrEdit, as))
	}
	if err := ed.editAll(steps, a); err != nil {
		return ed.badEdit(err)
	}
	ed.goal = runTurns
	return restoreTurn(ed.run, Answers{})
}

// badEdit adds the thread to an ErrEdit that does not name it.
func (ed *editor) badEdit(err error) error {
	if placed := (*NodeError)(nil); !errors.Is(err, ErrEdit) || errors.As(err, &placed) {
		return err
	}
	return fmt.Errorf("graph %q: thread %q: %w", ed.name, ed.opts.Thread, err)
}

func erase[S any](steps [][]Edit[S]) [][]edit {
	erased := make([][]edit, len(steps))
	for i, edits := range steps {
		for _, e := range edits {
			do := func(_ context.Context, s, _ any) (Command, error) {
				if e.Do == nil {
					return Command{}, nil
				}
				return e.Do(s.(*S))
			}
			erased[i] = append(erased[i], edit{e.As, do})
		}
	}
	return erased
}

// editor applies the edits of a request to the thread of its run.
type editor struct {
	*run
	answered []Interrupt                          // the questions to which the next commit has answers
	fresh    answers                              // these answers
	forkRoot func(more ...checkpoint.Entry) error // begins the branch of the thread that an edit of a subgraph needs; nil where none does
}

// editAll opens the thread and commits the steps. Answers go into the first commit.
func (ed *editor) editAll(steps [][]edit, a Answers) error {
	ed.at.Store(&location{namespace: ed.opts.Namespace})
	if err := ed.openForEdits(steps); err != nil {
		return err
	}
	pending, err := ed.addAnswers(a)
	if err != nil {
		return err
	}
	for i, edits := range steps {
		if pending, err = ed.editStep(edits, pending); err != nil {
			if len(steps) > 1 {
				return fmt.Errorf("step %d of the edits: %w", i+1, err)
			}
			return err
		}
	}
	return nil
}

func (ed *editor) openForEdits(steps [][]edit) error {
	switch {
	case ed.cfg.Store == nil:
		return ErrNoStore
	case len(steps) == 0 || slices.ContainsFunc(steps, func(s []edit) bool { return len(s) == 0 }):
		return fmt.Errorf("%w: there is nothing to do in a step", ErrEdit)
	}
	if err := ed.open(); err != nil {
		return err
	}
	if ed.journal.Chain.Record == nil {
		if steps[0][0].as == Start && ed.ns() == "" {
			return nil
		}
		return unknown(ed.key(), 0)
	}
	if in := ed.journal.Chain.Record.Within; in != nil {
		place := *in
		place.Wrote = nil // that was the step before
		ed.at.Store(&location{ed.ns(), &place})
	}
	if ed.ns() != "" && ed.journal.Chain.Branches() {
		if err := ed.forkForEdit(); err != nil {
			return err
		}
	}
	return ed.restoreFrontier(ed.journal.Chain.Record)
}

// addAnswers returns the pending writes, with the answers that are new.
func (ed *editor) addAnswers(a Answers) ([]checkpoint.Entry, error) {
	pending := ed.journal.Chain.Pending
	if ed.next.forks {
		pending = nil
	}
	if len(a.given) == 0 || ed.journal.Chain.Record == nil {
		return pending, nil
	}
	sorted := sortPending(pending)
	open, err := sorted.open(ed.journal.Chain.Record)
	if err != nil {
		return nil, err
	}
	ed.questions.add(sorted.given)
	fresh, err := a.match(open, ed.cfg.Now(), ed.questions.hasAnswered)
	if err != nil {
		ed.paused.at = open
		return nil, fmt.Errorf("graph %q: thread %q: %w", ed.name, ed.opts.Thread, err)
	}
	entries := ed.decider().answer(fresh, open)
	ed.questions.add(fresh)
	ed.fresh, ed.answered = fresh, open
	return append(slices.Clip(pending), entries...), nil
}

// editStep applies edits, commits them, and returns the writes that are pending then.
func (ed *editor) editStep(edits []edit, pending []checkpoint.Entry) ([]checkpoint.Entry, error) {
	if slices.ContainsFunc(edits, func(e edit) bool { return e.as == Start || e.as == End }) {
		if len(edits) > 1 {
			return nil, fmt.Errorf("%w: an edit as %s or %s must be alone in its step", ErrEdit, Start, End)
		}
		if edits[0].as == Start {
			return nil, ed.editStart(edits[0])
		}
		return nil, ed.editEnd(edits[0], pending)
	}
	whole, err := ed.editTasks(edits)
	if err != nil {
		return nil, err
	}
	change, before := ed.changeOf(), pending
	if err := ed.foldEdits(whole); err != nil {
		return nil, err
	}
	ed.concluded()
	if whole {
		ed.shape.Advance(&ed.front, ed.outs)
		ed.step++
		ed.done, pending = ed.step, notes(pending)
	} else {
		pending = ed.withoutActed(pending)
		ed.shape.Amend(&ed.front, ed.outs)
	}
	return pending, ed.commitEdit(change, before, pending)
}

// changeOf returns the decision to make the edits of a step.
func (ed *editor) changeOf() DecisionRecord {
	var names []string
	var views []state.View
	for _, t := range ed.tasks {
		views = append(views, t.view)
		if t.node.outcome.Node != step.NoNode {
			names = append(names, t.node.name)
		}
	}
	return ed.decider().change(ed.ns(), strings.Join(names, ", "), ed.schema, views...)
}

// commitEdit commits an edit. before and pending are the pending writes before it and after it.
func (ed *editor) commitEdit(change DecisionRecord, before, pending []checkpoint.Entry) error {
	ed.next.source, ed.next.ran = checkpoint.Update, ed.whatRan(ed.nextBuffer())
	if err := ed.decideChange(change, pending); err != nil {
		return err
	}
	if err := ed.closeOpen(ed.journal.Chain.Parent(), ed.journal.Chain.Record, before, pending); err != nil {
		return err
	}
	if err := ed.journal.CommitNow(pending...); err != nil {
		return err
	}
	ed.tasks, ed.outs = nil, nil
	ed.session.events.decisions(ed.run, ed.fresh, ed.answered)
	ed.answered = nil
	ed.recordChange(change)
	return nil
}

// editStart begins a turn with what the edit writes.
func (ed *editor) editStart(e edit) error {
	input := ed.schema.Blank()
	cmd, err := e.do(ed.ctx, input.State, nil)
	switch {
	case err != nil:
		return err
	case !cmd.empty():
		return fmt.Errorf("%w: an edit as %s begins where the graph does; its Command must be empty", ErrEdit, Start)
	}
	ed.opts.OnOpenQuestions = Discard
	change := ed.decider().change(ed.ns(), Start, ed.schema, input)
	if err := ed.decideChange(change, nil); err != nil {
		return err
	}
	if err := beginTurn(ed.run, input); err != nil {
		return err
	}
	if ed.ns() != "" { // its decision is confirmed once it is stored, whatever the durability
		if err := ed.journal.Flush(); err != nil {
			return err
		}
	}
	ed.recordChange(change)
	return nil
}

// editEnd ends the turn: the stored results of its tasks count, then the edit's own
// writes, and nothing is due any more.
func (ed *editor) editEnd(e edit, pending []checkpoint.Entry) error {
	finished, err := ed.finishedTasks(pending)
	if err != nil {
		return err
	}
	t := ed.newTask()
	t.begin(&node{job: job{call: e.do}, outcome: step.Outcome{Node: step.NoNode}}, -1, nil)
	if err := t.call(t); err != nil {
		return t.fail(err)
	}
	change := ed.decider().change(ed.ns(), End, ed.schema, t.view)
	ed.tasks = append(finished, t)
	if err := ed.foldEdits(true); err != nil {
		return err
	}
	ed.concluded()
	ed.shape.Stop(&ed.front)
	ed.done = ed.step
	return ed.commitEdit(change, pending, nil)
}

// decideChange lets the next commit record an edit by hand. That of a subgraph's state is recorded
// at the root, where it is announced before. entries are the pending writes after the commit.
func (ed *editor) decideChange(d DecisionRecord, entries []checkpoint.Entry) error {
	if ed.ns() != "" {
		return ed.announce(d, entries)
	}
	return ed.decider().record(d)
}

// recordChange emits the decision of an edit that was committed, and confirms that of a subgraph's
// state.
func (ed *editor) recordChange(d DecisionRecord) {
	ed.session.events.decision(ed.run, d)
	if ed.ns() != "" {
		ed.confirm(d)
	}
}

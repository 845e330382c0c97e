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
// Do may be nil, and must not ask.
type Edit[S any] struct {
	// As says in whose name the edit is made.
	//
	// "" is nobody's: the Command may name any node, and everything that was due stays
	// due, with its open questions and its stored results.
	//
	// A node's name acts as that node: its edges, joins and branches follow, its Command
	// may go to its own targets, and if it was due it has run now. Everything else
	// that was due stays due.
	//
	// [Start] begins a turn as an input does; [End] ends the turn: results that
	// finished tasks left beside the head are folded in, and nothing is due.
	As string
	Do func(s *S) (Command, error)
}

// Edit applies edits to a thread and runs nothing: each list in steps is one commit.
// Edits that together act as all that is due are a superstep of their own, just as
// if the nodes had run. A thread that does not exist yet is begun by an edit as Start.
// With RunOptions.At it edits an older commit, as the first one of a new branch. With
// RunOptions.Namespace it edits a subgraph's checkpoints, which its parent's next Resume takes up; the
// questions that it closes there are closed for the thread. At an older commit of a subgraph the
// whole thread goes back, so questions asked since are stale.
//
// The steps before one that cannot be applied stay applied; the error tells which.
func (g *Graph[S]) Edit(ctx context.Context, steps [][]Edit[S], o RunOptions) (Result[S], error) {
	out, err := g.p.drive(ctx, o, request{op: opEdit, edits: erase(steps)})
	return resultOf[S](out), err
}

// Patch edits the values of a thread, in nobody's name, and leaves all work that is due
// as it is: see [Edit]. That holds for open questions too, with the text that they were
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
func (r *run) updateAndResume(steps [][]edit, a Answers) error {
	if err := r.isRoot(); err != nil {
		return err
	}
	if as := steps[0][0].as; (as == Start || as == End) && len(a.given) > 0 {
		return r.badEdit(fmt.Errorf("%w: an edit as %s ends the turn whose questions are answered", ErrEdit, as))
	}
	if err := r.editAll(steps, a); err != nil {
		return r.badEdit(err)
	}
	r.drainsQueue = true
	return r.takeUp(Answers{})
}

// badEdit adds the thread to an ErrEdit that does not name it.
func (r *run) badEdit(err error) error {
	if placed := (*NodeError)(nil); !errors.Is(err, ErrEdit) || errors.As(err, &placed) {
		return err
	}
	return fmt.Errorf("graph %q: thread %q: %w", r.name, r.opts.Thread, err)
}

// edit is an Edit with the type of the state erased.
type edit struct {
	as string
	do call
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

// editAll opens the thread and commits the steps. Answers go into the first commit.
func (r *run) editAll(steps [][]edit, a Answers) error {
	r.ns = r.opts.Namespace
	if err := r.openForEdits(steps); err != nil {
		return err
	}
	beside, err := r.answerAside(a)
	if err != nil {
		return err
	}
	for i, edits := range steps {
		if beside, err = r.editStep(edits, beside); err != nil {
			if len(steps) > 1 {
				return fmt.Errorf("step %d of the edits: %w", i+1, err)
			}
			return err
		}
	}
	return nil
}

func (r *run) openForEdits(steps [][]edit) error {
	switch {
	case r.cfg.Store == nil:
		return ErrNoStore
	case len(steps) == 0 || slices.ContainsFunc(steps, func(s []edit) bool { return len(s) == 0 }):
		return fmt.Errorf("%w: there is nothing to do in a step", ErrEdit)
	}
	if err := r.open(); err != nil {
		return err
	}
	if r.journal.Chain.Record == nil {
		if steps[0][0].as == Start && r.ns == "" {
			return nil
		}
		return unknown(r.key(), 0)
	}
	r.answered = r.journal.Chain.Record.Answered
	if in := r.journal.Chain.Record.Within; in != nil {
		place := *in
		place.Wrote = nil // that was the step before
		r.place = &place
	}
	if r.ns != "" && r.journal.Chain.Branches() {
		if err := r.forkForEdit(); err != nil {
			return err
		}
	}
	return r.unrecord(r.journal.Chain.Record)
}

// answerAside returns what stands beside the head, with the answers that are new.
func (r *run) answerAside(a Answers) ([]checkpoint.Entry, error) {
	beside := r.journal.Chain.Pending
	if len(a.given) == 0 || r.journal.Chain.Record == nil {
		return beside, nil
	}
	sorted := sortPending(beside)
	open, err := sorted.open(r.journal.Chain.Record)
	if err != nil {
		return nil, err
	}
	r.remember(sorted.given)
	fresh, err := a.match(open, r.cfg.Now(), r.hadAnswer)
	if err != nil {
		r.paused = open
		return nil, fmt.Errorf("graph %q: thread %q: %w", r.name, r.opts.Thread, err)
	}
	entries := r.decide(fresh, open)
	r.remember(fresh)
	r.fresh, r.decided = fresh, open
	return append(slices.Clip(beside), entries...), nil
}

// editStep applies edits and commits them with what stays beside the head.
func (r *run) editStep(edits []edit, beside []checkpoint.Entry) ([]checkpoint.Entry, error) {
	if slices.ContainsFunc(edits, func(e edit) bool { return e.as == Start || e.as == End }) {
		if len(edits) > 1 {
			return nil, fmt.Errorf("%w: an edit as %s or %s stands alone in its step", ErrEdit, Start, End)
		}
		if edits[0].as == Start {
			return nil, r.editStart(edits[0])
		}
		return nil, r.editEnd(edits[0], beside)
	}
	whole, err := r.editTasks(edits)
	if err != nil {
		return nil, err
	}
	change, before := r.changeOf(), beside
	if err := r.foldEdits(whole); err != nil {
		return nil, err
	}
	r.concluded()
	if whole {
		r.shape.Advance(&r.front, r.outs)
		r.step++
		r.done, beside = r.step, notes(beside)
	} else {
		beside = r.withoutActed(beside)
		r.shape.Amend(&r.front, r.outs)
	}
	return beside, r.commitEdit(change, before, beside)
}

// changeOf returns the decision to make the edits of a step.
func (r *run) changeOf() Decision {
	var names []string
	var views []state.View
	for _, t := range r.tasks {
		views = append(views, t.view)
		if t.out.Node != step.Nobody {
			names = append(names, t.node.name)
		}
	}
	return r.change(strings.Join(names, ", "), views...)
}

// commitEdit commits an edit, which leaves entries of before beside the head.
func (r *run) commitEdit(change Decision, before, beside []checkpoint.Entry) error {
	r.source, r.ran = checkpoint.Update, r.whatRan()
	if err := r.decideChange(change, beside); err != nil {
		return err
	}
	if err := r.closeOpen(r.journal.Chain.Parent(), r.journal.Chain.Record, before, beside); err != nil {
		return err
	}
	if err := r.journal.CommitNow(beside...); err != nil {
		return err
	}
	r.tasks, r.outs = nil, nil
	r.tellDecisions(r.fresh, r.decided)
	r.decided = nil
	r.recordChange(change)
	return nil
}

// editStart begins a turn with what the edit writes.
func (r *run) editStart(e edit) error {
	input := r.schema.Blank()
	cmd, err := e.do(r.ctx, input.State, nil)
	switch {
	case err != nil:
		return err
	case !cmd.empty():
		return fmt.Errorf("%w: an edit as %s begins where the graph does; its Command must be empty", ErrEdit, Start)
	}
	r.opts.OnOpenQuestions = Discard
	change := r.change(Start, input)
	if err := r.decideChange(change, nil); err != nil {
		return err
	}
	if err := r.beginTurn(input); err != nil {
		return err
	}
	if r.ns != "" { // its decision is confirmed once it is stored, whatever the durability
		if err := r.journal.Flush(); err != nil {
			return err
		}
	}
	r.recordChange(change)
	return nil
}

// editEnd ends the turn: what finished beside the head counts, then the edit's own
// writes, and nothing is due any more.
func (r *run) editEnd(e edit, beside []checkpoint.Entry) error {
	finished, err := r.finished(beside)
	if err != nil {
		return err
	}
	t := r.newTask()
	t.begin(&node{job: job{call: e.do}}, step.Nobody, -1, nil)
	if err := t.call(t); err != nil {
		return t.fail(err)
	}
	change := r.change(End, t.view)
	r.tasks = append(finished, t)
	if err := r.foldEdits(true); err != nil {
		return err
	}
	r.concluded()
	r.shape.Stop(&r.front)
	r.done = r.step
	return r.commitEdit(change, beside, nil)
}

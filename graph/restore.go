package graph

import (
	"fmt"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/step"
)

// resume goes on with the turn that the thread is in: tasks that finished are taken
// as they are, those whose questions stay open wait on, all others run.
func (r *run) resume(a Answers) error {
	if r.cfg.Store == nil {
		return ErrNoStore
	}
	if err := r.open(); err != nil {
		return err
	}
	if r.journal.Chain.Record == nil {
		return unknown(r.key(), 0)
	}
	r.goal = runTurns
	return r.takeUp(a)
}

func (r *run) takeUp(a Answers) error {
	rec, beside := r.journal.Chain.Record, sortPending(r.journal.Chain.Pending)
	if err := r.unrecord(rec); err != nil {
		return err
	}
	if r.journal.Chain.Branches() || r.forks {
		if _, err := a.match(nil, r.cfg.Now(), r.questions.had); err != nil { // nothing is open on a branch
			return fmt.Errorf("graph %q: thread %q: %w", r.name, r.opts.Thread, err)
		}
		if err := r.fork(); err != nil {
			return err
		}
		rec, beside = r.journal.Chain.Record, sortPending(r.journal.Chain.Pending)
	}
	if err := r.keepOwnVoid(beside); err != nil {
		return err
	}
	open, err := beside.open(rec)
	if err != nil {
		return err
	}
	if r.tries, err = beside.dropVoid(); err != nil {
		return err
	}
	r.questions.add(beside.given)
	if r.req.replays() {
		r.questions.add(r.req.replay.answers)
	}
	err = r.repeated(a, open)
	var fresh answers
	if err == nil {
		fresh, err = a.match(open, r.cfg.Now(), r.questions.had)
	}
	if err != nil {
		r.paused.at = open
		return fmt.Errorf("graph %q: thread %q: %w", r.name, r.opts.Thread, err)
	}
	if r.driven() != nil {
		if r.questions.fresh, err = r.answersOfRun(beside); err != nil {
			return err
		}
	}
	if err := r.giveAnswers(fresh, open); err != nil {
		return err
	}
	r.emitValues()
	if r.front.Empty() {
		return nil
	}
	return r.takeUpStep(rec, beside)
}

// takeUpStep makes the tasks of the step that is due, with what is stored of them.
func (r *run) takeUpStep(rec *checkpoint.Record, beside pending) error {
	if r.paused.resumed = r.passes(beside.note(slotPaused)); !r.paused.resumed {
		r.outs = r.ranBefore(rec)
	}
	switch op := r.req.op; {
	case op == opRunTask:
		if err := r.prepareTask(rec); err != nil {
			return err
		}
	case op == opPlan && r.mayStep() != nil: // which the plan reports
		return nil
	default:
		r.prepare()
	}
	for _, t := range r.tasks {
		if err := t.restore(beside.byTask[t.id()], r.questions.fresh, r.questions.given); err != nil {
			return t.fail(err)
		}
	}
	return nil
}

// ranBefore returns what is known of the tasks of the last step: their nodes, as far as
// they are still there.
func (r *run) ranBefore(rec *checkpoint.Record) (outs []*step.Outcome) {
	for _, ran := range rec.Ran {
		if n, ok := r.find(ran.Node); ok {
			outs = append(outs, &step.Outcome{Node: n})
		}
	}
	return outs
}

// giveAnswers stores answers, so that a crash does not ask again, and remembers
// them. A subgraph's answers came to the root, which has stored them.
func (r *run) giveAnswers(fresh answers, open []Interrupt) error {
	switch {
	case r.inside != nil:
		r.questions.fresh = r.inside.run.questions.fresh
	case len(fresh) > 0:
		all, note, err := r.noteAnswers(fresh, r.questions.fresh)
		if err != nil {
			return err
		}
		r.questions.fresh = all
		if err := r.journal.Put(append(r.decider().answer(fresh, open), note...)); err != nil {
			return err
		}
		r.tellDecisions(fresh, open)
	}
	r.questions.add(fresh)
	return nil
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

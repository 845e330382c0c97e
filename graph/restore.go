package graph

import (
	"fmt"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/step"
)

// restorer makes the tasks of the due step, from the commit at which the thread was opened and its
// pending writes. Finished tasks keep their results, tasks with open questions stay paused, and all
// others run.
type restorer struct {
	*run
	rec     *checkpoint.Record
	pending pending
	asked   []Interrupt // the open questions
}

// resume continues the current turn of the thread.
func resume(r *run, a Answers) error {
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
	return restoreTurn(r, a)
}

// restoreTurn continues the turn at the opened commit, with answers. At an older commit it begins a
// branch.
func restoreTurn(r *run, a Answers) error {
	s := &restorer{run: r}
	if r.journal.Chain.Branches() || r.next.forks {
		if err := s.branch(a); err != nil {
			return err
		}
	}
	if err := s.read(); err != nil {
		return err
	}
	if err := s.takeAnswers(a); err != nil {
		return err
	}
	r.session.events.values(r)
	return s.restoreStep()
}

// branch begins a branch of the thread. It rejects answers: no question is open on a new branch.
func (s *restorer) branch(a Answers) error {
	if err := s.restoreFrontier(s.journal.Chain.Record); err != nil {
		return err
	}
	if _, err := a.match(nil, s.cfg.Now(), s.questions.hasAnswered); err != nil {
		return fmt.Errorf("graph %q: thread %q: %w", s.name, s.opts.Thread, err)
	}
	return s.fork()
}

// read reads the commit and its pending writes, and restores the frontier and the answers.
func (s *restorer) read() (err error) {
	s.rec, s.pending = s.journal.Chain.Record, sortPending(s.journal.Chain.Pending)
	if err = s.restoreFrontier(s.rec); err != nil {
		return err
	}
	if err = s.driven.keepOwnInvalid(s.pending); err != nil {
		return err
	}
	if s.asked, err = s.pending.open(s.rec); err != nil {
		return err
	}
	if s.invalid, err = s.pending.dropInvalid(); err != nil {
		return err
	}
	if s.failedBefore, err = s.pending.rerun(); err != nil {
		return err
	}
	s.questions.add(s.pending.given)
	return nil
}

// takeAnswers matches answers with the open questions and stores them, so that the questions are
// not asked again after a crash. Answers to the questions of a subgraph were stored by the root.
func (s *restorer) takeAnswers(a Answers) error {
	if s.req.replays() {
		s.questions.add(s.req.replay.answers)
	}
	err := s.driven.checkRepeated(a, s.asked)
	var fresh answers
	if err == nil {
		fresh, err = a.match(s.asked, s.cfg.Now(), s.questions.hasAnswered)
	}
	if err != nil {
		s.paused.at = s.asked
		return fmt.Errorf("graph %q: thread %q: %w", s.name, s.opts.Thread, err)
	}
	if len(fresh) > 0 && s.inside == nil {
		note, err := s.driven.noteAnswers(fresh, s.pending)
		if err != nil {
			return err
		}
		if err := s.journal.Put(append(s.decider().answer(fresh, s.asked), note...)); err != nil {
			return err
		}
		s.session.events.decisions(s.run, fresh, s.asked)
	}
	s.questions.add(fresh)
	return nil
}

// restoreStep makes the tasks of the due step, and restores their pending writes.
func (s *restorer) restoreStep() error {
	if s.front.Empty() {
		return nil
	}
	if s.paused.resumed = s.passes(s.pending.note(slotPaused)); !s.paused.resumed {
		s.outs = s.ranBefore()
	}
	if s.driven == nil {
		s.prepare()
	} else if err := s.driven.call.makeTasks(s.rec); err != nil {
		return err
	}
	for _, t := range s.tasks {
		if err := t.restore(s.pending.byTask[t.id()], s.questions.given); err != nil {
			return t.fail(err)
		}
	}
	return nil
}

// ranBefore returns the nodes of the last step's tasks as outcomes, without nodes that the graph no
// longer has.
func (s *restorer) ranBefore() (outs []*step.Outcome) {
	for _, ran := range s.rec.Ran {
		if n, ok := s.find(ran.Node); ok {
			outs = append(outs, &step.Outcome{Node: n})
		}
	}
	return outs
}

// fork commits the beginning of a branch at the opened commit. If the run goes back to a commit of
// a subgraph, the pending writes of the branch include the earlier results of its task. The commit
// is stored at once, with any durability.
func (s *restorer) fork() error {
	if !s.next.forks {
		return s.commit(checkpoint.Fork)
	}
	chain := s.journal.Chain
	past, err := s.thread().past(s.ns(), s.next.rewind, chain.Parent(), chain.Record, chain.Pending)
	if err != nil {
		return err
	}
	if s.next.rewind != nil && !chain.Branches() {
		if err := s.closeOpen(chain.Head(), chain.Record, chain.Pending, withoutTask(chain.Pending, s.next.rewind.Task)); err != nil {
			return err
		}
	}
	s.invalid, s.failedBefore, s.next.source, s.next.ran = 0, nil, checkpoint.Fork, nil
	return s.journal.CommitNow(past...)
}

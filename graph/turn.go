package graph

import (
	"fmt"
	"slices"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state"
)

// turnStart begins a turn of a run with an input: that of its request, or a queued one.
type turnStart struct {
	*run
	input state.View
	fresh bool // the thread has no commit
}

func newTurn(r *run, input state.View) *turnStart {
	return &turnStart{run: r, input: input, fresh: r.journal == nil || r.journal.Chain.Record == nil}
}

// beginTurn begins a turn with an input, unless the input is queued.
func beginTurn(r *run, input state.View) error {
	s := newTurn(r, input)
	if err := s.check(); err != nil {
		return fmt.Errorf("graph %q: input: %w", s.name, err)
	}
	if waits, err := s.waits(); waits || err != nil {
		return err
	}
	return s.begin()
}

// check checks the writes of the input. It recovers a panic in a MarshalJSON of the input.
func (s *turnStart) check() (err error) {
	defer recovered(&err)
	return s.schema.CheckWrites(s.input)
}

// waits reports whether the input is queued, because questions are open or older inputs are queued.
func (s *turnStart) waits() (bool, error) {
	if s.fresh || s.inside != nil || s.opts.OnOpenQuestions == Discard {
		return false, nil
	}
	open, err := sortPending(s.journal.Chain.Pending).open(s.journal.Chain.Record)
	if err != nil {
		return false, err
	}
	now := s.cfg.Now()
	open = slices.DeleteFunc(open, func(in Interrupt) bool { return in.expired(now) })
	switch {
	case s.opts.OnOpenQuestions == Queue:
		return s.enqueue(len(open) > 0)
	case len(open) == 0:
		return false, nil
	case s.opts.OnOpenQuestions != Refuse:
		return false, fmt.Errorf("graph %q: RunOptions.OnOpenQuestions is %q, which is none of its values", s.name, s.opts.OnOpenQuestions)
	}
	s.paused.at = open
	return false, fmt.Errorf("%w: thread %q; answer with Resume:\n%s", ErrWaiting, s.opts.Thread, list(open))
}

// enqueue appends the input to the queue if questions are open or the queue is not empty. If no
// question is open, the run takes the oldest input of the queue.
func (s *turnStart) enqueue(questions bool) (bool, error) {
	queue := newInputQueue(s.run)
	s.goal = runTurns // inputs may be queued although no question is open now
	if !questions {
		waits, err := queue.hasNext()
		if err != nil {
			return false, s.fail(err)
		}
		if !waits {
			return false, nil
		}
	}
	if err := queue.add(s.run, s.input); err != nil {
		return false, s.fail(err)
	}
	if questions {
		s.goal = stayQueued
	}
	return true, nil
}

// begin resets the fields of the last turn, folds the input into the state, and commits.
func (s *turnStart) begin() error {
	if !s.fresh {
		if err := s.closeOpen(s.journal.Chain.Parent(), s.journal.Chain.Record, s.journal.Chain.Pending, nil); err != nil {
			return err
		}
	}
	s.turn++
	s.questions.answered = nil
	for i, f := range s.schema.Fields() {
		if f.Turn && !s.fresh {
			s.schema.Reset(s.state, i)
			s.changed[i] = true
			s.journal.Chain.Rebase(i)
		}
	}
	for _, i := range s.expire {
		s.state.Channels[i].(state.Expirer).Expire() // its value belongs to the last turn
		s.changed[i] = true
	}
	if err := s.fold(); err != nil {
		return err
	}
	s.shape.Begin(&s.front)
	s.outs = s.outs[:0]
	s.next.ran = nil
	if s.journal != nil {
		if fields := appendWrote(nil, s.schema, s.input); len(fields) > 0 {
			s.next.ran = []checkpoint.Ran{{Wrote: fields}}
		}
	}
	if err := s.commit(checkpoint.Input); err != nil {
		return err
	}
	s.session.events.values(s.run)
	return nil
}

// assign copies the parent's state, which is the input of a run that shares it.
func (s *turnStart) assign(parent state.View) {
	s.schema.Assign(s.state, parent)
	for i := range s.changed {
		s.changed[i] = true
		if s.journal != nil {
			s.journal.Chain.Rebase(i)
		}
	}
}

// fold folds the writes of the input into the state. On a new thread, a field with a value but no
// writes, as in the state of an earlier Result, is assigned.
func (s *turnStart) fold() (err error) {
	if s.shared.shares() {
		s.assign(s.input)
		return nil
	}
	if s.journal != nil {
		if s.inputHash, err = s.hashInput(s.input); err != nil {
			return err
		}
	}
	for i, c := range s.input.Channels {
		_, holds := c.Stored()
		switch {
		case !c.Wrote() && holds && s.fresh:
			s.schema.AssignField(s.state, s.input, i)
			s.changed[i] = true
		case !c.Wrote():
		case holds && s.schema.Merges(i):
			return fmt.Errorf("graph %q: input field %q was taken from an earlier run and added to; give an input only what is new, and go on with the rest on a thread",
				s.name, s.schema.Fields()[i].Name)
		default:
			if err := s.state.Channels[i].Fold(s.input.Channels[i : i+1]); err != nil {
				return fmt.Errorf("graph %q: input field %q: %w", s.name, s.schema.Fields()[i].Name, err)
			}
			s.changed[i] = true
		}
	}
	return nil
}

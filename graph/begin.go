package graph

import (
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/step"
	"github.com/weftrun/weft/state"
)

// begin starts a turn with an input, whose writes are folded into the thread's
// state after everything of the last turn was reset.
func (r *run) begin(input state.View) error {
	if err := r.isRoot(); err != nil {
		return err
	}
	if err := r.open(); err != nil {
		return err
	}
	return r.beginTurn(input)
}

// isRoot reports the mistake of running a subgraph's checkpoints by themselves.
func (r *run) isRoot() error {
	if r.opts.Namespace != "" {
		return fmt.Errorf("graph %q: thread %q: %w: the namespace %q belongs to a subgraph, which runs with its thread: Resume goes back to its commits, and Edit changes them", r.name, r.opts.Thread, ErrEdit, r.opts.Namespace)
	}
	return nil
}

func (r *run) beginTurn(input state.View) error {
	if err := r.checkInput(input); err != nil {
		return fmt.Errorf("graph %q: input: %w", r.name, err)
	}
	if later, err := r.mustWait(input); later || err != nil {
		return err
	}
	return r.takeInput(input)
}

// checkInput checks the writes of an input. A MarshalJSON in it may panic.
func (r *run) checkInput(input state.View) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return r.schema.CheckWrites(input)
}

// takeInput is beginTurn for an input whose turn it is.
func (r *run) takeInput(input state.View) error {
	fresh := r.journal == nil || r.journal.Chain.Record == nil
	if !fresh {
		if err := r.closeOpen(r.journal.Chain.Parent(), r.journal.Chain.Record, r.journal.Chain.Pending, nil); err != nil {
			return err
		}
	}
	r.turn++
	r.questions.answered = nil
	for i, f := range r.schema.Fields() {
		if f.Turn && !fresh {
			r.schema.Reset(r.state, i)
			r.changed[i] = true
			r.journal.Chain.Rebase(i)
		}
	}
	for _, i := range r.expire {
		r.state.Channels[i].(state.Expirer).Expire() // it belonged to the last turn
		r.changed[i] = true
	}
	if err := r.foldInput(input, fresh); err != nil {
		return err
	}
	r.shape.Begin(&r.front)
	r.outs = r.outs[:0]
	if r.next.ran = nil; r.journal != nil {
		if fields := wrote(r.schema, input); len(fields) > 0 {
			r.next.ran = []checkpoint.Ran{{Wrote: fields}}
		}
	}
	if err := r.commit(checkpoint.Input); err != nil {
		return err
	}
	r.emitValues()
	return nil
}

// mustWait reports whether the input is not to begin a turn now, because questions are
// open. What becomes of it instead has then been done.
func (r *run) mustWait(input state.View) (bool, error) {
	if r.journal == nil || r.journal.Chain.Record == nil || r.opts.OnOpenQuestions == Discard {
		return false, nil
	}
	open, err := sortPending(r.journal.Chain.Pending).open(r.journal.Chain.Record)
	if err != nil {
		return false, err
	}
	if r.opts.OnOpenQuestions == Queue { // others may wait although nothing is open any more
		r.goal = runTurns
	}
	now := r.cfg.Now()
	open = slices.DeleteFunc(open, func(in Interrupt) bool { return in.expired(now) })
	switch {
	case len(open) == 0 && r.opts.OnOpenQuestions == Queue:
		return r.queueUp(input)
	case len(open) == 0:
		return false, nil
	case r.opts.OnOpenQuestions == Queue:
		return true, r.enqueue(input)
	case r.opts.OnOpenQuestions != Refuse:
		return false, fmt.Errorf("graph %q: RunOptions.OnOpenQuestions is %q, which is none of its values", r.name, r.opts.OnOpenQuestions)
	}
	r.paused.at = open
	return false, fmt.Errorf("%w: thread %q; answer with Resume:\n%s", ErrWaiting, r.opts.Thread, list(open))
}

// foldInput folds the writes of an input into the state. A field that nobody wrote,
// as in the state of an earlier Result, starts a new thread with its value.
func (r *run) foldInput(input state.View, fresh bool) (err error) {
	if r.net.State != nil {
		r.share(input)
		return nil
	}
	if r.journal != nil {
		if r.input, err = r.inputHash(input); err != nil {
			return err
		}
	}
	for i, c := range input.Channels {
		_, holds := c.Stored()
		switch {
		case !c.Wrote() && holds && fresh:
			r.schema.AssignField(r.state, input, i)
			r.changed[i] = true
		case !c.Wrote():
		case holds && r.schema.Merges(i):
			return fmt.Errorf("graph %q: input field %q was taken from an earlier run and added to; give an input only what is new, and go on with the rest on a thread",
				r.name, r.schema.Fields()[i].Name)
		default:
			if err := r.state.Channels[i].Fold(input.Channels[i : i+1]); err != nil {
				return fmt.Errorf("graph %q: input field %q: %w", r.name, r.schema.Fields()[i].Name, err)
			}
			r.changed[i] = true
		}
	}
	return nil
}

// inputHash returns what tells one input from another.
func (p *program) inputHash(input state.View) (string, error) {
	data, err := p.schema.Encode(p.telling(input))
	if err != nil {
		return "", fmt.Errorf("graph %q: input: %w", p.name, err)
	}
	return hash(string(data)), nil
}

// telling returns an input without the fields that do not tell it from another.
func (p *program) telling(input state.View) state.View {
	if !slices.ContainsFunc(p.schema.Fields(), func(f state.Field) bool { return f.Aside }) {
		return input
	}
	blank := p.schema.Blank()
	for i, f := range p.schema.Fields() {
		if !f.Aside {
			blank.Channels[i] = input.Channels[i]
		}
	}
	return blank
}

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

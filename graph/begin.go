package graph

import (
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/weftrun/weft/checkpoint"
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

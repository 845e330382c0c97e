package graph

import (
	"errors"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state"
)

// open reads the thread that the run goes on with.
func (r *run) open() (err error) {
	store := r.cfg.Store
	switch {
	case store == nil && r.opts.Thread != "":
		return fmt.Errorf("%w: thread %q could not be kept", ErrNoStore, r.opts.Thread)
	case store == nil:
		r.state = r.schema.New()
		return nil
	}
	r.chain, err = checkpoint.Open(r.ctx, store, checkpoint.Key{Thread: r.opts.Thread, Namespace: r.ns}, r.schema)
	if err != nil {
		return fmt.Errorf("graph %q: %w", r.name, err)
	}
	r.state = r.chain.State
	if rec := r.chain.Record; rec != nil {
		r.turn, r.step, r.input, r.answered = rec.Turn, rec.Step, rec.Input, rec.Answered
		if r.opts.Metadata == nil {
			r.opts.Metadata = rec.Metadata
		}
	}
	return nil
}

// begin starts a turn with an input, whose writes are folded into the thread's
// state after everything of the last turn was reset.
func (r *run) begin(input state.View) error {
	if err := r.open(); err != nil {
		return err
	}
	if r.chain != nil && r.chain.Record != nil {
		open, err := openQuestions(r.chain.Record, r.chain.Pending)
		if err != nil {
			return err
		}
		if len(open) > 0 {
			return fmt.Errorf("%w: thread %q; answer with Resume:\n%s", ErrWaiting, r.opts.Thread, list(open))
		}
	}
	fresh := r.chain == nil || r.chain.Record == nil
	r.turn++
	r.answered = nil
	for i, f := range r.schema.Fields() {
		if f.Turn && !fresh {
			r.schema.Reset(r.state, i)
			r.changed[i] = true
			r.chain.Rebase(i)
		}
	}
	if err := r.foldInput(input, fresh); err != nil {
		return err
	}
	r.shape.Begin(&r.front)
	r.outs = r.outs[:0]
	if err := r.commit(checkpoint.Input); err != nil {
		return err
	}
	r.emitValues()
	return nil
}

// foldInput folds the writes of an input into the state. A field that nobody wrote,
// as in the state of an earlier Result, starts a new thread with its value.
func (r *run) foldInput(input state.View, fresh bool) (err error) {
	if r.chain != nil {
		if r.input, err = r.inputHash(input); err != nil {
			return err
		}
	}
	for i, c := range input.Channels {
		_, holds := c.Stored()
		switch _, adds := c.(state.Delta); {
		case !c.Wrote() && holds && fresh:
			r.schema.AssignField(r.state, input, i)
			r.changed[i] = true
		case !c.Wrote():
		case adds && holds:
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
	data, err := p.schema.Encode(input)
	if err != nil {
		return "", fmt.Errorf("graph %q: input: %w", p.name, err)
	}
	return hash(string(data)), nil
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
	if r.chain.Record == nil {
		return fmt.Errorf("%w: %q", ErrUnknownThread, r.opts.Thread)
	}
	return r.takeUp(a)
}

func (r *run) takeUp(a Answers) error {
	rec, pending := r.chain.Record, r.chain.Pending
	if err := r.unrecord(rec); err != nil {
		return err
	}
	open, err := openQuestions(rec, pending)
	if err != nil {
		return err
	}
	fresh, err := a.match(open, r.hadAnswer)
	if err != nil {
		return fmt.Errorf("graph %q: thread %q: %w", r.name, r.opts.Thread, err)
	}
	byTask, given := readPending(pending)
	if r.given == nil {
		r.given = answers{}
	}
	for id, data := range given {
		r.given[id] = data
	}
	if err := r.giveAnswers(fresh); err != nil {
		return err
	}
	if r.front.Empty() {
		return nil
	}
	r.resumed = true
	r.prepare()
	for _, t := range r.tasks {
		if err := t.takeUp(byTask[t.id()], fresh, r.given); err != nil {
			return t.fail(err)
		}
	}
	return nil
}

// hadAnswer reports whether this turn had this answer before. Without an id any
// question will do.
func (r *run) hadAnswer(id, digest string) bool {
	for _, a := range r.answered {
		if (id == "" || id == a.ID) && a.Answer == digest {
			return true
		}
	}
	return false
}

// giveAnswers stores answers, so that a crash does not ask again, and remembers them.
func (r *run) giveAnswers(fresh answers) error {
	var entries []checkpoint.Entry
	for _, id := range sortedKeys(fresh) {
		entries = append(entries, checkpoint.Entry{Slot: slotAnswer + id, Data: fresh[id]})
		r.given[id] = fresh[id]
	}
	if len(entries) > 0 {
		if err := r.put(entries); err != nil {
			return err
		}
	}
	had := r.answered
	r.answered = append([]checkpoint.Answered(nil), had...)
	for _, id := range sortedKeys(r.given) {
		if digest := hash(string(r.given[id])); !r.hadAnswer(id, digest) {
			r.answered = append(r.answered, checkpoint.Answered{ID: id, Answer: digest})
		}
	}
	return nil
}

// takeUp decides what is left to do for t: nothing if it finished, wait if it asked
// and got no answer, and else run.
func (t *task) takeUp(slots map[string][]byte, fresh, given answers) error {
	if data := slots[slotResult]; data != nil {
		return t.restore(data)
	}
	open, err := openOf(slots, given)
	if err != nil || len(open) == 0 {
		return err
	}
	all, err := openOf(slots, nil)
	for _, in := range all {
		if _, ok := fresh[in.ID]; ok {
			return err // one of its questions was answered: it runs again
		}
	}
	t.open, t.settled = open, true
	return err
}

// openQuestions returns the questions of the due tasks that have no answer, in
// canonical order.
func openQuestions(rec *checkpoint.Record, pending []checkpoint.Entry) ([]Interrupt, error) {
	byTask, given := readPending(pending)
	var open []Interrupt
	for _, t := range rec.Next {
		of, err := openOf(byTask[t.ID], given)
		if err != nil {
			return nil, err
		}
		open = append(open, of...)
	}
	return open, nil
}

// enter is how a subgraph's run begins: with its input, or where it stopped.
func (r *run) enter(input func() (state.View, error)) error {
	if r.cfg.Store != nil {
		_, err := r.cfg.Store.Load(r.ctx, checkpoint.Key{Thread: r.opts.Thread, Namespace: r.ns}, 0)
		if err == nil {
			return r.resume(Answers{})
		}
		if !errors.Is(err, checkpoint.ErrNotFound) {
			return err
		}
	}
	in, err := input()
	if err != nil {
		return err
	}
	return r.begin(in)
}

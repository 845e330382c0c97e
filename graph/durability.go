package graph

import (
	"fmt"
	"runtime/debug"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/journal"
	"github.com/weftrun/weft/state"
)

// Durability says when the steps of a run are committed: what a crash can cost. Whatever
// it is, a thread is always as it was after some step, and a run that has returned
// is stored.
type Durability uint8

const (
	// Sync commits each step before the next one starts: a crash costs the step
	// that runs. It is the default.
	Sync Durability = iota
	// Async commits each step beside the next one, in order and one at a time: a crash
	// costs the step that runs and the one before it. A commit that fails stops
	// the run at once.
	Async
	// Exit commits when the run ends, pauses or fails, or when something of a step must
	// be stored by itself, such as the result of a Once: a crash costs all since then, and
	// the input with it. How long a node takes makes no difference.
	Exit
)

func (d Durability) String() string {
	if int(d) < len(durabilities) {
		return durabilities[d]
	}
	return fmt.Sprintf("Durability(%d)", uint8(d))
}

var durabilities = [...]string{"sync", "async", "exit"}

// journal returns d in the terms of the journal.
func (d Durability) journal() journal.Durability {
	switch d {
	case Async:
		return journal.Async
	case Exit:
		return journal.Exit
	}
	return journal.Sync
}

// newJournal returns the journal of the run on a chain that was opened for it.
func (r *run) newJournal(chain *checkpoint.Chain) *journal.Journal {
	chain.Fence, chain.TTL = r.session.fence(), r.session.root.cfg.TTL
	cfg := journal.Config{Source: committed{r}, Store: r.cfg.Store, Key: r.key(), Run: r.session.writer, Durability: r.opts.Durability.journal(),
		Writes: &r.session.writing, Allowed: r.allowed, Cancel: r.cancel, Fail: r.fail,
		Panic: func(v any) error { return &PanicError{Value: v, Stack: debug.Stack()} }}
	if r.inside != nil {
		cfg.Parent, cfg.Disposable = r.inside.run.journal, r.cfg.Nested != PerThread
	} else if !r.req.replays() {
		cfg.Keep, cfg.Now = r.cfg.Keep, r.cfg.Now
	}
	return journal.New(r.ctx, chain, cfg)
}

// allowed returns ErrAbandoned if the run was given up: it writes nothing any more.
func (r *run) allowed() error {
	if r.isFenced() {
		return ErrAbandoned
	}
	return nil
}

// committed is a run as its journal sees it.
type committed struct{ *run }

// Record describes where the run stands. It has the decisions that close questions recorded.
func (c committed) Record() (*checkpoint.Record, error) {
	rec, err := c.record()
	if err != nil {
		return nil, err
	}
	c.next.closing, c.next.closed = append(c.next.closing, c.next.closed...), nil
	if err := c.decider().record(c.next.closing...); err != nil {
		return nil, err
	}
	return rec, nil
}

// State returns the state and which of its fields differ from the last commit.
func (c committed) State() (state.View, []bool) { return c.state, c.changed }

// Check returns an error if a commit is larger than Config.MaxState.
func (c committed) Check(bytes int) error { return c.fitsIn(bytes) }

// Made forgets what the commit has described.
func (c committed) Made() { c.next.forks, c.shared.wrote = false, nil }

// Stored tells the readers of a commit and of the decisions in it.
func (c committed) Stored(seq uint64) {
	c.session.events.commit(c.run, seq)
	for _, d := range c.next.closing {
		c.session.events.decision(c.run, d)
	}
	c.next.closing = nil
}

// Restate lets the next commit describe all that the run has written in its parent's state.
func (c committed) Restate() error {
	return c.shared.noteAll(c.program)
}

// commit gives what a step ended with to the journal.
func (r *run) commit(source checkpoint.Source) error {
	r.tries = 0
	if r.journal == nil {
		return r.fits()
	}
	if r.next.source = source; source != checkpoint.Input {
		r.next.ran = r.whatRan()
		r.journal.Record(r.trace()...)
	}
	return r.journal.Commit(r.front.Empty(), len(r.next.closed) > 0)
}

// settleStore makes sure that what the run has come to is stored before it returns; of a subgraph
// that is done and whose end its parent's commit will hold, not before its parent's task has failed.
func (r *run) settleStore(status Status) error {
	switch {
	case r.journal == nil:
		return nil
	case status == Done && r.journal.CanWait():
		r.inside.subgraphs.mayNeed(r.journal)
		return nil
	}
	return r.journal.Flush()
}

// record describes where the run stands, between two steps or, while one runs, before
// it.
func (r *run) record() (*checkpoint.Record, error) {
	rec := &checkpoint.Record{
		Graph: r.name, Program: r.hash, Run: r.session.id, Origin: r.origin, Time: r.cfg.Now().UTC(), Source: r.next.source,
		Branch: r.branch, Turn: r.turn, Step: r.done, Ran: r.next.ran, Input: r.input, Taken: r.taken, Answered: r.questions.answered,
		Metadata: r.opts.Metadata, Within: r.nested.within(),
	}
	err := r.recordFrontier(rec)
	if r.next.rewind != nil && isDue(rec, r.next.rewind.Task) {
		rec.Rewind = r.next.rewind
	}
	return rec, err
}

// wrote names the fields that were written in a view.
func wrote(s *state.Schema, v state.View) (names []string) {
	for i, c := range v.Channels {
		if c.Wrote() {
			names = append(names, s.Fields()[i].Name)
		}
	}
	return names
}

// fits checks the size of a state that is not stored.
func (r *run) fits() error {
	if r.cfg.MaxState == 0 {
		return nil
	}
	data, err := r.schema.Encode(r.state)
	if err != nil {
		return r.fail(err)
	}
	return r.fitsIn(len(data))
}

func (r *run) fitsIn(bytes int) error {
	if r.cfg.MaxState == 0 || bytes <= r.cfg.MaxState {
		return nil
	}
	return r.fail(fmt.Errorf("%w: %d bytes, the limit is %d", ErrStateSize, bytes, r.cfg.MaxState))
}

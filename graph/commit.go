package graph

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/journal"
	"github.com/weftrun/weft/state"
)

// committer commits the steps of its run through the journal of the thread, and writes the records
// of the commits. It lives as long as the run. Without a store it only checks the size of the
// state.
type committer struct {
	run     *run
	journal *journal.Journal // nil without a store, and before the thread is opened
	next    nextCommit
	rooms   *[2]recordRoom // for the record of the head and the one that follows it; nil without a store
}

// recordRoom is memory for a record. A run uses two of them in turns.
type recordRoom struct {
	record checkpoint.Record
	ran    []checkpoint.Ran
	wrote  []string // of all tasks in ran
	ways   []checkpoint.Way
}

// nextRoom returns memory for the record of the next commit. Records that are sent to readers are
// not used again.
func (c *committer) nextRoom() *recordRoom {
	switch {
	case c.run.session.events != nil || c.journal == nil:
		return new(recordRoom)
	case c.journal.Chain.Record == &c.rooms[0].record:
		return &c.rooms[1]
	}
	return &c.rooms[0]
}

// nextCommit is the content of the next commit, other than the state and the due tasks.
type nextCommit struct {
	source   checkpoint.Source
	ran      []checkpoint.Ran   // the tasks of its step
	closed   []DecisionRecord   // decisions on the questions that it closes
	recorded int                // how many of closed are in the chain already
	inFlight []DecisionRecord   // closed of the commit that is on its way to the store
	forks    bool               // it begins a branch, even if the chain is at its head
	rewind   *checkpoint.Rewind // of the due task that goes back to a commit of a subgraph
}

// newJournal returns the journal of the run on a chain that was opened for it.
func (c *committer) newJournal(chain *checkpoint.Chain) *journal.Journal {
	r := c.run
	chain.Fence, chain.TTL = r.session.fence(), r.session.root.cfg.TTL
	cfg := journal.Config{Source: committed{c}, Store: r.cfg.Store, Key: r.key(), Run: r.session.writer, Durability: r.opts.Durability.journal(),
		Writes: &r.session.writing, Allowed: c.allowed, Cancel: r.life.cancel, Fail: r.fail, Observe: r.storeObserver(),
		Panic: func(v any) error { return &PanicError{Value: v, Stack: debug.Stack()} }}
	if r.inside != nil {
		chain.HashLike(r.inside.run.journal.Chain)
		cfg.Parent, cfg.Disposable = r.inside.run.journal, r.cfg.Nested != PerThread
	} else if !r.req.replays() {
		cfg.Keep, cfg.Now = r.cfg.Keep, r.cfg.Now
	}
	c.rooms = new([2]recordRoom)
	return journal.New(r.context(), chain, cfg)
}

// allowed returns ErrAbandoned if the run was given up. Such a run writes nothing.
func (c *committer) allowed() error {
	if c.run.isGivenUp() {
		return ErrAbandoned
	}
	return nil
}

// committed is a run as its journal sees it.
type committed struct{ *committer }

// Record describes the position of the run, and records the decisions on closed questions.
func (c committed) Record() (*checkpoint.Record, error) {
	rec, err := c.record()
	if err != nil {
		return nil, err
	}
	if fresh := c.next.closed[c.next.recorded:]; len(fresh) > 0 {
		c.next.recorded = len(c.next.closed)
		err = c.decider().record(fresh...)
	}
	return rec, err
}

// State returns the state, and which of its fields have changed since the last commit.
func (c committed) State() (state.View, []bool) { return c.run.state, c.run.changed }

// Check returns an error if a commit is larger than Config.MaxState.
func (c committed) Check(bytes int) error { return c.fitsIn(bytes) }

// Encoded clears the content of the commit, so the next commit starts empty. The decisions wait in
// inFlight until the commit is stored.
func (c committed) Encoded() {
	c.next.inFlight = append(c.next.inFlight, c.next.closed...)
	c.next.forks, c.next.closed, c.next.recorded = false, nil, 0
	c.run.shared.committed()
}

// Stored returns a function that sends the events of the commit and of its decisions.
func (c committed) Stored(seq uint64) func() {
	r, rec, decisions := c.run, c.journal.Chain.Record, c.next.inFlight
	c.next.inFlight = nil
	if r.session.events == nil {
		return nil
	}
	return func() {
		r.session.events.commit(r, seq, rec)
		for _, d := range decisions {
			r.session.events.decision(r, d)
		}
	}
}

// Restate includes in the next commit everything that the run has written in its parent's state.
func (c committed) Restate() error {
	return c.run.shared.noteAll(c.run.program)
}

// commit passes the result of a step to the journal.
func (c *committer) commit(source checkpoint.Source) error {
	r := c.run
	r.invalid, r.failedBefore = 0, nil
	if c.journal == nil {
		return c.fits()
	}
	c.next.source = source
	if source != checkpoint.Input {
		c.next.ran = r.whatRan(c.nextRoom())
		c.journal.Record(r.trace()...)
	}
	return c.journal.Commit(r.front.Empty(), len(c.next.closed) > 0)
}

// flush waits until the position of the run is stored. A subgraph that is done may skip this: the
// parent's commit includes its end. It is then flushed only if the parent's task fails.
func (c *committer) flush(status Status) error {
	switch {
	case c.journal == nil:
		return nil
	case status == Done && c.journal.CanWait():
		c.run.inside.ownSubgraphs().addUnsaved(c.journal)
		return nil
	}
	return c.journal.Flush()
}

// record describes the position of the run. While a step runs, that is the position before it.
func (c *committer) record() (*checkpoint.Record, error) {
	r := c.run
	rec := &c.nextRoom().record
	*rec = checkpoint.Record{
		Next: rec.Next[:0], Fields: rec.Fields[:0],
		Graph: r.name, Program: r.hash, Run: r.session.id, Origin: r.origin, Time: r.cfg.Now().UTC(), Source: c.next.source,
		Branch: r.branch, Turn: r.turn, Step: r.done, Ran: c.next.ran, Input: r.inputHash, Taken: r.taken, Answered: r.questions.answered,
		Metadata: r.metadata(), Carrier: r.carrier(), Within: r.nested.within(), Pin: r.pin,
	}
	err := c.recordFrontier(rec)
	if c.next.rewind != nil && isDue(rec, c.next.rewind.Task) {
		rec.Rewind = c.next.rewind
	}
	return rec, err
}

// appendWrote appends the names of the fields that were written in a view.
func appendWrote(names []string, s *state.Schema, v state.View) []string {
	for i, c := range v.Channels {
		if c.Wrote() {
			names = append(names, s.Fields()[i].Name)
		}
	}
	return names
}

// fits checks the size of a state that is not stored.
func (c *committer) fits() error {
	r := c.run
	if r.cfg.MaxState == 0 {
		return nil
	}
	data, err := r.schema.Encode(r.state)
	if err != nil {
		return r.fail(err)
	}
	return c.fitsIn(len(data))
}

func (c *committer) fitsIn(bytes int) error {
	r := c.run
	if r.cfg.MaxState == 0 || bytes <= r.cfg.MaxState {
		return nil
	}
	return r.fail(fmt.Errorf("%w: %d bytes, the limit is %d", ErrStateSize, bytes, r.cfg.MaxState))
}

// invalidate stores that the results of the step cannot be folded together, and returns cause.
func (c *committer) invalidate(cause error) error {
	if c.journal == nil {
		return cause
	}
	data, err := json.Marshal(invalidation{message(cause), c.run.invalid + 1, c.run.driven.runID()})
	if err == nil {
		err = c.journal.Put([]checkpoint.Entry{{Slot: slotInvalid, Data: data}})
	}
	return errors.Join(cause, err)
}

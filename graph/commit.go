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

// committer makes the records of a run's commits, and passes the commits to the journal of the
// thread. It lives as long as the run. Without a store it only checks the size of the state.
type committer struct {
	run     *run
	journal *journal.Journal // nil without a store, and before the thread is opened
	next    nextCommit
	buffers *[2]recordBuffer // for the records of the head and of the next commit; nil without a store
}

// recordBuffer holds a record. A run alternates between two of them.
type recordBuffer struct {
	record checkpoint.Record
	ran    []checkpoint.Ran
	wrote  []string // of all tasks in ran
	ways   []checkpoint.Way
}

// nextBuffer returns a buffer for the record of the next commit. It is a new one if records are
// sent to readers, or if there is no store.
func (c *committer) nextBuffer() *recordBuffer {
	switch {
	case c.run.session.events != nil || c.journal == nil:
		return new(recordBuffer)
	case c.journal.Chain.Record == &c.buffers[0].record:
		return &c.buffers[1]
	}
	return &c.buffers[0]
}

// nextCommit is the content of the next commit, other than the state and the due tasks.
type nextCommit struct {
	source   checkpoint.Source
	ran      []checkpoint.Ran   // the tasks of its step
	closed   []DecisionRecord   // the decision records of the questions that it discards
	recorded int                // how many of closed the chain has recorded
	inFlight []DecisionRecord   // the closed ones of the commit that is being stored
	forks    bool               // it begins a branch, even if it follows the newest commit
	rewind   *checkpoint.Rewind // the commit of a subgraph at which a due task goes on, or nil
}

// newJournal returns the run's journal, which appends to chain.
func (c *committer) newJournal(chain *checkpoint.Chain) *journal.Journal {
	r := c.run
	chain.Fence, chain.TTL = r.session.fence(), r.session.root.cfg.TTL
	cfg := journal.Config{Source: journalSource{c}, Store: r.cfg.Store, Key: r.key(), Run: r.session.writer, Durability: r.opts.Durability.journal(),
		Writes: &r.session.writing, Allowed: c.allowed, Cancel: r.life.cancel, Fail: r.fail, Observe: r.storeObserver(),
		Panic: func(v any) error { return &PanicError{Value: v, Stack: debug.Stack()} }}
	if r.inside != nil {
		chain.HashLike(r.inside.run.journal.Chain)
		cfg.Parent, cfg.Disposable = r.inside.run.journal, r.cfg.Nested != PerThread
	} else if !r.req.replays() {
		cfg.Keep, cfg.Now = r.cfg.Keep, r.cfg.Now
	}
	c.buffers = new([2]recordBuffer)
	return journal.New(r.context(), chain, cfg)
}

// allowed returns ErrAbandoned if the run was given up. Such a run writes nothing.
func (c *committer) allowed() error {
	if c.run.isGivenUp() {
		return ErrAbandoned
	}
	return nil
}

// journalSource is the [journal.Source] of a run.
type journalSource struct{ *committer }

// Record returns the record of the next commit, and records the decisions on discarded questions.
func (c journalSource) Record() (*checkpoint.Record, error) {
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
func (c journalSource) State() (state.View, []bool) { return c.run.state, c.run.changed }

// Check returns an error if a commit is larger than Config.MaxState.
func (c journalSource) Check(bytes int) error { return c.checkSize(bytes) }

// Encoded prepares the next commit: it begins no branch and discards no questions. The decisions
// of the encoded commit wait in inFlight until it is stored.
func (c journalSource) Encoded() {
	c.next.inFlight = append(c.next.inFlight, c.next.closed...)
	c.next.forks, c.next.closed, c.next.recorded = false, nil, 0
	c.run.shared.committed()
}

// Stored returns a function that sends the events of the commit and of its decisions.
func (c journalSource) Stored(seq uint64) func() {
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

// Restate makes the next commit include everything that the run has written in its parent's state,
// since the store has lost commits that included it.
func (c journalSource) Restate() error {
	return c.run.shared.noteAll(c.run.program)
}

// commit passes the result of a step to the journal.
func (c *committer) commit(source checkpoint.Source) error {
	r := c.run
	r.invalid, r.failedBefore = 0, nil
	if c.journal == nil {
		return c.checkState()
	}
	c.next.source = source
	if source != checkpoint.Input {
		c.next.ran = r.whatRan(c.nextBuffer())
		c.journal.Record(r.trace()...)
	}
	return c.journal.Commit(r.front.Empty(), len(c.next.closed) > 0)
}

// flush waits until the run's last commit is stored. A subgraph that is done may skip this, since
// its parent's next commit includes its end. It is flushed if the parent's task fails or asks.
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

// record describes how far the run is. While a step runs, it describes the state before the step.
func (c *committer) record() (*checkpoint.Record, error) {
	r := c.run
	rec := &c.nextBuffer().record
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

// checkState returns ErrStateSize if the encoded state is larger than Config.MaxState.
func (c *committer) checkState() error {
	r := c.run
	if r.cfg.MaxState == 0 {
		return nil
	}
	data, err := r.schema.Encode(r.state)
	if err != nil {
		return r.fail(err)
	}
	return c.checkSize(len(data))
}

func (c *committer) checkSize(bytes int) error {
	r := c.run
	if r.cfg.MaxState == 0 || bytes <= r.cfg.MaxState {
		return nil
	}
	return r.fail(fmt.Errorf("%w: %d bytes, the limit is %d", ErrStateSize, bytes, r.cfg.MaxState))
}

// invalidate marks the stored results of the step as invalid, since the reducers cannot merge them.
// It returns cause, joined with an error of the store.
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

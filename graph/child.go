package graph

import (
	"encoding/json"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
)

// childStart begins the run of a subgraph for a call from a task, or goes on with the turn that the
// call has begun before.
type childStart struct{ *run }

// begin makes the run ready to step: with its input, where it stopped, or, if it had finished, at
// its end.
func (c childStart) begin() error {
	if err := c.open(); err != nil {
		return err
	}
	if found, err := c.resume(); found || err != nil {
		return err
	}
	return beginTurn(c.run, c.schema.Over(c.req.input))
}

// resume goes on with the turn that the call has begun before, if there is one.
func (c childStart) resume() (found bool, err error) {
	if c.journal == nil || c.journal.Chain.Record == nil {
		return false, nil
	}
	rec := c.journal.Chain.Record
	switch w := rec.Within; {
	case c.next.forks, c.cfg.Nested != PerThread:
		return true, c.resumeTurn(rec)
	case w == nil, w.Root.Branch != c.place().Root.Branch:
		return false, nil
	case w.Call == c.place().Call:
		return true, c.resumeTurn(rec)
	case w.Task == c.place().Task:
		return c.resumeEnded()
	case w.Namespace == c.place().Namespace && w.Turn == c.place().Turn && w.Step == c.place().Step:
		return false, sharedError(c.name, w, c.place())
	}
	return false, nil
}

// resumeTurn goes on with the turn at the head.
func (c childStart) resumeTurn(rec *checkpoint.Record) error {
	if err := c.readCommand(rec); err != nil {
		return err
	}
	if err := c.restoreShared(c.journal.Chain.Parent()); err != nil {
		return err
	}
	return restoreTurn(c.run, Answers{})
}

// resumeEnded looks for the end of the call's turn among the commits before the head: the task has
// called the child again since. A turn that had not ended is begun anew.
func (c childStart) resumeEnded() (found bool, err error) {
	for commit, err := range c.thread().commits(c.ns(), checkpoint.Query{}) {
		if err != nil {
			return false, c.fail(err)
		}
		switch w := commit.rec.Within; {
		case w == nil, w.Task != c.place().Task, w.Root.Branch != c.place().Root.Branch:
			return false, nil
		case w.Call != c.place().Call:
		case !commit.rec.Done():
			return false, nil
		default:
			return true, c.adoptResult(commit)
		}
	}
	return false, nil
}

// adoptResult makes the state at an older commit, at which a turn ended, the end of the run.
func (c childStart) adoptResult(end storedCommit) error {
	snap, err := c.cfg.Store.Load(c.ctx, c.key(), end.Seq)
	if err != nil {
		return c.fail(err)
	}
	if _, c.state, err = checkpoint.Restore(snap, c.schema); err != nil {
		return c.fail(err)
	}
	if err := c.restoreShared(end.Seq); err != nil {
		return err
	}
	return c.readCommand(end.rec)
}

// restoreShared finds out what the call has written up to a commit, where it shares its parent's
// state.
func (c childStart) restoreShared(at uint64) error {
	if err := c.shared.restore(c.program, c.thread(), c.ns(), c.place(), at); err != nil {
		return c.fail(err)
	}
	return nil
}

// readCommand reads the Command for the parent with which the turn of a commit has ended, if it has
// one.
func (c childStart) readCommand(rec *checkpoint.Record) error {
	if rec.Within == nil || rec.Within.Command == nil {
		return nil
	}
	c.up = &parentCommand{}
	if err := json.Unmarshal(rec.Within.Command, c.up); err != nil {
		return c.fail(fmt.Errorf("%w: the Command for the parent: %w", ErrProgram, err))
	}
	return nil
}

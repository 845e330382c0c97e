package graph

import (
	"encoding/json"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
)

// enter is how a subgraph's run begins: with its input, where it stopped, or, if it had
// finished, at its end.
func (r *run) enter() error {
	if err := r.open(); err != nil {
		return err
	}
	if taken, err := r.reenter(); taken || err != nil {
		return err
	}
	return r.beginTurn(r.schema.Over(r.req.input))
}

// reenter takes up the turn that this call has begun before, if there is one.
func (r *run) reenter() (taken bool, err error) {
	if r.journal == nil || r.journal.Chain.Record == nil {
		return false, nil
	}
	rec := r.journal.Chain.Record
	switch w := rec.Within; {
	case r.forks:
		return true, r.goOn(rec)
	case r.cfg.Nested != PerThread, w != nil && w.Call == r.place.Call && w.Root.Branch == r.place.Root.Branch:
		return true, r.goOn(rec)
	case w == nil:
		return false, nil
	case w.Root.Branch != r.place.Root.Branch:
		return false, nil
	case w.Task == r.place.Task:
		return r.reread()
	case w.Namespace == r.place.Namespace && w.Turn == r.place.Turn && w.Step == r.place.Step:
		return false, sharedError(r.name, w, r.place)
	}
	return false, nil
}

// goOn takes up the turn at the head.
func (r *run) goOn(rec *checkpoint.Record) error {
	if err := r.readCommand(rec); err != nil {
		return err
	}
	if r.net.State != nil {
		if err := r.recall(r.journal.Chain.Parent()); err != nil {
			return err
		}
	}
	return r.takeUp(Answers{})
}

func (r *run) readCommand(rec *checkpoint.Record) error {
	if rec.Within == nil || rec.Within.Command == nil {
		return nil
	}
	r.up = &parentCommand{}
	if err := json.Unmarshal(rec.Within.Command, r.up); err != nil {
		return r.fail(fmt.Errorf("%w: the Command for the parent: %w", ErrProgram, err))
	}
	return nil
}

// reread looks for the end of this call's turn among the commits before the head: the
// task has called the child again since. A turn that had not ended is begun anew.
func (r *run) reread() (bool, error) {
	for c, err := range r.thread().commits(r.ns, checkpoint.Query{}) {
		if err != nil {
			return false, r.fail(err)
		}
		switch rec := c.rec; {
		case rec.Within == nil || rec.Within.Task != r.place.Task || rec.Within.Root.Branch != r.place.Root.Branch:
			return false, nil
		case rec.Within.Call == r.place.Call:
			if !rec.Done() {
				return false, nil
			}
			return true, r.stand(c.Seq, rec)
		}
	}
	return false, nil
}

// stand makes the state at an older commit, at which a turn ended, the run's end.
func (r *run) stand(seq uint64, rec *checkpoint.Record) error {
	snap, err := r.cfg.Store.Load(r.ctx, r.key(), seq)
	if err != nil {
		return r.fail(err)
	}
	if _, r.state, err = checkpoint.Restore(snap, r.schema); err != nil {
		return r.fail(err)
	}
	if r.net.State != nil {
		if err := r.recall(seq); err != nil {
			return err
		}
	}
	return r.readCommand(rec)
}

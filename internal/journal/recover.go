package journal

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
)

// traced is what was recorded with a commit.
type traced struct {
	seq     uint64
	entries []checkpoint.Entry
}

// recover returns nil when err means that the store has lost what it had, and the state is stored
// again with what was pending; else err. It is called with the lock held.
func (j *Journal) recover(err error) error { return j.recoverWith(err, j.Chain.Pending) }

// recoverWith is recover with other pending writes.
func (j *Journal) recoverWith(err error, pending []checkpoint.Entry) error {
	if !isLoss(err) || j.cfg.Allowed() != nil {
		return err
	}
	left := uint64(0) // an ErrNotFound: the thread is gone
	if conflict := (*checkpoint.ConflictError)(nil); errors.As(err, &conflict) {
		left = conflict.Head
	}
	if had := j.Chain.Head(); left >= had || j.flight != nil && left+1 >= j.flight.seq {
		return err // nothing is lost: the store cannot do what it was asked
	}
	if own, e := j.isOwn(left); e != nil || !own {
		return errors.Join(err, e)
	}
	j.flight = nil
	j.Chain.GoBack(left)
	j.retrace(left)
	_, changed := j.cfg.Source.State()
	for i := range changed {
		changed[i] = true
	}
	j.restates = true
	if e := j.cfg.Source.Restate(); e != nil {
		return errors.Join(err, e)
	}
	return j.save(false, pending...) // whatever the durability: what comes next depends on it
}

// retrace lets the next commit record what those after left had recorded, so that a replay can run
// their steps.
func (j *Journal) retrace(left uint64) {
	found, lost := j.traces[:0], []checkpoint.Entry(nil)
	for _, t := range j.traces {
		if t.seq <= left {
			found = append(found, t)
		} else {
			lost = append(lost, t.entries...)
		}
	}
	j.traces, j.trace = found, append(lost, j.trace...)
}

// isOwn reports whether the commit at head is one that this run made, or at which the chain was
// opened. Head 0 is a thread that is gone.
func (j *Journal) isOwn(head uint64) (bool, error) {
	if head == 0 {
		return true, nil
	}
	own := false
	err := j.Write("history", func(ctx context.Context) error { // also when the run was cancelled
		for snap, err := range j.cfg.Store.History(ctx, j.cfg.Key, checkpoint.Query{Limit: 1}) {
			if err != nil {
				return fmt.Errorf("what the store still has: %w", err)
			}
			own = snap.Seq == head && (snap.ID == j.opened || snap.ID == CommitID(j.cfg.Run, head))
		}
		return nil
	})
	return own && err == nil, err
}

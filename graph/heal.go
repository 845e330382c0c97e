package graph

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weftrun/weft/checkpoint"
)

// A store may lose the newest commits that it had acknowledged: a server that was killed
// before its log was on the disk, a failover to a replica that lagged, an eviction. The
// run still holds all of the state, so it does not fail: it stores the state whole, on
// top of what is left and with all that stood beside it, and goes on. What is left must be its own past, or nothing.

// heal returns nil when err says that the store has lost what it had, and the state is
// stored again; else err. Whoever calls it holds r.storing.
func (r *run) heal(err error) error {
	if !isRegression(err) || r.isFenced() {
		return err
	}
	left := uint64(0) // an ErrNotFound: the thread is gone
	if conflict := (*checkpoint.ConflictError)(nil); errors.As(err, &conflict) {
		left = conflict.Head
	}
	if had := r.chain.Head(); left >= had || r.flight != nil && left+1 >= r.flight.seq {
		return err // nothing is lost: the store cannot do what it was asked
	}
	if mine, e := r.isMine(left); e != nil || !mine {
		return errors.Join(err, e)
	}
	r.flight = nil
	r.chain.GoBack(left)
	r.retrace(left)
	for i := range r.changed {
		r.changed[i] = true
	}
	r.healed = true
	if r.net.State != nil { // what its lost commits said of it
		all, e := writesOf(r.schema, r.net)
		if e != nil {
			return errors.Join(err, e)
		}
		r.wrote = [][][]fieldWrite{{all}}
	}
	if err := r.save(r.chain.Pending...); err != nil {
		return err
	}
	return r.land() // also with Async: what comes next stands on it
}

// traced is what was recorded with a commit.
type traced struct {
	seq     uint64
	entries []checkpoint.Entry
}

// retrace lets the next commit record what those after left had, so that Replay can run
// their steps.
func (r *run) retrace(left uint64) {
	kept, lost := r.traces[:0], []checkpoint.Entry(nil)
	for _, t := range r.traces {
		if t.seq <= left {
			kept = append(kept, t)
		} else {
			lost = append(lost, t.entries...)
		}
	}
	r.traces, r.trace = kept, append(lost, r.trace...)
}

// beside returns what stands beside the head when entries are put there: of two with one
// place the later one counts.
func beside(head, entries []checkpoint.Entry) []checkpoint.Entry {
	all := slices.Clip(head)
	for _, e := range entries {
		same := func(o checkpoint.Entry) bool { return o.Task == e.Task && o.Slot == e.Slot }
		if at := slices.IndexFunc(all, same); at >= 0 {
			all = slices.Delete(slices.Clone(all), at, at+1)
		}
		all = append(all, e)
	}
	return all
}

// isRegression reports whether err says that a chain is shorter than it was.
func isRegression(err error) bool {
	var conflict *checkpoint.ConflictError
	return errors.As(err, &conflict) && conflict.Head < conflict.Want || errors.Is(err, checkpoint.ErrNotFound)
}

// isMine reports whether the commit at head is one that this run made, or opened the
// thread at. Head 0 is a thread that is gone.
func (r *run) isMine(head uint64) (bool, error) {
	if head == 0 {
		return true, nil
	}
	key := r.key()
	for snap, err := range r.cfg.Store.History(r.ctx, key, checkpoint.Query{Limit: 1}) {
		if err != nil {
			return false, fmt.Errorf("what the store still has: %w", err)
		}
		return snap.Seq == head && (snap.ID == r.opened || snap.ID == r.commitID(head)), nil
	}
	return false, nil
}

// commitID returns the id of the run's commit with this number.
func (r *run) commitID(seq uint64) string { return commitID(r.session.id, seq) }

// commitID returns the id of a commit that a run made.
func commitID(run string, seq uint64) string { return fmt.Sprintf("%s.%d", run, seq) }

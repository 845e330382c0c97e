package graph

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/weftrun/weft/checkpoint"
)

// ThreadDecisions yields what was decided about a thread, oldest first: on all of its branches,
// whether the commits are still there or were pruned. At most 10,000 are stored; what is decided
// after that takes effect and is logged as an error. An unknown thread is an ErrUnknownThread.
func ThreadDecisions(ctx context.Context, store checkpoint.Store, thread string) iter.Seq2[DecisionRecord, error] {
	return func(yield func(DecisionRecord, error) bool) {
		all, err := readThread(ctx, store, thread)
		if err != nil {
			yield(DecisionRecord{}, err)
			return
		}
		for _, d := range all {
			if !yield(d, nil) {
				return
			}
		}
	}
}

func readThread(ctx context.Context, store checkpoint.Store, thread string) ([]DecisionRecord, error) {
	if err := checkpoint.CheckThread(thread); err != nil {
		return nil, err
	}
	key := checkpoint.Key{Thread: thread}
	snap, err := store.Load(ctx, key, 0)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return nil, unknown(key, 0)
	}
	if err != nil {
		return nil, err
	}
	items, err := checkpoint.Decisions(snap)
	if err != nil {
		return nil, err
	}
	beside, err := checkpoint.ReadPending(snap)
	if err != nil {
		return nil, err
	}
	edits, err := madeEdits(threadReader{ctx, store, thread}, beside)
	if err != nil {
		return nil, err
	}
	for _, d := range edits {
		items = append(items, d.data)
	}
	all := make([]DecisionRecord, len(items))
	for i, data := range items {
		if err := json.Unmarshal(data, &all[i]); err != nil {
			return nil, fmt.Errorf("graph: thread %q: decision %d: %w", thread, i+1, err)
		}
	}
	slices.SortStableFunc(all, func(a, b DecisionRecord) int {
		if a.Namespace != b.Namespace && (a.Type == DecisionChange || b.Type == DecisionChange) { // numbers of other chains
			return a.Time.Compare(b.Time)
		}
		return cmp.Or(cmp.Compare(a.Checkpoint, b.Checkpoint), a.Time.Compare(b.Time))
	})
	return all, nil
}

// decide fills in the decisions on the way of a difference.
func (d *Difference) decide(ctx context.Context, store checkpoint.Store, key checkpoint.Key) error {
	all, err := readThread(ctx, store, key.Thread)
	d.Decisions = withoutSecrets(d.decided(all, key.Namespace))
	return err
}

// decided returns the decisions on the way. Answers are pending writes of the root.
func (d *Difference) decided(all []DecisionRecord, namespace string) (on []DecisionRecord) {
	branch, edits := map[uint64]uint64{}, map[uint64]bool{} // commit → the branch of the one after it
	last := d.Base
	for _, p := range d.Path {
		branch[last], edits[p.Checkpoint] = p.Branch, true
		last = p.Checkpoint
	}
	for _, one := range all {
		b, passed := branch[one.Checkpoint]
		edit := one.Type == DecisionChange
		if edit && one.Namespace == namespace && edits[one.Checkpoint] || !edit && namespace == "" && passed && b == one.Branch {
			on = append(on, one)
		}
	}
	return on
}

// withoutSecrets returns decisions as they are shown.
func withoutSecrets(all []DecisionRecord) []DecisionRecord {
	for i := range all {
		if all[i].Secret {
			all[i].hide()
		}
	}
	return all
}

package redis

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/weftrun/weft/checkpoint"
)

// Load implements checkpoint.Store.
func (s *Store) Load(ctx context.Context, k checkpoint.Key, seq uint64) (checkpoint.Snapshot, error) {
	reply, err := s.call(ctx, loadScript, s.key(k.Thread), []any{origin(k.Thread), encode(k.Namespace), decimal(seq)})
	if err != nil {
		return checkpoint.Snapshot{}, fmt.Errorf("thread %q, namespace %q, commit %d: %w", k.Thread, k.Namespace, seq, err)
	}
	snap, err := loaded(k, toAnswer(reply))
	if err != nil {
		return checkpoint.Snapshot{}, err
	}
	return snap, nil
}

// loaded reads the answer of the script.
func loaded(k checkpoint.Key, a answer) (snap checkpoint.Snapshot, err error) {
	snap = checkpoint.Snapshot{Key: k, Head: a.number(0), Seq: a.number(1)}
	switch {
	case a.code == "N" && snap.Head > 0 && snap.Seq == snap.Head:
		return snap, damaged(snap, "header", "the commit is missing")
	case a.code == "B":
		return snap, damaged(snap, "header", "it names more chunks than the thread has fields")
	case a.code == "N":
		return snap, fmt.Errorf("%w: redis: thread %q, namespace %q, commit %d", checkpoint.ErrNotFound, k.Thread, k.Namespace, snap.Seq)
	case a.code != "K":
		return snap, a.refusal(k, 0)
	}
	if err := decodeRecord(&snap, a.text(2)); err != nil {
		return snap, damaged(snap, "header", err.Error())
	}
	if snap.Pending, err = entries(snap, a.list(3), a.list(4)); err != nil {
		return snap, err
	}
	return snap, addBlobs(&snap, a)
}

func damaged(snap checkpoint.Snapshot, field, why string) error {
	return &checkpoint.CorruptError{Key: snap.Key, Seq: snap.Seq, Field: field, Why: why}
}

// entries joins names and data, and puts them in order.
func entries(snap checkpoint.Snapshot, names, data []any) (list []checkpoint.Entry, err error) {
	for i := range names {
		name, _ := names[i].(string)
		task, slot, ok := splitEntryName(name)
		if !ok || i >= len(data) {
			return nil, damaged(snap, "pending", "the name of an entry is missing or has not the form of one")
		}
		text, ok := data[i].(string)
		if !ok {
			return nil, damaged(snap, "pending", fmt.Sprintf("task %q, slot %q is missing", task, slot))
		}
		list = append(list, checkpoint.Entry{Task: task, Slot: slot, Data: []byte(text)})
	}
	slices.SortFunc(list, func(a, b checkpoint.Entry) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Slot, b.Slot))
	})
	return list, nil
}

// addBlobs takes the blobs from the pages of an answer, all that the references name.
func addBlobs(snap *checkpoint.Snapshot, a answer) error {
	const firstPage = 5
	page, at := firstPage, 0
	blobs := 0
	for _, r := range a.rest[min(firstPage, len(a.rest)):] {
		list, _ := r.([]any)
		blobs += len(list)
	}
	snap.Blobs = slices.Grow(snap.Blobs, blobs)
	for _, r := range snap.Refs {
		for n := 0; n <= r.Chunks; n++ {
			for page < len(a.rest) && at == len(a.list(page)) {
				page, at = page+1, 0
			}
			var text string
			found := page < len(a.rest)
			if found {
				text, found = a.list(page)[at].(string)
			}
			if !found {
				return damaged(*snap, r.Field, fmt.Sprintf("chunk %d of base %d is missing", n, r.Base))
			}
			snap.Blobs = append(snap.Blobs, checkpoint.Blob{Field: r.Field, Base: r.Base, Chunk: n, Data: []byte(text)})
			at++
		}
	}
	return nil
}

package checkpoint_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/weftrun/weft/checkpoint"
)

// rawCommits returns what a store below the encryption holds of a thread, oldest first.
func rawCommits(t *testing.T, store checkpoint.Store, k checkpoint.Key) (list []checkpoint.Snapshot) {
	t.Helper()
	for snap, err := range store.History(ctx, k, checkpoint.Query{}) {
		if err == nil {
			snap, err = store.Load(ctx, k, snap.Seq)
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, snap)
	}
	slices.Reverse(list)
	return list
}

// rewrite stores raw commits in place of a thread, as who can write to the database could.
func rewrite(t *testing.T, store checkpoint.Store, k checkpoint.Key, list []checkpoint.Snapshot) {
	t.Helper()
	if err := store.Delete(ctx, k.Thread); err != nil {
		t.Fatal(err)
	}
	brought := map[checkpoint.Ref]bool{}
	for i, snap := range list {
		c := checkpoint.Commit{Key: k, ID: snap.ID, Number: snap.Seq, Labels: snap.Labels, Header: snap.Header, Refs: snap.Refs, Pending: snap.Pending}
		if i > 0 {
			c.Head = list[i-1].Seq
		}
		for _, b := range snap.Blobs {
			if at := (checkpoint.Ref{Field: b.Field, Base: b.Base, Chunks: b.Chunk}); !brought[at] {
				brought[at] = true
				c.Blobs = append(c.Blobs, b)
			}
		}
		if err := store.Commit(ctx, c); err != nil {
			t.Fatal(err)
		}
	}
}

// writeThread writes a thread in two commits whose values have a word, with a pending entry.
func writeThread(t *testing.T, store checkpoint.Store, word string) {
	t.Helper()
	w := open[notes](t, store)
	step(w, func(s *notes) { s.Title.Set(word); s.Lines.Append(word); s.Index.Put("key", len(word)) })
	step(w, func(s *notes) { s.Lines.Append(word) })
	if err := w.chain.Put(ctx, []checkpoint.Entry{{Task: "task", Slot: "answer", Data: []byte(`"` + word + `"`)}}); err != nil {
		t.Fatal(err)
	}
}

// refusesAll fails the test unless a thread can be neither opened nor copied.
func refusesAll(t *testing.T, what string, store checkpoint.Store) {
	t.Helper()
	if _, err := checkpoint.Open(ctx, store, root, schemaOf[notes](t)); !errors.Is(err, checkpoint.ErrCorrupt) {
		t.Errorf("%s: Open returned %v, want %v", what, err, checkpoint.ErrCorrupt)
	}
	if err := checkpoint.Copy(ctx, store, root.Thread, store, "copy"); !errors.Is(err, checkpoint.ErrCorrupt) {
		t.Errorf("%s: Copy returned %v, want %v", what, err, checkpoint.ErrCorrupt)
	}
	if err := checkpoint.Reseal(ctx, store, root.Thread, ""); !errors.Is(err, checkpoint.ErrCorrupt) {
		t.Errorf("%s: Reseal returned %v, want %v", what, err, checkpoint.ErrCorrupt)
	}
}

// A thread that was deleted had the same id, and the same numbers: nothing of it fits the new one.
//
// Requirement: a sealed value opens only in its place
func TestSealed_ValueOfADeletedThreadIsRefused(t *testing.T) {
	inside := new(checkpoint.Memory)
	store := sealedStore(t, inside, checkpoint.Codec{Keys: ring("k")})
	writeThread(t, store, "a million")
	old := rawCommits(t, inside, root)
	if err := store.Delete(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	writeThread(t, store, "ten")
	now := rawCommits(t, inside, root)
	for what, edit := range map[string]func(head *checkpoint.Snapshot){
		"a value":         func(head *checkpoint.Snapshot) { head.Blobs[0] = old[1].Blobs[0] },
		"the last chunk":  func(head *checkpoint.Snapshot) { head.Blobs[2] = old[1].Blobs[2] },
		"a whole field":   func(head *checkpoint.Snapshot) { copy(head.Blobs[1:3], old[1].Blobs[1:3]) },
		"an entry":        func(head *checkpoint.Snapshot) { head.Pending = old[1].Pending },
		"the record":      func(head *checkpoint.Snapshot) { head.Header = old[1].Header },
		"record, entries": func(head *checkpoint.Snapshot) { head.Header, head.Pending = old[1].Header, old[1].Pending },
		"all but entries": func(head *checkpoint.Snapshot) { head.Header, head.Blobs = old[1].Header, old[1].Blobs },
	} {
		edited := []checkpoint.Snapshot{now[0], now[1]}
		edited[1].Blobs = slices.Clone(now[1].Blobs)
		if edit(&edited[1]); len(edited[1].Blobs) != 4 {
			t.Fatalf("the head has %d pieces", len(edited[1].Blobs))
		}
		// What both commits share is stored once: as the edit has it.
		edited[0].Blobs = slices.Clone(now[0].Blobs)
		for i, b := range edited[0].Blobs {
			for _, e := range edited[1].Blobs {
				if e.Field == b.Field && e.Base == b.Base && e.Chunk == b.Chunk {
					edited[0].Blobs[i] = e
				}
			}
		}
		rewrite(t, inside, root, edited)
		refusesAll(t, what, store)
	}
	rewrite(t, inside, root, now)
	w := open[notes](t, store)
	if w.view.State.(*notes).Title.Get() != "ten" || len(w.chain.Pending) != 1 {
		t.Errorf("unedited, the thread holds %s with %v", w.json(w.view), w.chain.Pending)
	}
}

// The newest commits of a thread were lost and made again: what was lost does not fit.
//
// Requirement: a sealed value opens only in its place
func TestSealed_ValueOfALostCommitIsRefused(t *testing.T) {
	inside := new(checkpoint.Memory)
	store := sealedStore(t, inside, checkpoint.Codec{Keys: ring("k")})
	writeThread(t, store, "yes")
	lost := rawCommits(t, inside, root)
	rewrite(t, inside, root, lost[:1])
	w := open[notes](t, store)
	step(w, func(s *notes) { s.Lines.Append("no") })
	if err := w.chain.Put(ctx, []checkpoint.Entry{{Task: "task", Slot: "answer", Data: []byte(`"no"`)}}); err != nil {
		t.Fatal(err)
	}
	now := rawCommits(t, inside, root)
	for what, edit := range map[string]func(head *checkpoint.Snapshot){
		"a chunk":  func(head *checkpoint.Snapshot) { head.Blobs = lost[1].Blobs },
		"an entry": func(head *checkpoint.Snapshot) { head.Pending = lost[1].Pending },
	} {
		edited := []checkpoint.Snapshot{now[0], now[1]}
		edit(&edited[1])
		rewrite(t, inside, root, edited)
		refusesAll(t, what, store)
	}
	rewrite(t, inside, root, now)
	open[notes](t, store)
}

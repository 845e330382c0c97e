package redis_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/redis"
)

// TestBlobs_AreWrittenOnceWithoutPendingEntries too: a commit with entries goes another way.
func TestBlobs_AreWrittenOnceWithoutPendingEntries(t *testing.T) {
	store := open(t)
	for seq := range uint64(2) {
		if err := store.Commit(t.Context(), link("thread", seq+1, fmt.Sprint(seq+1))); err != nil {
			t.Fatal(err)
		}
	}
	bad := link("thread", 3, "3")
	bad.Blobs = append(bad.Blobs, checkpoint.Blob{Field: "value", Base: 1, Data: []byte("changed")})
	if err := store.Commit(t.Context(), bad); err == nil {
		t.Error("rule: a blob is written once\n got: no error")
	}
	checkChain(t, store, "thread", 2)
	snap, err := store.Load(t.Context(), bad.Key, 1)
	if err != nil || string(snap.Blobs[0].Data) != "value of 1" {
		t.Errorf("rule: a refused commit changes nothing\n got: %v, error %v", snap.Blobs, err)
	}
}

// TestLease_WithoutACommitExpires: a lease alone is forgotten some day, and a thread that begins
// under it is not.
func TestLease_WithoutACommitExpires(t *testing.T) {
	s, prefix := common(t)
	client := s.client(t)
	w := watched{storeOf(t, client, redis.Config{Prefix: prefix}), t, client, prefix}
	fences := map[string]string{}
	for _, thread := range []string{"begun", "empty"} {
		l, err := w.Acquire(t.Context(), checkpoint.LeaseRequest{Thread: thread, Owner: "ann", TTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		fences[thread] = l.Fence
	}
	c := link("begun", 1, "1")
	c.Fence = fences["begun"]
	if err := w.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	w.Advance(25 * time.Hour)
	checkChain(t, w, "begun", 1)
	if left := w.keys(); len(left) != 1 {
		t.Errorf("rule: a lease without a thread leaves nothing behind\n got: %q", left)
	}
	c = link("empty", 1, "1")
	c.Fence = fences["empty"]
	wantError(t, "a lease that was forgotten is over", w.Commit(t.Context(), c), checkpoint.ErrFenced)
}

// TestStore_ManyOfEverything has more than a script can pass to one command.
func TestStore_ManyOfEverything(t *testing.T) {
	const n = 9000
	store := open(t)
	c := checkpoint.Commit{Key: checkpoint.Key{Thread: "thread"}, ID: "1", Refs: []checkpoint.Ref{{Field: "log", Base: 1, Chunks: n - 1}}}
	for i := range n {
		data := fmt.Append(nil, i)
		c.Blobs = append(c.Blobs, checkpoint.Blob{Field: "log", Base: 1, Chunk: i, Data: data})
		c.Pending = append(c.Pending, checkpoint.Entry{Task: fmt.Sprintf("%05d", i), Slot: "s", Data: data})
	}
	if err := store.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	look := func(seq uint64, entries int) {
		t.Helper()
		snap, err := store.Load(t.Context(), c.Key, 0)
		if err != nil || snap.Seq != seq || len(snap.Blobs) != n || len(snap.Pending) != entries {
			t.Fatalf("rule: there is room for many\n got: commit %d with %d blobs and %d entries, error %v\nwant: %d blobs and %d", snap.Seq, len(snap.Blobs), len(snap.Pending), err, n, entries)
		}
		for i, b := range snap.Blobs {
			if b.Chunk != i || string(b.Data) != fmt.Sprint(i) || entries > 0 && string(snap.Pending[i].Data) != fmt.Sprint(i) {
				t.Fatalf("rule: many keep their order\n got: chunk %d with %q at %d", b.Chunk, b.Data, i)
			}
		}
	}
	look(1, n)
	if err := store.Put(t.Context(), checkpoint.Pending{Key: c.Key, Head: 1, Entries: append([]checkpoint.Entry(nil), c.Pending...)}); err != nil {
		t.Fatal(err)
	}
	look(1, n)
	bad := checkpoint.Commit{Key: c.Key, ID: "2", Head: 1, Refs: c.Refs, Blobs: append([]checkpoint.Blob(nil), c.Blobs[n-1])}
	for i := range n {
		bad.Blobs = append(bad.Blobs, checkpoint.Blob{Field: "new", Base: 2, Chunk: i})
	}
	if err := store.Commit(t.Context(), bad); err == nil {
		t.Error("rule: a blob is written once, also among many\n got: no error")
	}
	look(1, n)
	if err := store.Commit(t.Context(), checkpoint.Commit{Key: c.Key, ID: "2", Head: 1, Refs: c.Refs}); err != nil {
		t.Fatal(err)
	}
	look(2, 0)
	if err := store.Drop(t.Context(), checkpoint.Drop{Key: c.Key, Head: 2, Commits: []uint64{1}, Blobs: c.Blobs}); err != nil {
		t.Error(err)
	}
	_, err := store.Load(t.Context(), c.Key, 0)
	wantError(t, "many can be dropped", err, checkpoint.ErrCorrupt)
}

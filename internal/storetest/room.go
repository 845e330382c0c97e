package storetest

import (
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// Room runs a graph that keeps the last commits of its thread only, and fails the test
// when others pile up, or when what is kept cannot be read as it was.
func Room(t testing.TB, store checkpoint.Store) {
	t.Helper()
	const keep, every, last = 10, 64, 300
	step := 0
	run(t, loopOf(t, graph.Config{Store: store, Keep: checkpoint.Keep{Last: keep}}, func() bool { step++; return step < last }), "room", checkpoint.Reject)
	key := checkpoint.Key{Thread: "room"}
	kept := 0
	for snap, err := range store.History(t.Context(), key, checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		kept++
		if n := lengthAt(t, store, key, snap.Seq); n != int(snap.Seq)-1 { // the first commit is the input's
			t.Errorf("rule: a commit that is kept is whole\n got: %d entries in the log of commit %d\nwant: %d", n, snap.Seq, snap.Seq-1)
		}
	}
	if kept < keep || kept > keep+every {
		t.Errorf("rule: a thread keeps what Config.Keep says, and what came since the last time that was looked at\n got: %d commits of %d\nwant: %d to %d", kept, last+1, keep, keep+every)
	}
}

// lengthAt returns how many entries the log has after a commit.
func lengthAt(t testing.TB, store checkpoint.Store, key checkpoint.Key, seq uint64) int {
	t.Helper()
	schema, err := state.SchemaOf[thread]()
	if err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.OpenAt(t.Context(), store, key, schema, seq)
	if err != nil {
		t.Fatalf("rule: a commit that is kept can be read\n got: %v\nwant: commit %d", err, seq)
	}
	return c.State.State.(*thread).Log.Len()
}

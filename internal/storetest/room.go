package storetest

import (
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// Room runs a graph that only retains the last commits of its thread. It fails the test if older
// commits accumulate, or if a retained commit cannot be read completely.
func Room(t testing.TB, store checkpoint.Store) {
	t.Helper()
	const keep, every, last = 10, 64, 300
	step := 0
	run(t, loopOf(t, graph.Config{Store: store, Keep: checkpoint.Keep{Last: keep}}, func() bool { step++; return step < last }), "room", checkpoint.Reject)
	key := checkpoint.Key{Thread: "room"}
	retained := 0
	for snap, err := range store.History(t.Context(), key, checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		retained++
		if n := lengthAt(t, store, key, snap.Seq); n != int(snap.Seq)-1 { // the first commit is the input's
			t.Errorf("rule: a retained commit is complete\n got: %d entries in the log of commit %d\nwant: %d", n, snap.Seq, snap.Seq-1)
		}
	}
	if retained < keep || retained > keep+every {
		t.Errorf("rule: a thread retains the commits of Config.Keep, and those since the last pruning\n got: %d commits of %d\nwant: %d to %d", retained, last+1, keep, keep+every)
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
		t.Fatalf("rule: a retained commit can be read\n got: %v\nwant: commit %d", err, seq)
	}
	return c.State.State.(*thread).Log.Len()
}

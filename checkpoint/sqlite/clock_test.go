package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/sqlite"
)

// TestChain_OrderIgnoresClocks lets three stores write to one thread in turn. Their clocks jump and
// are hours apart. The order of the thread must be that of the commits.
//
// Requirement: clocks differ, or jump
func TestChain_OrderIgnoresClocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	var stores []*sqlite.Store
	for range 3 {
		s, err := sqlite.OpenConfig(t.Context(), path, sqlite.Config{Now: func() time.Time {
			return time.Now().Add(time.Duration(rand.Int64N(int64(2*time.Hour))) - time.Hour)
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		stores = append(stores, s)
	}
	var acked []ack
	for seq := uint64(1); seq <= 60; seq++ {
		c := link("thread", seq, fmt.Sprint("commit ", seq))
		if err := stores[seq%3].Commit(t.Context(), c); err != nil {
			t.Fatalf("rule: a clock decides nothing about a commit\n got: %v", err)
		}
		acked = append(acked, ack{"thread", seq, c.ID})
		if snap, err := stores[(seq+1)%3].Load(t.Context(), checkpoint.Key{Thread: "thread"}, 0); err != nil || snap.Seq != seq {
			t.Fatalf("rule: the head is the newest commit by number\n got: %d, %v\nwant: %d", snap.Seq, err, seq)
		}
	}
	checkChain(t, stores[0], "thread", acked)
}

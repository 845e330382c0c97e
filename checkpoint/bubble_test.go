package checkpoint_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weftrun/weft/checkpoint"
)

// The first compression may happen inside or outside of a bubble.
func TestCompression_InsideAndOutsideOfBubbles(t *testing.T) {
	entry := checkpoint.Entry{Task: "t", Slot: "s", Data: []byte(`"` + strings.Repeat("x", 10<<10) + `"`)}
	use := func() {
		m, k := new(checkpoint.Memory), checkpoint.Key{Thread: "t"}
		if err := m.Commit(context.Background(), checkpoint.Commit{Key: k, ID: "1", Header: []byte("h")}); err != nil {
			t.Fatal(err)
		}
		if err := checkpoint.Put(context.Background(), m, checkpoint.Pending{Key: k, Head: 1, Entries: []checkpoint.Entry{entry}}); err != nil {
			t.Fatal(err)
		}
		snap, err := m.Load(context.Background(), k, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := checkpoint.ReadPending(snap); err != nil || len(got[0].Data) != len(entry.Data) {
			t.Errorf("read back: %v", err)
		}
	}
	synctest.Test(t, func(*testing.T) { use() })
	use()
	synctest.Test(t, func(*testing.T) { use() })
}

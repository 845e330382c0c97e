package sqlite_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/checkpointtest"
)

// TestPower_Cut opens files as a power cut may leave them. All bytes up to an acknowledged commit
// are on the disk, since SQLite waits for them (synchronous=FULL, which Doctor checks). After them
// comes any part of the next commit, or other bytes. The store must have the acknowledged commit,
// and no part of the next.
//
// Requirement: what was acknowledged survives the loss of power
// Requirement: power loss
func TestPower_Cut(t *testing.T) {
	const commits = 20
	cuts := 100
	if os.Getenv(checkpointtest.Soak) != "" {
		cuts = 5000
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "threads.db")
	s := mustOpen(t, path)
	var acked []ack
	var size []int // of the log after each number of acknowledged commits
	for seq := uint64(1); seq <= commits; seq++ {
		size = append(size, len(read(t, path+"-wal")))
		c := link("thread", seq, fmt.Sprint("commit ", seq))
		c.Blobs[0].Data = []byte("value of " + c.ID)
		c.Blobs = append(c.Blobs, checkpoint.Blob{Field: "ballast", Base: seq, Data: bytes.Repeat([]byte{byte(seq)}, 9000)})
		if err := s.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		acked = append(acked, ack{"thread", seq, c.ID})
	}
	file, log := read(t, path), read(t, path+"-wal")
	size = append(size, len(log))
	for range cuts {
		n := 1 + rand.IntN(commits-1) // acknowledged before the cut
		at := size[n] + rand.IntN(size[n+1]-size[n])
		left := bytes.Clone(log[:at])
		if rand.IntN(2) == 0 { // the log was longer before, with other bytes at its end
			left = append(left, make([]byte, size[n+1]-at)...)
			garble(left[at:])
		}
		cut := filepath.Join(dir, "cut.db")
		for name, data := range map[string][]byte{cut: file, cut + "-wal": left} {
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		after := mustOpen(t, cut)
		checkChain(t, after, "thread", acked[:n])
		if head := headOf(t, after, "thread"); head != uint64(n) {
			t.Errorf("rule: after a power cut a thread has its acknowledged commits\n got: head %d\nwant: %d", head, n)
		}
		if err := after.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d cuts", cuts)
}

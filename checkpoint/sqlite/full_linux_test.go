package sqlite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/storetest"
)

// TestFileSystem_Full fills a disk. A commit without space fails as a whole, reads continue, and
// the same commit succeeds when there is space again.
//
// Requirement: the disk is full, or read-only
func TestFileSystem_Full(t *testing.T) {
	storetest.RunOnSmallDisk(t, func(t *testing.T, d storetest.Disk) {
		path := filepath.Join(d.Dir, "threads.db")
		s := mustOpen(t, path)
		var acked []ack
		commit := func() error {
			seq := uint64(len(acked)) + 1
			c := link("thread", seq, fmt.Sprint("commit ", seq))
			c.Blobs = append(c.Blobs, checkpoint.Blob{Field: "ballast", Base: seq, Data: []byte(strings.Repeat("b", 20<<10))})
			err := s.Commit(t.Context(), c)
			if err == nil {
				acked = append(acked, ack{"thread", seq, c.ID})
			}
			return err
		}
		var err error
		for err == nil && len(acked) < 1000 {
			err = commit()
		}
		want := checkpoint.ErrFull
		if !d.Real {
			want = checkpoint.ErrUnavailable
		}
		for range 3 {
			wantError(t, "a full disk refuses a commit", err, want, path)
			if errors.Is(err, checkpoint.ErrUnknownOutcome) {
				t.Errorf("rule: what a full disk refused is known not to be written\n got: %v", err)
			}
			if head := headOf(t, s, "thread"); head != uint64(len(acked)) {
				t.Errorf("rule: what had no room is not there\n got: head %d\nwant: %d", head, len(acked))
			}
			err = commit()
		}
		checkChain(t, s, "thread", acked)
		d.Grow(t)
		for range 20 {
			if err := commit(); err != nil {
				t.Fatalf("rule: with room the same commit succeeds\n got: %v after %d", err, len(acked))
			}
		}
		checkChain(t, s, "thread", acked)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if got := integrity(t, path); got != "ok" {
			t.Errorf("rule: a full disk leaves a sound file\n got: %s", got)
		}
		checkChain(t, mustOpen(t, path), "thread", acked)
	})
}

package redis_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/internal/storetest"
)

// TestServer_FullDisk fills the disk that the server's log is on. With everysec the
// server refuses writes until there is room; with always it ends, and what it had
// acknowledged is there when it is started again.
//
// Requirement: the disk is full, or read-only
func TestServer_FullDisk(t *testing.T) {
	for _, policy := range []string{"everysec", "always"} {
		t.Run(policy, func(t *testing.T) {
			storetest.RunOnSmallDisk(t, func(t *testing.T, d storetest.Disk) { fillServer(t, d, policy) })
		})
	}
}

func fillServer(t *testing.T, d storetest.Disk, policy string) {
	t.Helper()
	s, err := launch(d.Dir, "--appendonly", "yes", "--appendfsync", policy, "--auto-aof-rewrite-percentage", "0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	store := storeOf(t, s.client(t), redis.Config{RetryFor: time.Second})
	var ids []string
	commit := func() error {
		id := fmt.Sprint(len(ids) + 1)
		c := link("thread", uint64(len(ids))+1, id)
		c.Blobs = append(c.Blobs, checkpoint.Blob{Field: "value", Base: 1 << 40, Chunk: len(ids), Data: []byte(strings.Repeat("b", 20<<10))})
		err := store.Commit(t.Context(), c)
		if err == nil {
			ids = append(ids, id)
		}
		return err
	}
	for err == nil && len(ids) < 1000 {
		err = commit()
	}
	switch {
	case policy == "always":
		wantError(t, "a server that ended for want of room is not there", err, checkpoint.ErrUnavailable)
	case d.Real:
		wantError(t, "a server that cannot save for want of room is full", err, checkpoint.ErrFull, "free some")
	default:
		wantError(t, "a server that cannot save is not used", err, checkpoint.ErrUnavailable)
	}
	if policy == "everysec" {
		if errors.Is(err, checkpoint.ErrUnknownOutcome) {
			t.Errorf("rule: what a full server refused is known not to be written\n got: %v", err)
		}
		if err := isWhole(store, "thread", ids); err != nil {
			t.Errorf("rule: a full server still gives what it has\n got: %v", err)
		}
	}
	d.Grow(t)
	if policy == "always" || !d.Real {
		s.kill()
		if err := s.run(); err != nil {
			t.Fatal(err)
		}
	}
	if policy == "everysec" && !d.Real { // the kill took what the log had no room for
		snap, err := store.Load(t.Context(), checkpoint.Key{Thread: "thread"}, 0)
		if err != nil {
			t.Fatal(err)
		}
		ids = ids[:snap.Seq]
	}
	waitFor(t, "with room the same commit succeeds", func() bool { return commit() == nil })
	checkChain(t, store, "thread", uint64(len(ids)))
	t.Logf("appendfsync %s: %d commits, none of them lost", policy, len(ids))
}

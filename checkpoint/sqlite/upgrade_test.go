package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/sqlite"
)

// old returns a copy of a file that the release with a layout wrote. It has the threads "a" and
// "b:é", and the namespace "sub" of "a", each with five commits and one entry. The file of layout 2
// also has leases of the threads "b:é" and "leased"; "leased" has no commits.
func old(t *testing.T, layout int) (path string) {
	path = filepath.Join(t.TempDir(), "threads.db")
	if err := os.WriteFile(path, read(t, fmt.Sprintf("testdata/layout%d.db", layout)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var layouts = []int{1, 2}

var oldKeys = []checkpoint.Key{{Thread: "a"}, {Thread: "a", Namespace: "sub"}, {Thread: "b:é"}}

// Requirement: data of an older release opens, and its threads continue
func TestOlderLayout_Opens(t *testing.T) {
	for _, layout := range layouts {
		path := old(t, layout)
		for range 2 { // with the upgrade, and after it
			s := mustOpen(t, path)
			for _, k := range oldKeys {
				checkOld(t, s, k)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestOlderLayout_LeaseIsTakenOver also checks that the thread then records its leases.
func TestOlderLayout_LeaseIsTakenOver(t *testing.T) {
	s := mustOpen(t, old(t, 2))
	r := checkpoint.LeaseRequest{Thread: "leased", Owner: "me", TTL: time.Minute, ID: "first", Force: true}
	for _, id := range []string{"first", "second"} {
		r.ID = id
		if _, err := s.Acquire(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	r.ID = "first"
	if _, err := s.Acquire(t.Context(), r); !errors.Is(err, checkpoint.ErrFenced) {
		t.Errorf("rule: a thread of an older file remembers its leases\n got: %v\nwant: %v", err, checkpoint.ErrFenced)
	}
}

func checkOld(t *testing.T, s *sqlite.Store, k checkpoint.Key) {
	t.Helper()
	for seq := 1; seq <= 5; seq++ {
		snap, err := s.Load(t.Context(), k, uint64(seq))
		if err != nil {
			t.Fatalf("rule: what an older release stored can be read\n got: %v\nwant: no error", err)
		}
		var got strings.Builder
		fmt.Fprintf(&got, "%s|%s|", snap.ID, snap.Header)
		for _, b := range snap.Blobs {
			fmt.Fprintf(&got, "%s %d %d %s|", b.Field, b.Base, b.Chunk, b.Data)
		}
		for _, e := range snap.Pending {
			fmt.Fprintf(&got, "%s %s %s|", e.Task, e.Slot, e.Data)
		}
		var want strings.Builder
		fmt.Fprintf(&want, "id %d|header %d of %s/%s|", seq, seq, k.Thread, k.Namespace)
		for n := range seq {
			fmt.Fprintf(&want, "log 1 %d line %d|", n, n+1)
		}
		fmt.Fprintf(&want, "value %d 0 value %d|", seq, seq)
		if seq == 5 {
			want.WriteString("task result done|")
		}
		if got.String() != want.String() || len(snap.Labels) > 0 {
			t.Errorf("rule: an older file keeps its threads\n got: %s labels %v\nwant: %s, no labels", got.String(), snap.Labels, want.String())
		}
	}
}

// Requirement: a release is rolled out
func TestOlderLayout_CanDoWhatANewFileCan(t *testing.T) {
	for _, layout := range layouts {
		doAll(t, mustOpen(t, old(t, layout)))
	}
}

func doAll(t *testing.T, s *sqlite.Store) {
	t.Helper()
	k := oldKeys[0]
	lease, err := s.Acquire(t.Context(), checkpoint.LeaseRequest{Thread: k.Thread, Owner: "me", TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	c := checkpoint.Commit{Key: k, ID: "new", Head: 5, Number: 9, Labels: map[string]string{"source": "step"}, Fence: lease.Fence, TTL: time.Hour}
	if err := s.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := s.Drop(t.Context(), checkpoint.Drop{Key: k, Head: 9, Commits: []uint64{1, 2}, Fence: lease.Fence}); err != nil {
		t.Fatal(err)
	}
	var seqs []uint64
	for snap, err := range s.History(t.Context(), k, checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, snap.Seq)
	}
	if fmt.Sprint(seqs) != "[9 5 4 3]" {
		t.Errorf("rule: an older file supports every feature after its upgrade\n got: commits %v\nwant: [9 5 4 3]", seqs)
	}
}

// Requirement: a release is rolled out
func TestOlderLayout_ManyUpgradeItAtOnce(t *testing.T) {
	for _, layout := range layouts {
		manyOpen(t, old(t, layout))
	}
}

func manyOpen(t *testing.T, path string) {
	t.Helper()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := sqlite.Open(t.Context(), path)
			if err != nil {
				t.Errorf("rule: many may upgrade a file at once\n got: %v\nwant: no error", err)
				return
			}
			s.Close()
		})
	}
	wg.Wait()
	checkOld(t, mustOpen(t, path), oldKeys[1])
}

package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/sqlite"
)

// fewer returns n, or a fifth of it in a short run.
func fewer(n int) int {
	if testing.Short() {
		return n / 5
	}
	return n
}

// TestProcesses_RaceOnOneThread also lets the processes race to create the file.
//
// Requirement: two processes continue one thread
func TestProcesses_RaceOnOneThread(t *testing.T) {
	path, each := filepath.Join(t.TempDir(), "new", "threads.db"), fewer(150)
	children := []*child{startChild(t, "race", path, "one", each), startChild(t, "race", path, "two", each)}
	var acked []ack
	for _, c := range children {
		acked = append(acked, c.acks(t, 0)...)
		c.finish(t)
	}
	s := mustOpen(t, path)
	checkChain(t, s, "shared", acked)
	if head := headOf(t, s, "shared"); head != uint64(2*each) || len(acked) != 2*each {
		t.Errorf("rule: each commit is made once\n got: head %d, %d acknowledged\nwant: %d", head, len(acked), 2*each)
	}
}

// TestWriter_KilledLosesNothing kills processes at random moments, one after the other, all with
// the same file.
//
// Requirement: what was acknowledged survives the death of the process
// Requirement: the process dies while it writes to the file
func TestWriter_KilledLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	acked := map[string][]ack{}
	for n := range fewer(20) {
		c := startChild(t, "write", path, fmt.Sprint("life ", n), 0)
		list := c.acks(t, 1+rand.IntN(100))
		if err := c.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for _, a := range append(list, c.acks(t, 0)...) {
			acked[a.Thread] = append(acked[a.Thread], a)
		}
		c.cmd.Wait()
	}
	if len(acked) != 4 {
		t.Fatalf("rule: the processes wrote something\n got: %d threads\nwant: 4", len(acked))
	}
	s := mustOpen(t, path)
	for thread, list := range acked {
		checkChain(t, s, thread, list)
	}
	if got := integrity(t, path); got != "ok" {
		t.Errorf("rule: a killed process leaves a sound file\n got: %s\nwant: ok", got)
	}
}

func integrity(t testing.TB, path string) (result string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&result); err != nil {
		t.Fatal(err)
	}
	return result
}

// Requirement: ErrBusy: nothing was written
func TestFile_LockedByAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	if err := mustOpen(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	c := startChild(t, "lock", path, "", 0)
	c.acks(t, 1)
	_, err := sqlite.OpenConfig(t.Context(), path, sqlite.Config{BusyTimeout: 50 * time.Millisecond})
	wantError(t, "a locked file gives ErrBusy when the time is over", err, checkpoint.ErrBusy, path, "another program")
	c.finish(t)
	mustOpen(t, path)
}

// TestWriter_WaitsForAnotherProgram locks as the sqlite3 tool would.
//
// Requirement: the store is slow, or silent
func TestWriter_WaitsForAnotherProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	s, err := sqlite.OpenConfig(t.Context(), path, sqlite.Config{BusyTimeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	unlock := lock(t, path)
	err = s.Commit(t.Context(), link("thread", 1, "id"))
	wantError(t, "a commit fails when the lock is held too long", err, checkpoint.ErrBusy, path, "another program")
	if head := headOf(t, s, "thread"); head != 0 {
		t.Errorf("rule: ErrBusy means that nothing was written, and does not stop readers\n got: head %d\nwant: 0", head)
	}
	unlock()
	if err := s.Commit(t.Context(), link("thread", 1, "id")); err != nil {
		t.Errorf("rule: a store recovers from ErrBusy\n got: %v\nwant: no error", err)
	}
}

// TestWriter_LetsOthersWrite has a store that writes without a pause of its own. Another store on
// the same file still gets its turns.
func TestWriter_LetsOthersWrite(t *testing.T) {
	const commits, writers = 20, 4
	path := filepath.Join(t.TempDir(), "threads.db")
	restless, other := mustOpen(t, path), mustOpen(t, path)
	var made atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for seq := uint64(1); !stop.Load(); seq++ {
				if err := restless.Commit(t.Context(), link(fmt.Sprint("restless ", i), seq, fmt.Sprint(seq))); err != nil {
					t.Error(err)
					return
				}
				made.Add(1)
			}
		})
	}
	for made.Load() == 0 && !t.Failed() {
		runtime.Gosched()
	}
	var before int64
	for seq := uint64(1); seq <= commits; seq++ {
		if seq == 2 { // the first commit may need several tries
			before = made.Load()
		}
		if err := other.Commit(t.Context(), link("other", seq, fmt.Sprint(seq))); err != nil {
			t.Error(err)
		}
	}
	beside := made.Load() - before
	stop.Store(true)
	wg.Wait()
	if beside > 400*commits {
		t.Errorf("rule: each process that writes to a file gets its turns\n got: %d commits of the other store beside %d", beside, commits)
	}
}

// lock takes the write lock of a file until unlock is called.
func lock(t testing.TB, path string) (unlock func()) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	return func() { db.Close() }
}

// wantError checks that err is kind and that its text has all parts.
func wantError(t testing.TB, rule string, err, kind error, parts ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("rule: %s\n got: %v\nwant: an error that is %q", rule, err, kind)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("rule: %s, and its text names the reason\n got: %v\nwant: a text with %q", rule, err, part)
		}
	}
}

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/weftrun/weft/checkpoint"
)

func openHere(t testing.TB) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "threads.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// hold keeps the writer inside a request until release is called.
func hold(t testing.TB, s *Store) (release func()) {
	t.Helper()
	inside, leave := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		s.submit(t.Context(), func(*writer) error {
			close(inside)
			<-leave
			return nil
		})
	})
	<-inside
	return func() { close(leave); wg.Wait() }
}

// waitForQueue returns when n requests wait.
func waitForQueue(s *Store, n int) {
	for waiting := -1; waiting != n; runtime.Gosched() {
		s.queue.mu.Lock()
		waiting = len(s.queue.waiting)
		s.queue.mu.Unlock()
	}
}

func first(thread string) checkpoint.Commit {
	return checkpoint.Commit{Key: checkpoint.Key{Thread: thread}, ID: "id", Blobs: []checkpoint.Blob{{Field: "f", Base: 1}}}
}

// commitTogether makes all commits in one group and returns their errors.
func commitTogether(t testing.TB, s *Store, commits []checkpoint.Commit) []error {
	t.Helper()
	errs := make([]error, len(commits))
	release := hold(t, s)
	var wg sync.WaitGroup
	for i, c := range commits {
		wg.Go(func() { errs[i] = s.Commit(t.Context(), c) })
	}
	waitForQueue(s, len(commits))
	release()
	wg.Wait()
	return errs
}

// A caller whose context ends while its event is written may use the data again.
func TestBus_OwnsDataOfACallThatEnds(t *testing.T) {
	s := openHere(t)
	bus, err := s.Bus(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	releaseFirst := hold(t, s)
	inside, leave := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // is in the group of the event, before it
		s.submit(t.Context(), func(*writer) error {
			close(inside)
			<-leave
			return nil
		})
	})
	waitForQueue(s, 1)
	data, done := []byte("mine"), make(chan error, 1)
	go func() { done <- bus.Publish(ctx, "a", data) }()
	waitForQueue(s, 2)
	releaseFirst()
	<-inside
	cancel()
	if err := <-done; !errors.Is(err, checkpoint.ErrUnknownOutcome) {
		t.Errorf("got %v, want an ErrUnknownOutcome", err)
	}
	copy(data, "XXXX")
	close(leave)
	wg.Wait()
	for e, err := range bus.Follow(t.Context(), "a", 0) {
		if err != nil || string(e.Data) != "mine" {
			t.Errorf("rule: what the caller does with its data afterwards does not show\n got: %q, %v\nwant: %q", e.Data, err, "mine")
		}
		break
	}
}

func TestGroup_EachCallFailsAlone(t *testing.T) {
	late := first("late")
	late.Head = 7
	twice := first("twice")
	twice.Blobs = append(twice.Blobs, twice.Blobs[0])
	for _, c := range []struct {
		what    string
		culprit checkpoint.Commit
		isKind  func(error) bool
	}{
		{"a conflict", late, func(err error) bool { return errors.Is(err, checkpoint.ErrConflict) }},
		{"an error of SQLite", twice, func(err error) bool { return err != nil && strings.Contains(err.Error(), "written once") }},
	} {
		s := openHere(t)
		commits := []checkpoint.Commit{first("a"), c.culprit, first("b"), first("c")}
		for i, err := range commitTogether(t, s, commits) {
			_, loadErr := s.Load(t.Context(), commits[i].Key, 0)
			switch {
			case i == 1 && (!c.isKind(err) || !errors.Is(loadErr, checkpoint.ErrNotFound)):
				t.Errorf("rule: %s fails its commit\n got: %v, and to load it %v\nwant: its error, and nothing stored", c.what, err, loadErr)
			case i != 1 && errors.Join(err, loadErr) != nil:
				t.Errorf("rule: %s of one does not fail another\n got: %v, and to load it %v\nwant: no error", c.what, err, loadErr)
			}
		}
	}
}

// Requirement: the store is slow, or silent
// Requirement: the error of a context alone: nothing was written
func TestCall_WaitingIsWithdrawn(t *testing.T) {
	s := openHere(t)
	release := hold(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		err := s.Commit(ctx, first("thread"))
		if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "unknown") {
			t.Errorf("rule: a call that was not picked up is withdrawn\n got: %v\nwant: %v", err, context.Canceled)
		}
	})
	waitForQueue(s, 1)
	cancel()
	wg.Wait() // before the writer is free again
	release()
	if _, err := s.Load(t.Context(), first("thread").Key, 0); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("rule: what was withdrawn is not written\n got: %v\nwant: %v", err, checkpoint.ErrNotFound)
	}
}

// Requirement: a context ends during a write
// Requirement: ErrUnknownOutcome: repeating the commit decides the outcome
func TestCall_BeingWrittenHasUnknownOutcome(t *testing.T) {
	s := openHere(t)
	ctx, cancel := context.WithCancel(t.Context())
	inside, leave := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := s.submit(ctx, func(w *writer) error {
			close(inside)
			<-leave
			return w.add(first("thread"), nil, encodeRefs(nil, nil))
		})
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "unknown") {
			t.Errorf("rule: a call that was picked up has an unknown outcome\n got: %v\nwant: %v, and that the outcome is unknown", err, context.Canceled)
		}
	})
	<-inside
	cancel()
	wg.Wait() // before the writer goes on
	close(leave)
	if err := s.Commit(t.Context(), first("thread")); err != nil {
		t.Errorf("rule: the same commit again settles the outcome\n got: %v\nwant: no error", err)
	}
}

// Requirement: ErrClosed: nothing was written
func TestClose_WaitsForAcceptedCalls(t *testing.T) {
	s := openHere(t)
	release := hold(t, s)
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			if err := s.Commit(t.Context(), first(fmt.Sprint(n))); err != nil {
				t.Errorf("rule: Close waits for what was accepted\n got: %v\nwant: no error", err)
			}
		})
	}
	waitForQueue(s, 4)
	wg.Go(func() { s.Close() })
	release()
	wg.Wait()
}

// Requirement: the disk is full, or read-only
// Requirement: ErrFull: nothing was written, and reads still work
func TestDisk_Full(t *testing.T) {
	s := openHere(t)
	limit := func(pages string) {
		err := s.submit(t.Context(), func(w *writer) error {
			_, err := w.conn.ExecContext(t.Context(), "PRAGMA max_page_count = "+pages)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	big := first("big")
	big.Blobs[0].Data = make([]byte, 1<<20)
	limit("64")
	errs := commitTogether(t, s, []checkpoint.Commit{first("a"), big, first("b")})
	if !errors.Is(errs[1], checkpoint.ErrFull) || !errors.Is(errs[1], checkpoint.ErrUnavailable) || !strings.Contains(errs[1].Error(), s.path) {
		t.Errorf("rule: a full disk gives ErrFull and names the file\n got: %v\nwant: %v", errs[1], checkpoint.ErrFull)
	}
	if err := errors.Join(errs[0], errs[2]); err != nil {
		t.Errorf("rule: what still has room is written\n got: %v\nwant: no error", err)
	}
	if _, err := s.Load(t.Context(), big.Key, 0); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("rule: what had no room is not there, not even in part\n got: %v\nwant: %v", err, checkpoint.ErrNotFound)
	}
	limit("100000")
	if err := s.Commit(t.Context(), big); err != nil {
		t.Errorf("rule: with room the same commit succeeds\n got: %v\nwant: no error", err)
	}
}

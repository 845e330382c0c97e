package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/checkpoint/topic/topictest"
)

func busOf(t testing.TB, path string, keep int) topic.Bus {
	t.Helper()
	b, err := openAt(t, path, sqlite.Config{}).Bus(t.Context(), keep)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The other bus has connections of its own, as another process has.
func TestBus(t *testing.T) {
	topictest.Run(t, func(t testing.TB) topictest.World {
		path := filepath.Join(t.TempDir(), "threads.db")
		return topictest.World{Bus: busOf(t, path, topictest.Keep), Other: busOf(t, path, topictest.Keep), Keep: topictest.Keep}
	})
}

func TestBus_OutlivesItsStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	s := openAt(t, path, sqlite.Config{})
	b, err := s.Bus(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := b.Publish(t.Context(), "a", []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Publish(t.Context(), "a", nil); !errors.Is(err, checkpoint.ErrClosed) {
		t.Errorf("publish after Close: got %v", err)
	}
	for _, err := range b.Follow(t.Context(), "a", 0) {
		if !errors.Is(err, checkpoint.ErrClosed) {
			t.Errorf("follow after Close: got %v", err)
		}
	}
	again := busOf(t, path, 1)
	if n, err := again.Last(t.Context(), "a"); err != nil || n != 3 {
		t.Errorf("the newest position: got %d, %v, want 3", n, err)
	}
	large := []byte(strings.Repeat("x", topic.MaxData+1))
	if err := again.Publish(t.Context(), "a", large); !errors.Is(err, checkpoint.ErrTooLarge) {
		t.Errorf("a large event: got %v", err)
	}
}

func TestBus_VersionIsNewAfterAnEvent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	s := openAt(t, path, sqlite.Config{})
	own, err := s.Bus(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	other, table := busOf(t, path, 0), sqlite.EventTable(s)
	var seen []uint64
	version := func() uint64 {
		t.Helper()
		n, err := table.Version(t.Context())
		if err != nil || n == 0 {
			t.Fatalf("the version is %d, %v, want another number than 0", n, err)
		}
		return n
	}
	for _, b := range []topic.Bus{own, other, own, other} {
		n := version()
		if again := version(); again != n {
			t.Errorf("the version without an event is %d after %d, want the same", again, n)
		}
		for _, old := range seen {
			if n == old {
				t.Errorf("the version after an event is %d again", n)
			}
		}
		seen = append(seen, n)
		if err := b.Publish(t.Context(), "a", []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if n := version(); n == seen[len(seen)-1] {
		t.Errorf("the version after an event is %d again", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Version(t.Context()); !errors.Is(err, checkpoint.ErrClosed) {
		t.Errorf("the version after Close: got %v", err)
	}
}

func TestBus_LastOfManyTopics(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "threads.db"), sqlite.Config{})
	b, err := s.Bus(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range 1200 {
		names = append(names, fmt.Sprintf("topic \xff %d", i))
	}
	want := map[string]uint64{names[0]: 1, names[499]: 2, names[500]: 3, names[1199]: 1}
	for name, n := range want {
		for range n {
			if err := b.Publish(t.Context(), name, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	names = append(names, names[500]) // may be asked for twice
	last, err := sqlite.EventTable(s).Last(t.Context(), names...)
	if err != nil || len(last) != len(names) {
		t.Fatalf("got %d positions, %v, want %d", len(last), err, len(names))
	}
	for i, name := range names {
		if last[i] != want[name] {
			t.Errorf("the newest position of topic %d is %d, want %d", i, last[i], want[name])
		}
	}
}

// The connection that looks for changes must not be the last one: SQLite leaves its log then.
func TestBus_CloseCopiesTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	s := openAt(t, path, sqlite.Config{})
	b, err := s.Bus(t.Context(), 0)
	if err == nil {
		err = b.Publish(t.Context(), "a", nil)
	}
	if err == nil {
		_, err = sqlite.EventTable(s).Version(t.Context())
	}
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Close the log beside the file is there: %v", err)
	}
}

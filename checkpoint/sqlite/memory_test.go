package sqlite_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/checkpoint/memory/memorytest"
	"github.com/weftrun/weft/checkpoint/sqlite"
)

func TestMemory(t *testing.T) {
	memorytest.RunFull(t, func(t testing.TB) memory.Store {
		w := &ticking{now: time.Now()}
		s := openAt(t, filepath.Join(t.TempDir(), "threads.db"), sqlite.Config{Now: w.time})
		return clocked{memoryOf(t, s), w}
	})
}

// clocked is a memory whose clock the test suite sets.
type clocked struct {
	memory.Store
	*ticking
}

// ticking advances by a microsecond at each call, so that no two writes have the same time.
type ticking struct {
	mu  sync.Mutex
	now time.Time
}

func (w *ticking) time() time.Time {
	w.Advance(time.Microsecond)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// Advance implements memorytest.Clock.
func (w *ticking) Advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func openAt(t testing.TB, path string, cfg sqlite.Config) *sqlite.Store {
	t.Helper()
	s, err := sqlite.OpenConfig(t.Context(), path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func memoryOf(t testing.TB, s *sqlite.Store) memory.Store {
	t.Helper()
	m, err := s.Memory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func put(t testing.TB, m memory.Store, key, value string) {
	t.Helper()
	if _, err := m.Put(t.Context(), []string{"users"}, key, json.RawMessage(value), memory.Options{}); err != nil {
		t.Fatal(err)
	}
}

func TestMemory_OutlivesItsStoreBesideThreads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	s := openAt(t, path, sqlite.Config{})
	if err := s.Commit(t.Context(), checkpoint.Commit{Key: checkpoint.Key{Thread: "t"}, ID: "1"}); err != nil {
		t.Fatal(err)
	}
	put(t, memoryOf(t, s), "k", `"some words"`)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path, sqlite.Config{})
	page, err := memoryOf(t, s).Search(t.Context(), memory.Query{Text: "words"})
	if err != nil || len(page.Items) != 1 {
		t.Errorf("rule: what was put is found after the file was opened again\n got: %v, %v", page, err)
	}
	if snap, err := s.Load(t.Context(), checkpoint.Key{Thread: "t"}, 0); err != nil || snap.Head != 1 {
		t.Errorf("rule: threads and memory share a file\n got: %v, %v", snap, err)
	}
}

func TestMemory_IsSharedByStoresOfOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	var stores []memory.Store
	for range 2 {
		stores = append(stores, memoryOf(t, openAt(t, path, sqlite.Config{})))
	}
	put(t, stores[0], "k", `1`)
	if item, err := stores[1].Get(t.Context(), []string{"users"}, "k"); err != nil || string(item.Value) != "1" {
		t.Errorf("rule: another store of the file sees what was put\n got: %s, %v", item.Value, err)
	}
}

func TestMemory_OfAClosedStoreReturnsAnError(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "threads.db"), sqlite.Config{})
	m := memoryOf(t, s)
	s.Close()
	_, err := m.Put(t.Context(), []string{"users"}, "k", json.RawMessage(`1`), memory.Options{})
	wantClosed(t, err)
	_, err = m.Get(t.Context(), []string{"users"}, "k")
	wantClosed(t, err)
	_, err = m.Search(t.Context(), memory.Query{})
	wantClosed(t, err)
	_, err = s.Memory(t.Context())
	wantClosed(t, err)
}

func wantClosed(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, checkpoint.ErrClosed) {
		t.Errorf("rule: the memory of a closed store returns ErrClosed\n got: %v\nwant: ErrClosed", err)
	}
}

package sqlite_test

import (
	"errors"
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

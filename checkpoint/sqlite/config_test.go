package sqlite

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

func TestParsePath(t *testing.T) {
	for _, tt := range []struct {
		text, path string
		sync       Sync
		ok         bool
	}{
		{"threads.db", "threads.db", SyncFull, true},
		{"threads.db?sync=full", "threads.db", SyncFull, true},
		{"a?b.db?sync=normal", "a?b.db", SyncNormal, true},
		{"a?b.db", "a?b.db", SyncFull, true},
		{"threads.db?sync=off", "", SyncFull, false},
		{"threads.db?sync=", "", SyncFull, false},
	} {
		path, cfg, err := ParsePath(tt.text)
		if path != tt.path || cfg.Sync != tt.sync || (err == nil) != tt.ok || err != nil && !errors.Is(err, checkpoint.ErrRequest) {
			t.Errorf("%s: got %q, %v, %v; want %q, %v", tt.text, path, cfg.Sync, err, tt.path, tt.sync)
		}
	}
}

func TestOpenConfig_Sync(t *testing.T) {
	for sync, want := range map[Sync]int{SyncFull: 2, SyncNormal: 1} {
		store, err := OpenConfig(t.Context(), filepath.Join(t.TempDir(), "t.db"), Config{Sync: sync})
		if err != nil {
			t.Fatal(err)
		}
		var got int
		err = store.readers.QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&got)
		if err != nil || got != want {
			t.Errorf("%v: a connection has synchronous %d (%v), want %d", sync, got, err, want)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := OpenConfig(t.Context(), filepath.Join(t.TempDir(), "t.db"), Config{Sync: 2}); !errors.Is(err, checkpoint.ErrRequest) {
		t.Errorf("got %v for an unknown Sync, want ErrRequest", err)
	}
}

func TestOpenConfig_BusyTimeoutNotPositive(t *testing.T) {
	for _, timeout := range []time.Duration{0, -1, -time.Hour} {
		store, err := OpenConfig(t.Context(), filepath.Join(t.TempDir(), "t.db"), Config{BusyTimeout: timeout})
		if err != nil {
			t.Fatalf("BusyTimeout %v: %v", timeout, err)
		}
		var got int
		err = store.readers.QueryRowContext(t.Context(), "PRAGMA busy_timeout").Scan(&got)
		if err != nil || got != 5000 {
			t.Errorf("BusyTimeout %v: a connection waits for %d ms (%v), want the default of 5000", timeout, got, err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}

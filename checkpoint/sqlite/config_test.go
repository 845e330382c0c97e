package sqlite

import (
	"path/filepath"
	"testing"
	"time"
)

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

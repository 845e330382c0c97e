package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/blob"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/internal/storetest"
)

// TestCall_FileLocked makes every call while another program holds the file's lock.
//
// Requirement: the store is slow, or silent
func TestCall_FileLocked(t *testing.T) {
	const bound = 50 * time.Millisecond
	path := filepath.Join(t.TempDir(), "threads.db")
	s := mustOpen(t, path)
	if err := s.Commit(t.Context(), storetest.First()); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s, err := sqlite.OpenConfig(t.Context(), path, sqlite.Config{BusyTimeout: bound})
	if err != nil {
		t.Fatal(err)
	}
	docs, err := s.Documents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mem, err := s.Memory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bus, err := s.Bus(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := s.Blobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	calls := storetest.Calls(t, s, docs, mem,
		storetest.Call{Name: "Documents", Do: func(ctx context.Context) error { _, err := s.Documents(ctx); return err }},
		storetest.Call{Name: "Blobs", Do: func(ctx context.Context) error { _, err := s.Blobs(ctx); return err }},
		storetest.Call{Name: "Memory", Do: func(ctx context.Context) error { _, err := s.Memory(ctx); return err }},
		storetest.Call{Name: "Bus", Do: func(ctx context.Context) error { _, err := s.Bus(ctx, 0); return err }})
	calls = append(append(calls, storetest.BusCalls(bus)...), storetest.BlobCalls(blobs)...)
	unlock := lock(t, path)
	defer unlock()
	busy := 0
	for _, c := range calls {
		err := storetest.Ends(t, c.Name, bound, func() error { return c.Do(context.Background()) })
		switch {
		case errors.Is(err, checkpoint.ErrBusy):
			busy++
		case err != nil && !errors.Is(err, checkpoint.ErrNotFound) && !errors.Is(err, blob.ErrNotFound) && !errors.Is(err, document.ErrNotFound) && !errors.Is(err, memory.ErrNotFound):
			t.Errorf("rule: a call on a locked file is answered, or ErrBusy\n got: %s: %v", c.Name, err)
		}
	}
	if busy < 10 {
		t.Errorf("got %d calls that were busy, want all that write", busy)
	}
	storetest.Ends(t, "Close", bound, s.Close)
}

// TestOpen_FileLocked opens a file that another program has locked, also for reading.
func TestOpen_FileLocked(t *testing.T) {
	const bound = 50 * time.Millisecond
	path := filepath.Join(t.TempDir(), "threads.db")
	mustOpen(t, path).Close()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, text := range []string{"PRAGMA journal_mode = DELETE", "BEGIN EXCLUSIVE"} {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	err = storetest.Ends(t, "OpenConfig", bound, func() error {
		_, err := sqlite.OpenConfig(context.Background(), path, sqlite.Config{BusyTimeout: bound})
		return err
	})
	wantError(t, "a file that another program keeps locked is busy", err, checkpoint.ErrBusy, path)
}

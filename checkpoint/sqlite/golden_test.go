package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/internal/golden"
)

// goldenStored returns what is in the file of a store.
func goldenStored(t *testing.T, s *sqlite.Store) golden.Stored {
	t.Helper()
	docs, err := s.Documents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	items, err := s.Memory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return golden.Stored{Threads: s, Documents: docs, Memory: items}
}

// TestGolden_FileOfAnEarlierReleaseOpens checks everything that earlier releases stored.
//
// Requirement: data of an older release opens, and its threads continue
func TestGolden_FileOfAnEarlierReleaseOpens(t *testing.T) {
	golden.Test(t, "db", func(t *testing.T, file []byte) golden.Stored {
		path := filepath.Join(t.TempDir(), "threads.db")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		return goldenStored(t, mustOpen(t, path))
	}, writeGolden)
}

func writeGolden(t *testing.T) []byte {
	path := filepath.Join(t.TempDir(), "threads.db")
	s := mustOpen(t, path)
	if err := golden.Write(t.Context(), goldenStored(t, s)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return read(t, path)
}

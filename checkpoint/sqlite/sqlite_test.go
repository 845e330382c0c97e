package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/checkpointtest"
	"github.com/weftrun/weft/checkpoint/sqlite"
)

func TestStore(t *testing.T) {
	checkpointtest.Run(t, func(t testing.TB) checkpoint.Store { return open(t, t.TempDir()) })
}

func TestStoreIsDurable(t *testing.T) { checkpointtest.RunDurable(t, open) }

func BenchmarkStore(b *testing.B) {
	checkpointtest.Bench(b, func(t testing.TB) checkpoint.Store { return open(t, t.TempDir()) })
}

func open(t testing.TB, dir string) checkpoint.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(dir, "threads.db"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

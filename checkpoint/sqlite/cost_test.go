package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/weftrun/weft/internal/racescale"
	"github.com/weftrun/weft/internal/storetest"
)

// TestRun_BytesDoNotGrow measures what is in the rows. The file grows by whole pages.
//
// Requirement: the bytes of a step do not grow with the thread
func TestRun_BytesDoNotGrow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	store := mustOpen(t, path)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ask := func(text string) func() int64 {
		return func() (n int64) {
			if err := db.QueryRow(text).Scan(&n); err != nil {
				t.Error(err)
			}
			return n
		}
	}
	storetest.Bytes(t, store, map[string]func() int64{"in rows and indexes": ask("SELECT sum(payload) FROM dbstat")})
	size := ask("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")()
	t.Logf("a step of 1 KiB takes %d bytes of the file", size/storetest.Steps)
	if each := size / storetest.Steps; each > 1024+1024+256 {
		t.Errorf("rule: a step takes what it adds and about 1 KiB, and the bases of a log a quarter of what was added\n got: %d bytes of the file for 1 KiB\nwant: at most 2304", each)
	}
}

func TestRun_RoomIsBounded(t *testing.T) { storetest.Room(t, open(t, t.TempDir())) }

// Requirement: a step allocates the same in a short and a long thread
func TestStep_CostIsFlat(t *testing.T) {
	storetest.Growth(t, open(t, t.TempDir()), racescale.Of(10_000, 2_000))
}

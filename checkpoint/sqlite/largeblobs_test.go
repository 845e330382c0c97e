package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/weftrun/weft/checkpoint/blob"
	"github.com/weftrun/weft/checkpoint/blob/blobtest"
	"github.com/weftrun/weft/checkpoint/sqlite"
)

func TestBlobs(t *testing.T) {
	blobtest.Run(t, func(t testing.TB) blob.Table {
		s := openAt(t, filepath.Join(t.TempDir(), "threads.db"), sqlite.Config{Sync: sqlite.SyncNormal})
		if _, err := s.Blobs(t.Context()); err != nil {
			t.Fatal(err)
		}
		return sqlite.BlobTable(s)
	})
}

package blob_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/weftrun/weft/checkpoint/blob"
	"github.com/weftrun/weft/checkpoint/blob/blobtest"
)

func TestMap(t *testing.T) {
	blobtest.Run(t, func(testing.TB) blob.Table { return new(blob.Map) })
}

func TestFolder(t *testing.T) {
	blobtest.Run(t, func(t testing.TB) blob.Table {
		dir := t.TempDir()
		t.Cleanup(func() {
			if !t.Failed() {
				noTemporaries(t, dir)
			}
		})
		return blob.Folder(filepath.Join(dir, "blobs"))
	})
}

// noTemporaries checks that no file is left without a key.
func noTemporaries(t testing.TB, dir string) {
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Base(filepath.Dir(path)) == "tmp" {
			t.Errorf("rule: no temporary file is left\n got: %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

package rootfs_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/weftrun/weft/internal/rootfs"
)

func TestReadFile_StaysBelowTheRoot(t *testing.T) {
	outside := t.TempDir()
	folder := t.TempDir()
	write := func(dir, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(outside, "secret", "secret")
	write(folder, "plain", "plain")
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	if got, err := rootfs.ReadFile(folder, "plain", 100); string(got) != "plain" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := rootfs.ReadFile(folder, "plain", 2); string(got) != "pla" || err != nil {
		t.Errorf("got %q, %v; want one byte more than the limit", got, err)
	}
	for _, name := range []string{"link", "../" + filepath.Base(outside) + "/secret", filepath.Join(outside, "secret"), "none"} {
		if got, err := rootfs.ReadFile(folder, name, 100); err == nil {
			t.Errorf("%s: got %q, want an error", name, got)
		}
	}
	if _, err := rootfs.ReadFile(folder, ".", 100); !errors.Is(err, rootfs.ErrIrregular) {
		t.Errorf("a folder: got %v, want %v", err, rootfs.ErrIrregular)
	}
}

package verbs_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrun/weft/internal/storetest"
)

// fill writes a file until the disk is full.
func fill(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "fill"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(bytes.Repeat([]byte("x"), 4096))
	}
}

// A command that cannot write names the disk as the reason, and leaves no part of what it writes.
func TestFullDisk_IsNamed(t *testing.T) {
	storetest.RunOnSmallDisk(t, func(t *testing.T, d storetest.Disk) {
		if !d.Real {
			return // only files of several MiB would fail
		}
		p := place{t, d.Dir}
		text := topical + "\n\n\n"
		p.write("w.yaml", text)
		p.must(0, "run", "w.yaml", "--thread", "t")
		fill(t, d.Dir)
		commands := []string{"fmt -w w.yaml", "new begun", "man pages", "test w.yaml --junit report.xml", "threads"}
		for _, line := range commands {
			e := p.must(1, strings.Fields(line)...)
			if !strings.Contains(e.stderr, "free some space") {
				t.Errorf("%s: got %s", line, e.stderr)
			}
		}
		if got, err := os.ReadFile(p.path("w.yaml")); err != nil || string(got) != text {
			t.Errorf("w.yaml has %q, %v", got, err)
		}
		d.Grow(t)
		for _, line := range commands {
			p.must(0, strings.Fields(line)...)
		}
	})
}

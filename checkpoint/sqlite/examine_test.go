package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
)

func doctor(t *testing.T, path string) map[string]checkpoint.Finding {
	t.Helper()
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	list, err := s.Doctor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, last := map[string]checkpoint.Finding{}, checkpoint.Danger
	for _, f := range list {
		if f.Severity > last {
			t.Errorf("%s, a %v, comes after a %v: the most severe come first", f.Subject, f.Severity, last)
		}
		if f.Value == "" || f.Cost == "" || (f.Severity > checkpoint.Good) != (f.Advice != "") {
			t.Errorf("a finding has a value, a cost and, unless it is good, an advice: %+v", f)
		}
		found[f.Subject], last = f, f.Severity
	}
	return found
}

func TestDoctor_NewFileIsGood(t *testing.T) {
	found := doctor(t, filepath.Join(t.TempDir(), "threads.db"))
	for _, subject := range []string{"quick_check", "journal_mode, synchronous", "permissions", "size", "log", "version"} {
		if f, ok := found[subject]; !ok || f.Severity != checkpoint.Good {
			t.Errorf("%s: got %+v, want it good", subject, f)
		}
	}
	if f := found["journal_mode, synchronous"]; f.Value != "wal, 2" {
		t.Errorf("durability is %q, want wal, 2", f.Value)
	}
	if _, ok := found["file system"]; !ok {
		t.Error("nothing is said of the file system")
	}
}

func TestDoctor_FindsAFileThatOthersMayChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	doctor(t, path)
	for mode, want := range map[os.FileMode]checkpoint.Severity{0o644: checkpoint.Note, 0o666: checkpoint.Warning, 0o600: checkpoint.Good} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if f := doctor(t, path)["permissions"]; f.Severity != want {
			t.Errorf("%v: got %+v, want a %v", mode, f, want)
		}
	}
}

func TestDoctor_FindsADamagedPage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		c := checkpoint.Commit{Key: checkpoint.Key{Thread: strings.Repeat("t", i+1)}, ID: "a", Header: []byte(strings.Repeat("x", 2000))}
		if err := s.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for page := len(data)/4096 - 1; page > 12; page-- { // the last ones hold rows, none of the schema
		copy(data[page*4096:], strings.Repeat("\xaa", 200))
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if f := doctor(t, path)["quick_check"]; f.Severity != checkpoint.Danger {
		t.Errorf("got %+v, want a danger", f)
	}
}

func TestDoctor_Severity(t *testing.T) {
	for _, c := range []struct {
		name string
		f    checkpoint.Finding
		want checkpoint.Severity
	}{
		{"a network", (&facts{lies: ground{"nfs", network}}).ground(), checkpoint.Danger},
		{"a program's file system", (&facts{lies: ground{"fuse", maybe}}).ground(), checkpoint.Note},
		{"memory", (&facts{lies: ground{"tmpfs", ram}}).ground(), checkpoint.Warning},
		{"a layer of a container", (&facts{lies: ground{"overlay", layer}}).ground(), checkpoint.Note},
		{"nothing known", (&facts{}).ground(), checkpoint.Note},
		{"a disk", (&facts{lies: ground{"ext4", disk}}).ground(), checkpoint.Good},
		{"no WAL", (&facts{journal: "delete", synchronous: 2}).durability(), checkpoint.Danger},
		{"synchronous=NORMAL", (&facts{journal: "wal", synchronous: 1}).durability(), checkpoint.Danger},
		{"sync=normal", (&facts{journal: "wal", synchronous: 1, sync: SyncNormal}).durability(), checkpoint.Warning},
		{"sync=normal without WAL", (&facts{journal: "delete", synchronous: 1, sync: SyncNormal}).durability(), checkpoint.Danger},
		{"a long log", (&facts{log: bigLog + 1}).wal(), checkpoint.Warning},
		{"a hollow file", (&facts{page: 4096, pages: 1 << 16, free: 1 << 15 * 3 / 2}).room(), checkpoint.Note},
		{"a small hollow file", (&facts{page: 4096, pages: 16, free: 15}).room(), checkpoint.Good},
	} {
		if c.f.Severity != c.want {
			t.Errorf("%s: got %+v, want a %v", c.name, c.f, c.want)
		}
	}
}

func TestDoctor_OfAClosedStoreReturnsAnError(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "threads.db"))
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := s.Doctor(t.Context()); err == nil {
		t.Error("a closed store was examined")
	}
}

package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/sqlite"
)

// Requirement: the disk is full, or read-only
func TestOpen_PathThatIsNoFile(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", ":memory:", "file::memory:?cache=shared", "a\x00b", t.TempDir(), plain + "/threads.db", filepath.Join(unwritable(t), "threads.db")} {
		_, err := sqlite.Open(t.Context(), path)
		wantError(t, "a path that cannot be opened is refused", err, checkpoint.ErrUnavailable, path)
	}
	_, err := sqlite.Open(t.Context(), ":memory:")
	wantError(t, ":memory: is refused with advice", err, checkpoint.ErrUnavailable, "checkpoint.Memory")
}

// unwritable returns a directory in which no file can be created, not even by root.
func unwritable(t testing.TB) string {
	if os.Geteuid() == 0 {
		return "/proc"
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestOpen_HonoursContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "threads.db"))
	wantError(t, "Open with a context that has ended fails", err, context.Canceled)
}

// Requirement: another version wrote it
func TestOpen_FilesOfOtherPrograms(t *testing.T) {
	text := []byte("This is a diary.\n")
	for _, c := range []struct {
		rule  string
		make  func(path string) error
		wants string
	}{
		{"a text file is not ours", func(path string) error { return os.WriteFile(path, bytes.Repeat(text, 1000), 0o600) }, "not an SQLite file"},
		{"a short text file is not ours", func(path string) error { return os.WriteFile(path, text, 0o600) }, "not an SQLite file"},
		{"another program's database is not ours", script("CREATE TABLE diary (day, text)"), "another program"},
		{"a database of another kind is not ours", script("PRAGMA application_id = 7"), "another program"},
		{"a newer layout is refused", ours("PRAGMA user_version = 4"), "layout 4"},
		{"an impossible layout is refused", ours("PRAGMA user_version = 0"), "layout 0"},
	} {
		path := filepath.Join(t.TempDir(), "threads.db")
		if err := c.make(path); err != nil {
			t.Fatal(err)
		}
		before := read(t, path)
		_, err := sqlite.Open(t.Context(), path)
		wantError(t, c.rule, err, checkpoint.ErrUnsupported, path, c.wants)
		if !bytes.Equal(read(t, path), before) {
			t.Errorf("rule: a file that is not ours is not changed\n got: other bytes after %q\nwant: the same", c.rule)
		}
	}
}

// script makes a database with SQL.
func script(text string) func(path string) error {
	return func(path string) error {
		db, err := sql.Open("sqlite", path)
		if err != nil {
			return err
		}
		_, err = db.Exec(text)
		return errors.Join(err, db.Close())
	}
}

// ours creates a file with this package and changes it with SQL.
func ours(text string) func(path string) error {
	return func(path string) error {
		s, err := sqlite.Open(context.Background(), path)
		if err != nil {
			return err
		}
		return errors.Join(s.Close(), script(text)(path))
	}
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestOpen_EmptyFileIsNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := mustOpen(t, path).Commit(t.Context(), link("thread", 1, "id")); err != nil {
		t.Error(err)
	}
}

// TestOpen_DamagedFiles changes bytes of the file. A read returns the right data or an error. The
// bytes inside a value are checked by the layer above.
//
// Requirement: stored bytes are damaged
func TestOpen_DamagedFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	whole := writeThreads(t, path)
	half := len(whole) / 2
	for _, c := range []struct {
		rule   string
		damage func(b []byte) []byte
	}{
		{"a garbled middle is damage", func(b []byte) []byte { garble(b[half : half+half/2]); return b }},
		{"a garbled end is damage", func(b []byte) []byte { garble(b[half:]); return b }},
		{"a cut file is damage", func(b []byte) []byte { return b[:half] }},
		{"a garbled header is damage", func(b []byte) []byte { garble(b[16:40]); return b }},
		{"a garbled schema is damage", func(b []byte) []byte { garble(b[100:4096]); return b }},
	} {
		if err := os.WriteFile(path, c.damage(bytes.Clone(whole)), 0o600); err != nil {
			t.Fatal(err)
		}
		wantError(t, c.rule, readThreads(t, path), checkpoint.ErrCorrupt, path)
	}
	garble(whole[:100])
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	wantError(t, "a file without SQLite's first bytes is refused", readThreads(t, path), checkpoint.ErrUnsupported, path, "damaged")
}

const threads = 40

// writeThreads fills a file, closes it and returns its bytes.
func writeThreads(t testing.TB, path string) []byte {
	t.Helper()
	s := mustOpen(t, path)
	for n := range threads {
		for seq := range uint64(5) {
			c := link(fmt.Sprint("thread ", n), seq+1, "id")
			c.Blobs[0].Data = bytes.Repeat([]byte{'b'}, 2000)
			if err := s.Commit(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return read(t, path)
}

// readThreads reads all threads of writeThreads and returns the joined errors.
func readThreads(t testing.TB, path string) error {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		return err
	}
	defer s.Close()
	var errs []error
	for n := range threads {
		snap, err := s.Load(t.Context(), checkpoint.Key{Thread: fmt.Sprint("thread ", n)}, 0)
		if err == nil && (snap.Seq != 5 || len(snap.Blobs) != 1) {
			t.Errorf("rule: damage never looks like less data\n got: commit %d with %d blobs\nwant: commit 5 with 1, or an error", snap.Seq, len(snap.Blobs))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// garble overwrites b with a pattern that is no page of SQLite's.
func garble(b []byte) {
	for i := range b {
		b[i] = byte(i*7) | 0x81
	}
}

// TestFile_ThatIsGone removes the file of an open store. The store must not acknowledge a commit
// that no process could read later.
func TestFile_ThatIsGone(t *testing.T) {
	for name, replaced := range map[string]bool{"deleted": false, "replaced": true} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "weft.db")
			s, err := sqlite.Open(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			c := checkpoint.Commit{Key: checkpoint.Key{Thread: "t"}, ID: "1", Header: []byte("{}")}
			if err := s.Commit(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if replaced {
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c.Head, c.ID = 1, "2"
			if err := s.Commit(t.Context(), c); !errors.Is(err, checkpoint.ErrUnavailable) {
				t.Errorf("a commit to a file that is gone: %v, want ErrUnavailable", err)
			}
		})
	}
}

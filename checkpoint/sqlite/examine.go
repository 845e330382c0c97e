package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/weftrun/weft/checkpoint"
)

// facts are what Doctor reads from SQLite and the system. Sizes are in bytes.
type facts struct {
	path, journal string
	synchronous   int
	sync          Sync // of the store
	version       string
	page, pages   int64
	free          int64    // unused pages
	problems      []string // the output of quick_check, unless it is ok
	mode          fs.FileMode
	log           int64  // size of the -wal file
	lies          ground // the file system of the file
}

// ground is a file system: its name, and its effect on durability and locks.
type ground struct {
	name string // "" if the system does not report it
	kind groundKind
}

type groundKind int

const (
	disk    groundKind = iota // as far as is known
	network                   // locks and shared memory do not hold there
	maybe                     // may be a network behind a program
	ram                       // gone with the machine
	layer                     // gone with the container
)

// bigLog is the size from which a log is worth a word: the writer folds it into the
// file at every 1000 pages unless a reader keeps it from doing so.
const bigLog = 64 << 20

// Doctor implements checkpoint.Examiner. It reads the whole file once.
func (s *Store) Doctor(ctx context.Context) ([]checkpoint.Finding, error) {
	f := facts{path: s.path, sync: s.sync}
	if err := s.view(ctx, func(v *view) error { return f.ask(v) }); err != nil {
		if !errors.Is(err, checkpoint.ErrCorrupt) {
			return nil, err
		}
		f.problems = append(f.problems, err.Error())
	}
	if err := f.look(); err != nil {
		return nil, s.typed(err)
	}
	list := []checkpoint.Finding{f.integrity(), f.ground(), f.durability(), f.rights(), f.room(), f.wal(), f.library()}
	slices.SortStableFunc(list, func(a, b checkpoint.Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	return list, nil
}

// ask asks SQLite.
func (f *facts) ask(v *view) error {
	for _, q := range []struct {
		text string
		into any
	}{
		{"PRAGMA journal_mode", &f.journal},
		{"PRAGMA synchronous", &f.synchronous},
		{"PRAGMA page_size", &f.page},
		{"PRAGMA page_count", &f.pages},
		{"PRAGMA freelist_count", &f.free},
		{"SELECT sqlite_version()", &f.version},
	} {
		if err := v.tx.QueryRowContext(v.ctx, q.text).Scan(q.into); err != nil {
			return err
		}
	}
	return f.check(v)
}

// check lets SQLite look at all pages.
func (f *facts) check(v *view) error {
	rows, err := v.tx.QueryContext(v.ctx, "PRAGMA quick_check(5)")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return err
		}
		if line != "ok" {
			f.problems = append(f.problems, line)
		}
	}
	return rows.Err()
}

// look asks the system, by path: opening and closing the file would take SQLite's locks
// away.
func (f *facts) look() error {
	info, err := os.Stat(f.path)
	if err != nil {
		return fmt.Errorf("%w: %w", checkpoint.ErrUnavailable, err)
	}
	f.mode = info.Mode().Perm()
	if info, err := os.Stat(f.path + "-wal"); err == nil {
		f.log = info.Size()
	}
	f.lies = groundOf(filepath.Dir(f.path))
	return nil
}

func (f *facts) integrity() checkpoint.Finding {
	if len(f.problems) == 0 {
		return checkpoint.Finding{Subject: "quick_check", Value: "ok", Cost: "the structure of every page is valid"}
	}
	return checkpoint.Finding{
		Severity: checkpoint.Danger, Subject: "quick_check", Value: strings.Join(f.problems, "; "),
		Cost:   "threads in the damaged pages cannot be read",
		Advice: "put back a copy, or save what can be read with the sqlite3 tool's .recover",
	}
}

func (f *facts) ground() checkpoint.Finding {
	g := checkpoint.Finding{Subject: "file system", Value: cmp.Or(f.lies.name, "unknown on "+runtime.GOOS)}
	switch {
	case f.lies.kind == network:
		g.Severity, g.Cost = checkpoint.Danger, "locks and shared memory fail on a network file system: two processes can corrupt the file"
		g.Advice = "move the file to a disk of this machine, or keep threads on a server"
	case f.lies.kind == maybe:
		g.Severity, g.Cost = checkpoint.Note, "its backing storage is unknown; on a network two processes can corrupt the file"
		g.Advice = "make sure that it is a disk of this machine"
	case f.lies.kind == ram:
		g.Severity, g.Cost, g.Advice = checkpoint.Warning, "all threads are lost when the machine stops", "move the file to a disk"
	case f.lies.kind == layer:
		g.Severity, g.Cost, g.Advice = checkpoint.Note, "in a container all threads are lost with it", "put the file on a volume"
	case f.lies.name == "":
		g.Severity, g.Cost, g.Advice = checkpoint.Note, "its kind is unknown; a network file system would be a danger", "make sure that it is a disk of this machine"
	default:
		g.Cost = "a local disk, as the system reports it"
	}
	return g
}

func (f *facts) durability() checkpoint.Finding {
	d := checkpoint.Finding{Subject: "journal_mode, synchronous", Value: fmt.Sprintf("%s, %d", f.journal, f.synchronous)}
	if strings.EqualFold(f.journal, "wal") && f.synchronous >= 2 {
		d.Cost = "an acknowledged commit survives a loss of power, if the disk honours fsync"
		return d
	}
	d.Severity, d.Cost = checkpoint.Danger, "an acknowledged commit can be lost when the machine stops"
	if strings.EqualFold(f.journal, "wal") && f.synchronous == 1 && f.sync == SyncNormal {
		d.Severity, d.Cost = checkpoint.Warning, "the last commits can be lost at a loss of power or when the machine stops; not when the process ends"
		d.Advice = "open the store without sync=normal (Config.Sync), unless its threads may go back"
		return d
	}
	d.Advice = "the file must be in WAL mode with synchronous=FULL, as this package opens it; find the program that changed it"
	return d
}

func (f *facts) rights() checkpoint.Finding {
	r := checkpoint.Finding{Subject: "permissions", Value: f.mode.String(), Cost: "only the owner can read the threads"}
	switch {
	case runtime.GOOS == "windows":
		r.Value, r.Cost = "those of the directory", "users who can read the directory can read the threads"
	case f.mode&0o022 != 0:
		r.Severity, r.Cost, r.Advice = checkpoint.Warning, "other users of this machine can change or delete the threads", "chmod 600, for the -wal and -shm files too"
	case f.mode&0o044 != 0:
		r.Severity, r.Cost, r.Advice = checkpoint.Note, "other users of this machine can read the threads", "chmod 600, unless they should"
	}
	return r
}

func (f *facts) room() checkpoint.Finding {
	size, free := f.pages*f.page, f.free*f.page
	r := checkpoint.Finding{Subject: "size", Value: fmt.Sprintf("%s, of which %s are free", bytesText(size), bytesText(free)), Cost: "later commits use the free space"}
	if free > 64<<20 && free > size/2 {
		r.Severity, r.Cost, r.Advice = checkpoint.Note, "more than half of the file is unused", "run VACUUM with the sqlite3 tool while no process writes, to return the space to the system"
	}
	return r
}

func (f *facts) wal() checkpoint.Finding {
	w := checkpoint.Finding{Subject: "log", Value: bytesText(f.log), Cost: "the -wal file is copied into the file regularly"}
	if f.log > bigLog {
		w.Severity, w.Cost = checkpoint.Warning, "the -wal file grows because a program reads an old state of the file, and reads get slower"
		w.Advice = "end the program that keeps a read transaction open"
	}
	return w
}

func (f *facts) library() checkpoint.Finding {
	return checkpoint.Finding{Subject: "version", Value: "SQLite " + f.version, Cost: "it is built into this program"}
}

func bytesText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d KiB", (n+1023)/1024)
}

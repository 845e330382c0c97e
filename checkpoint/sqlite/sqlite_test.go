package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/checkpointtest"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/internal/racescale"
)

func TestMain(m *testing.M) {
	checkpointtest.Worker(openAddress)
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(runChild(role))
	}
	racescale.Tries(100, 25)
	goleak.VerifyTestMain(m)
}

func TestStore(t *testing.T) {
	checkpointtest.RunFull(t, func(t testing.TB) checkpoint.Store { return openWatched(t) })
}

// watched is a store whose clock the test sets.
type watched struct {
	*sqlite.Store
	*watch
	path string
	t    testing.TB
}

func openWatched(t testing.TB) watched {
	t.Helper()
	w := &watch{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	path := filepath.Join(t.TempDir(), "threads.db")
	s, err := sqlite.OpenConfig(t.Context(), path, sqlite.Config{Now: w.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return watched{s, w, path, t}
}

// Values implements checkpointtest.Spoiler.
func (w watched) Values(thread string) (list []checkpointtest.Value, err error) {
	db, err := sql.Open("sqlite", w.path+"?_pragma=synchronous(0)&_pragma=busy_timeout(5000)")
	if err != nil {
		return nil, err
	}
	w.t.Cleanup(func() { db.Close() })
	rows, err := db.Query(`SELECT 'commits', 'header', rowid, header, '', '' FROM commits UNION ALL SELECT 'commits', 'refs', rowid, refs, '', '' FROM commits
		UNION ALL SELECT 'blobs', 'data', rowid, data, '', '' FROM blobs UNION ALL SELECT 'pending', 'data', 0, data, task, slot FROM pending`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var table, column, task, slot string
		var row int64
		var v checkpointtest.Value
		if err := rows.Scan(&table, &column, &row, &v.Data, &task, &slot); err != nil {
			return nil, err
		}
		v.Name = fmt.Sprint(table, ".", column, " ", row, task, slot)
		v.Set = func(data []byte) error {
			update := "UPDATE " + table + " SET " + column + " = ?1 WHERE rowid = ?2"
			if table == "pending" {
				update = "UPDATE pending SET data = ?1 WHERE task = ?3 AND slot = ?4 AND ?2 = 0"
			}
			_, err := db.Exec(update, append([]byte{}, data...), row, task, slot)
			return err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

// Damage implements checkpointtest.Damager, as another program would.
func (w watched) Damage(k checkpoint.Key, b checkpoint.Blob, change func([]byte) []byte) error {
	db, err := sql.Open("sqlite", w.path+"?_pragma=synchronous(0)&_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	defer db.Close()
	const where = " WHERE chain = (SELECT chain FROM head WHERE thread = ? AND ns = ?) AND field = ? AND base = ? AND chunk = ?"
	at := []any{k.Thread, k.Namespace, b.Field, int64(b.Base), b.Chunk}
	var data []byte
	if err := db.QueryRow("SELECT data FROM blobs"+where, at...).Scan(&data); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if data = change(data); data == nil {
		_, err = db.Exec("DELETE FROM blobs"+where, at...)
		return err
	}
	_, err = db.Exec(`INSERT INTO blobs (chain, field, base, chunk, data) SELECT chain, ?3, ?4, ?5, ?6 FROM head WHERE thread = ?1 AND ns = ?2
		ON CONFLICT DO UPDATE SET data = excluded.data`, append(at, data)...)
	return err
}

// watch is a clock that changes only by Advance.
type watch struct {
	mu  sync.Mutex
	now time.Time
}

func (w *watch) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *watch) Advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func openAddress(ctx context.Context, path string) (checkpoint.Store, error) {
	return sqlite.Open(ctx, path)
}

// Requirement: a commit is atomic and moves the head by compare-and-set
// Requirement: what was acknowledged survives the death of the process
// Requirement: many processes may use it at once
// Requirement: a worker is killed
// Requirement: two processes want one thread
func TestProcesses(t *testing.T) {
	checkpointtest.RunProcesses(t, filepath.Join(t.TempDir(), "threads.db"), openAddress)
}

func TestStore_IsDurable(t *testing.T) { checkpointtest.RunDurable(t, open) }

func BenchmarkStore(b *testing.B) {
	checkpointtest.Bench(b, func(t testing.TB) checkpoint.Store { return open(t, t.TempDir()) })
}

// BenchmarkCommitBesideSync compares a commit with an append to a file on the same disk and
// an fsync of its own.
func BenchmarkCommitBesideSync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "plain"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	checkpointtest.BenchBeside(b, func(t testing.TB) checkpoint.Store { return open(t, t.TempDir()) },
		func(_ int, data []byte) error {
			_, err := f.Write(data)
			return errors.Join(err, f.Sync())
		})
}

func open(t testing.TB, dir string) checkpoint.Store {
	t.Helper()
	return mustOpen(t, filepath.Join(dir, "threads.db"))
}

func mustOpen(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatalf("rule: a file that is ours, or not there, can be opened\n got: %v\nwant: no error", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestOpen_MakesAFileForItsOwnerOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "er", "odd ?#%20&=;'name.db")
	s := mustOpen(t, path)
	if err := s.Commit(t.Context(), link("thread", 1, "id")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{
		path: 0o600, path + "-wal": 0o600, filepath.Dir(path): os.ModeDir | 0o700, filepath.Dir(filepath.Dir(path)): os.ModeDir | 0o700,
	} {
		info, err := os.Stat(name)
		if err != nil {
			t.Errorf("rule: the file has exactly the name it was given\n got: %v\nwant: %s", err, name)
			continue
		}
		if info.Mode() != want {
			t.Errorf("rule: only the owner can read checkpoints\n got: %v %s\nwant: %v", info.Mode(), name, want)
		}
	}
}

func TestClose_MovesTheLogIntoTheFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if err := errors.Join(s.Commit(t.Context(), link("thread", 1, "id")), s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Errorf("rule: a file that no process uses is one file\n got: %v, error %v\nwant: threads.db", files, err)
	}
}

func TestOpen_ManyCreateOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "threads.db")
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			s, err := sqlite.Open(t.Context(), path)
			if err != nil {
				t.Errorf("rule: several stores may create a file at once\n got: %v\nwant: no error", err)
				return
			}
			defer s.Close()
			if err := s.Commit(t.Context(), link(fmt.Sprint("thread ", n), 1, "id")); err != nil {
				t.Errorf("rule: each store that opened a new file can write\n got: %v\nwant: no error", err)
			}
		})
	}
	wg.Wait()
	for n := range 8 {
		if _, err := mustOpen(t, path).Load(t.Context(), checkpoint.Key{Thread: fmt.Sprint("thread ", n)}, 0); err != nil {
			t.Errorf("rule: no store replaces the tables of another\n got: %v\nwant: no error", err)
		}
	}
}

func TestStores_ShareOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	stores := []*sqlite.Store{mustOpen(t, path), mustOpen(t, path)}
	acked := make([][]ack, len(stores))
	var wg sync.WaitGroup
	for i, s := range stores {
		wg.Go(func() {
			err := appendLinks(t.Context(), s, "shared", fmt.Sprint("store ", i), 60, func(a ack) { acked[i] = append(acked[i], a) })
			if err != nil {
				t.Errorf("rule: a writer loses only to another writer\n got: %v\nwant: nothing but conflicts", err)
			}
		})
	}
	wg.Wait()
	checkChain(t, stores[0], "shared", append(acked[0], acked[1]...))
	if head := headOf(t, stores[1], "shared"); head != 120 {
		t.Errorf("rule: a store sees what another one wrote\n got: head %d\nwant: 120", head)
	}
}

// link returns commit seq of a thread with one field.
func link(thread string, seq uint64, id string) checkpoint.Commit {
	return checkpoint.Commit{
		Key: checkpoint.Key{Thread: thread}, ID: id, Head: seq - 1, Header: []byte("header of " + id),
		Refs:  []checkpoint.Ref{{Field: "value", Base: seq}},
		Blobs: []checkpoint.Blob{{Field: "value", Base: seq, Data: []byte("value of " + id)}},
	}
}

func headOf(t testing.TB, s checkpoint.Store, thread string) uint64 {
	t.Helper()
	snap, err := s.Load(t.Context(), checkpoint.Key{Thread: thread}, 0)
	if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		t.Fatal(err)
	}
	return snap.Head
}

// checkChain checks that the chain has no gaps and has every commit of acked.
func checkChain(t testing.TB, s checkpoint.Store, thread string, acked []ack) {
	t.Helper()
	k := checkpoint.Key{Thread: thread}
	want := headOf(t, s, thread)
	ids := map[uint64]string{}
	for snap, err := range s.History(t.Context(), k, checkpoint.Query{}) {
		if err != nil || snap.Seq != want {
			t.Fatalf("rule: a chain has no gaps\n got: commit %d, error %v\nwant: commit %d", snap.Seq, err, want)
		}
		if full, err := s.Load(t.Context(), k, snap.Seq); err != nil || string(full.Blobs[0].Data) != "value of "+snap.ID {
			t.Errorf("rule: a commit is whole\n got: %v, error %v\nwant: the value of %q", full.Blobs, err, snap.ID)
		}
		ids[snap.Seq] = snap.ID
		want--
	}
	for _, a := range acked {
		if ids[a.Seq] != a.ID {
			t.Errorf("rule: a commit that was acknowledged is there\n got: %q at %d of %q\nwant: %q", ids[a.Seq], a.Seq, thread, a.ID)
		}
	}
}

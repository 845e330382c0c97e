package blob_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/blob"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/servertest"
)

// mortal is a process that dies at a write: before it, or after it before the reply.
type mortal struct {
	left  int
	after bool
}

func (m *mortal) write(f func() error) error {
	m.left--
	switch {
	case m.left > 0:
		return f()
	case m.left == 0 && m.after:
		_ = f()
	}
	return errDied
}

type mortalStore struct {
	checkpoint.Store
	*mortal
}

func (s mortalStore) Commit(ctx context.Context, c checkpoint.Commit) error {
	return s.write(func() error { return s.Store.Commit(ctx, c) })
}

func (s mortalStore) Put(ctx context.Context, p checkpoint.Pending) error {
	return s.write(func() error { return s.Store.Put(ctx, p) })
}

func (s mortalStore) Drop(ctx context.Context, d checkpoint.Drop) error {
	return s.write(func() error { return s.Store.(checkpoint.Dropper).Drop(ctx, d) })
}

type mortalTable struct {
	blob.Table
	*mortal
}

func (t mortalTable) Stage(ctx context.Context, upload string, n int, data []byte) error {
	return t.write(func() error { return t.Table.Stage(ctx, upload, n, data) })
}

func (t mortalTable) Finish(ctx context.Context, upload string, b blob.Stat, c blob.Claim) error {
	return t.write(func() error { return t.Table.Finish(ctx, upload, b, c) })
}

func (t mortalTable) Claim(ctx context.Context, owner string, hashes []string, at time.Time) (missing []string, err error) {
	err = t.write(func() (err error) { missing, err = t.Table.Claim(ctx, owner, hashes, at); return err })
	return missing, err
}

func (t mortalTable) Release(ctx context.Context, owner string, hashes []string, before, now time.Time) (f blob.Freed, err error) {
	err = t.write(func() (err error) { f, err = t.Table.Release(ctx, owner, hashes, before, now); return err })
	return f, err
}

// TestThread_KilledAtEachWrite runs two turns and a pruning in a process that dies at each write to
// the threads or the blobs, on each store; with -short at one of three, except in memory. Each
// commit that is stored has its blobs, and the next process ends the work.
//
// Requirement: blobs survive a crash at any write
func TestThread_KilledAtEachWrite(t *testing.T) {
	for name, open := range map[string]func(*testing.T) func(*testing.T) (checkpoint.Store, *blob.Store){
		"memory": func(*testing.T) func(*testing.T) (checkpoint.Store, *blob.Store) {
			return func(*testing.T) (checkpoint.Store, *blob.Store) {
				return new(checkpoint.Memory), blob.Over(new(blob.Map))
			}
		},
		"sqlite": func(*testing.T) func(*testing.T) (checkpoint.Store, *blob.Store) {
			return func(t *testing.T) (checkpoint.Store, *blob.Store) {
				s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "weft.db"))
				return withBlobs(t, s, err)
			}
		},
		"redis": func(t *testing.T) func(*testing.T) (checkpoint.Store, *blob.Store) {
			address, used := servertest.Redis(t, "--databases", "1000"), 0
			return func(t *testing.T) (checkpoint.Store, *blob.Store) {
				used++
				s, err := redis.OpenURL(t.Context(), fmt.Sprint(address, "/", used))
				return withBlobs(t, s, err)
			}
		},
		"postgres": func(t *testing.T) func(*testing.T) (checkpoint.Store, *blob.Store) {
			address, used := servertest.Postgres(t), 0
			return func(t *testing.T) (checkpoint.Store, *blob.Store) {
				used++
				s, err := postgres.Open(t.Context(), address, postgres.Config{Schema: fmt.Sprint("weft", used), RetryFor: time.Minute})
				return withBlobs(t, s, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fresh, stride := open(t), 1
			if testing.Short() && name != "memory" {
				stride = 3
			}
			for n := 1; ; n += stride {
				died := false
				for _, after := range []bool{false, true} {
					threads, blobs := fresh(t)
					died = threadKilledAt(t, newPlaceOn(t, threads, blob.TableOf(blobs), checkpoint.BlobOptions{Above: 300}, nil), n, after) || died
					if err := threads.Close(); err != nil {
						t.Error(err)
					}
				}
				if !died {
					if n < 8 {
						t.Errorf("rule: the test kills at each write\n got: fewer than %d writes", n)
					}
					return
				}
			}
		})
	}
}

// withBlobs returns a store that was opened, and its blobs.
func withBlobs(t *testing.T, s interface {
	checkpoint.Store
	Blobs(context.Context) (*blob.Store, error)
}, err error) (checkpoint.Store, *blob.Store) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := s.Blobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s, blobs
}

// threadKilledAt lets a process die at its write n, and another one end the work. It returns false
// if the process makes fewer writes.
func threadKilledAt(t *testing.T, p *place, n int, after bool) (died bool) {
	turn(t, newAlbum(t, p.store), "t")
	p.now = p.now.Add(48 * time.Hour)
	m := &mortal{left: n, after: after}
	blobs := blob.Over(mortalTable{p.table, m})
	blobs.Now = func() time.Time { return p.now }
	store, err := checkpoint.WithBlobs(mortalStore{p.threads, m}, blobs, checkpoint.BlobOptions{Above: 300})
	if err != nil {
		t.Fatal(err)
	}
	_, err = newAlbum(t, store).Invoke(t.Context(), album{}, graph.RunOptions{Thread: "t"})
	if err == nil {
		p.now = p.now.Add(48 * time.Hour)
		err = checkpoint.Prune(t.Context(), store, "t", checkpoint.Keep{Last: 1})
	}
	died = err != nil
	if died && !errors.Is(err, errDied) {
		t.Fatalf("a death at write %d (after it: %v): %v", n, after, err)
	}
	// The next process.
	g := newAlbum(t, p.store)
	if _, err := g.Resume(t.Context(), graph.Answers{}, graph.RunOptions{Thread: "t"}); err != nil {
		t.Fatalf("a death at write %d (after it: %v): %v", n, after, err)
	}
	a := stateOf(t, p.store, "t")
	wantAlbum(t, p.blobs, a, a.Turns.Get())
	p.now = p.now.Add(48 * time.Hour)
	if err := checkpoint.Prune(t.Context(), p.store, "t", checkpoint.Keep{Last: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := blob.Collect(t.Context(), p.store, p.blobs, 0); err != nil {
		t.Fatal(err)
	}
	wantAlbum(t, p.blobs, a, a.Turns.Get())
	if got, want := len(p.hashes(t, "t")), 2+a.Turns.Get(); got != want {
		t.Errorf("rule: after a death at write %d (after it: %v) a collection leaves what is used\n got: %d blobs, want %d", n, after, got, want)
	}
	return died
}

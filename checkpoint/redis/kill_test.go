package redis_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/redis"
)

// TestServer_Killed kills the server under writers, again and again. With a sync before
// each reply what was acknowledged is there. With any other setting the newest commits may
// be gone; what is left is an earlier moment, whole, and the writer goes on from it.
//
// Requirement: what was acknowledged survives the death of the process
// Requirement: what was acknowledged survives the loss of power
// Requirement: the server is killed
// Requirement: power loss
func TestServer_Killed(t *testing.T) {
	for _, c := range []struct {
		policy string
		cut    bool // also the end of the log, as a power cut could
	}{{"always", false}, {"everysec", false}, {"no", false}, {"no", true}} {
		name := c.policy
		if c.cut {
			name += ", and the end of the log is gone"
		}
		t.Run(name, func(t *testing.T) { killUnderWriters(t, c.policy, c.cut) })
	}
}

func killUnderWriters(t *testing.T, policy string, cut bool) {
	kills := fewer(2, 3, 200)
	s := start(t, "--appendonly", "yes", "--appendfsync", policy, "--auto-aof-rewrite-percentage", "0")
	store := storeOf(t, s.client(t), redis.Config{RetryFor: time.Minute})
	list := startWriters(t, store, 8)
	for range kills {
		list.wait(t, 50+rand.Int64N(200))
		s.kill()
		if cut {
			cutLog(t, s.dir, rand.Int64N(4000))
		}
		if err := s.run(); err != nil {
			t.Error(err)
			break
		}
	}
	list.end(t, store)
	lost := list.lost.Load()
	if policy == "always" && lost > 0 {
		t.Errorf("rule: with appendfsync always nothing acknowledged is lost\n got: %d commits lost", lost)
	}
	if cut && lost == 0 {
		t.Error("the log was cut and nothing was lost: the test has cut nothing")
	}
	t.Logf("appendfsync %s: %d kills, %d commits acknowledged, %d of them lost", policy, kills, list.acked.Load(), lost)
}

// cutLog takes n bytes from the end of a server's log.
func cutLog(t testing.TB, dir string, n int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the server's log: %v, %v", files, err)
	}
	info, err := os.Stat(files[0])
	if err == nil {
		err = os.Truncate(files[0], max(info.Size()-n, 0))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// writers append to threads of their own and know what is in them. One whose thread went
// back to an earlier commit goes on from there.
type writers struct {
	stop        atomic.Bool
	acked, lost atomic.Int64
	chains      [][]string // the ids of each thread's commits; read after end
	wg          sync.WaitGroup
}

func startWriters(t testing.TB, store checkpoint.Store, n int) *writers {
	w := &writers{chains: make([][]string, n)}
	for i := range n {
		w.wg.Go(func() {
			if err := w.write(store, i); err != nil {
				t.Errorf("rule: a writer outlives its server, and a thread that went back is its own past, whole\n got: %v", err)
			}
		})
	}
	return w
}

// wait waits for n more commits.
func (w *writers) wait(t testing.TB, n int64) {
	t.Helper()
	enough := w.acked.Load() + n
	waitFor(t, "writers go on", func() bool { return w.acked.Load() >= enough || t.Failed() })
}

func (w *writers) write(store checkpoint.Store, i int) error {
	thread := fmt.Sprint("thread ", i)
	var ids []string
	defer func() { w.chains[i] = ids }()
	for n := 0; ; n++ {
		last := w.stop.Load() // one more, to learn what the last kill cost
		id := fmt.Sprintf("%d.%d", i, n)
		err := store.Commit(context.Background(), link(thread, uint64(len(ids))+1, id))
		var back *checkpoint.ConflictError
		switch {
		case err == nil:
			ids = append(ids, id)
			w.acked.Add(1)
			if last {
				return nil
			}
		case errors.As(err, &back) && back.Head < uint64(len(ids)):
			w.lost.Add(int64(len(ids)) - int64(back.Head))
			ids = ids[:back.Head]
			if err := isWhole(store, thread, ids); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// isWhole demands that a thread is exactly these commits at its head.
func isWhole(store checkpoint.Store, thread string, ids []string) error {
	snap, err := store.Load(context.Background(), checkpoint.Key{Thread: thread}, 0)
	switch {
	case len(ids) == 0 && errors.Is(err, checkpoint.ErrNotFound):
		return nil
	case err != nil:
		return err
	case snap.Seq != uint64(len(ids)) || snap.ID != ids[len(ids)-1] || string(snap.Blobs[0].Data) != "value of "+snap.ID || string(snap.Header) != "header of "+snap.ID:
		return fmt.Errorf("commit %d of %q is %q with %d blobs; want commit %d", snap.Seq, thread, snap.ID, len(snap.Blobs), len(ids))
	}
	return nil
}

// end stops the writers and demands that every thread is what its writer knows.
func (w *writers) end(t testing.TB, store checkpoint.Store) {
	t.Helper()
	w.stop.Store(true)
	w.wg.Wait()
	for i, ids := range w.chains {
		thread := fmt.Sprint("thread ", i)
		checkChain(t, store, thread, uint64(len(ids)))
		for n, id := range ids {
			snap, err := store.Load(t.Context(), checkpoint.Key{Thread: thread}, uint64(n+1))
			if err != nil || snap.ID != id || string(snap.Blobs[0].Data) != "value of "+id {
				t.Fatalf("rule: each commit is there once, as a whole\n got: commit %d of %q is %q, error %v\nwant: %q", n+1, thread, snap.ID, err, id)
			}
		}
	}
}

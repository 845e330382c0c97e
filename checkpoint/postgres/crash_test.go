package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/internal/racescale"
)

// writers append, each to its own thread, until stop is set. A writer repeats a commit with an
// unknown outcome, and counts acknowledged commits.
type writers struct {
	store checkpoint.Store
	stop  atomic.Bool
	acked chan struct{} // gets one for each commit
	heads []uint64      // by writer; read after wait
	errs  []error
	wg    sync.WaitGroup
}

func startWriters(s checkpoint.Store, n int) *writers {
	w := &writers{store: s, acked: make(chan struct{}, 1), heads: make([]uint64, n), errs: make([]error, n)}
	for i := range n {
		w.wg.Go(func() { w.heads[i], w.errs[i] = w.write(i) })
	}
	return w
}

func writerKey(i int) checkpoint.Key { return checkpoint.Key{Thread: fmt.Sprint("writer ", i)} }

func (w *writers) write(i int) (head uint64, err error) {
	for !w.stop.Load() {
		err := w.store.Commit(context.Background(), link(writerKey(i), head+1))
		switch {
		case err == nil:
			head++
			select {
			case w.acked <- struct{}{}:
			default:
			}
		case !errors.Is(err, checkpoint.ErrUnknownOutcome) && !errors.Is(err, checkpoint.ErrUnavailable):
			return head, fmt.Errorf("commit %d: %w", head+1, err)
		}
	}
	return head, nil
}

// wait waits for n more commits.
func (w *writers) wait(n int) {
	for range n {
		<-w.acked
	}
}

// check stops the writers and demands that each chain is exactly what was acknowledged,
// whole; only its last commit may be one more, whose reply never came.
func (w *writers) check(t *testing.T) {
	t.Helper()
	w.stop.Store(true)
	w.wg.Wait()
	total := uint64(0)
	for i, head := range w.heads {
		total += head
		if w.errs[i] != nil {
			t.Errorf("rule: a writer that repeats what it does not know is never refused\n got: writer %d: %v\nwant: no error", i, w.errs[i])
		}
		snap, err := w.store.Load(t.Context(), writerKey(i), 0)
		if head == 0 && errors.Is(err, checkpoint.ErrNotFound) {
			continue
		}
		if err != nil {
			t.Errorf("rule: what was acknowledged is there, whole\n got: writer %d: %v", i, err)
			continue
		}
		if snap.Seq != head && snap.Seq != head+1 || uint64(len(snap.Blobs)) != snap.Seq {
			t.Errorf("rule: a chain is what was acknowledged\n got: writer %d: head %d with %d blobs\nwant: %d", i, snap.Seq, len(snap.Blobs), head)
		}
		want := snap.Seq
		for snap, err := range w.store.History(t.Context(), writerKey(i), checkpoint.Query{}) {
			if err != nil || snap.Seq != want || snap.ID != link(writerKey(i), want).ID {
				t.Fatalf("rule: every commit is there once\n got: writer %d: %d %q, %v\nwant: %d", i, snap.Seq, snap.ID, err, want)
			}
			want--
		}
	}
	t.Logf("%d commits acknowledged", total)
}

// Requirement: what was acknowledged survives the death of the process
// Requirement: the server is killed
func TestKilledServer_LosesNothingAcknowledged(t *testing.T) {
	s := extraServer(t)
	w := startWriters(open(t, s.dsn("pool_max_conns=8"), postgres.Config{RetryFor: 30 * time.Second}), 8)
	for range racescale.Soak(2, 100) {
		w.wait(50)
		s.end(syscall.SIGKILL)
		if err := s.start(); err != nil {
			t.Fatal(err)
		}
	}
	w.wait(50)
	w.check(t)
}

// Requirement: a connection is cut, a reply is lost
func TestCutConnections_CommitExactlyOnce(t *testing.T) {
	p := newProxy(t, cluster)
	w := startWriters(open(t, p.dsn("pool_max_conns=4"), postgres.Config{RetryFor: 30 * time.Second}), 4)
	w.wait(10)
	p.chance.Store(30)
	w.wait(racescale.Soak(500, 20000))
	p.chance.Store(0)
	w.check(t)
	if p.cuts.Load() == 0 {
		t.Error("the proxy never cut a connection")
	}
	t.Logf("%d cuts", p.cuts.Load())
}

// TestOutcome_UnknownIfTheServerIsGone cuts the reply to a commit and then every
// connection, so that the store cannot find out.
//
// Requirement: a network partition, and its end
// Requirement: ErrUnknownOutcome: repeating the commit decides the outcome
func TestOutcome_UnknownIfTheServerIsGone(t *testing.T) {
	p := newProxy(t, cluster)
	s := open(t, p.dsn("pool_max_conns=1"), postgres.Config{RetryFor: 2 * time.Second})
	k := checkpoint.Key{Thread: "thread"}
	if err := s.Commit(t.Context(), link(k, 1)); err != nil {
		t.Fatal(err)
	}
	p.chance.Store(1000)
	err := s.Commit(t.Context(), link(k, 2))
	if !errors.Is(err, checkpoint.ErrUnknownOutcome) || !errors.Is(err, checkpoint.ErrUnavailable) {
		t.Errorf("rule: a write that was cut off and cannot be repeated has an unknown outcome\n got: %v", err)
	}
	if _, err := s.Load(t.Context(), k, 0); !errors.Is(err, checkpoint.ErrUnavailable) || errors.Is(err, checkpoint.ErrUnknownOutcome) {
		t.Errorf("rule: a read that was cut off has no outcome to wonder about\n got: %v\nwant: ErrUnavailable alone", err)
	}
	p.chance.Store(0)
	if err := s.Commit(t.Context(), link(k, 2)); err != nil {
		t.Errorf("rule: the same commit again settles it\n got: %v", err)
	}
}

// Requirement: a context ends during a write
// Requirement: ErrUnknownOutcome: repeating the commit decides the outcome
func TestCommit_CancelledIsUnknownOrDone(t *testing.T) {
	s := open(t, cluster.dsn("pool_max_conns=4"), postgres.Config{})
	k := checkpoint.Key{Thread: "thread"}
	for seq := uint64(1); seq <= uint64(racescale.Soak(100, 10000)); seq++ {
		ctx, cancel := context.WithCancel(t.Context())
		if seq%2 == 0 {
			go cancel()
		} else {
			time.AfterFunc(time.Duration(seq*7%400)*time.Microsecond, cancel)
		}
		err := s.Commit(ctx, link(k, seq))
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("rule: a call whose context ends returns the context's error\n got: %v", err)
		}
		if err := s.Commit(t.Context(), link(k, seq)); err != nil {
			t.Fatalf("rule: the same commit again settles it\n got: commit %d: %v", seq, err)
		}
	}
}

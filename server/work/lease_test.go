package work_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/server/queue"
)

// leases is a store that counts the renewals of leases, and may leave them without a reply.
type leases struct {
	*checkpoint.Memory
	renewals atomic.Int64
	silent   atomic.Bool
}

func (l *leases) Acquire(ctx context.Context, r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
	if r.Fence == "" {
		return l.Memory.Acquire(ctx, r)
	}
	l.renewals.Add(1)
	if l.silent.Load() {
		<-ctx.Done()
		return checkpoint.Lease{}, ctx.Err()
	}
	return l.Memory.Acquire(ctx, r)
}

// The claim renews the lease of a run, and the run does not. Of two, one could lose it alone.
func TestWorker_RenewsALeaseOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leases{Memory: new(checkpoint.Memory)}
		s := newSiteOn(t, l)
		q, end := s.process(t)
		defer end()
		create(t, q, "r1", queue.Enqueue)
		s.begins(t, "first")
		s.begins(t, "slow")
		time.Sleep(3*time.Second + time.Millisecond)
		if n := l.renewals.Load(); n != 6 { // each half second
			t.Errorf("the lease was renewed %d times in 3 seconds, want 6", n)
		}
		s.stays <- struct{}{}
		ended(t, q, "r1", queue.Success)
	})
}

// A store that does not reply for longer than the lease is no failure of the run: it begins again.
func TestWorker_StoreThatIsSilentForTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leases{Memory: new(checkpoint.Memory)}
		s := newSiteOn(t, l)
		s.warns = true
		q, end := s.process(t)
		defer end()
		create(t, q, "r1", queue.Enqueue)
		s.begins(t, "first")
		s.begins(t, "slow")
		l.silent.Store(true)
		time.Sleep(2 * time.Second)
		l.silent.Store(false)
		s.begins(t, "slow")
		s.stays <- struct{}{}
		if r := ended(t, q, "r1", queue.Success); r.Attempt != 2 {
			t.Errorf("the attempt is %d, want 2", r.Attempt)
		}
	})
}

// A run whose thread was taken over has not failed, even if the worker has not noticed yet: it goes
// on when the thread is free.
func TestWorker_ThreadThatWasTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		s.warns = true
		q, end := s.process(t)
		defer end()
		create(t, q, "r1", queue.Enqueue)
		s.begins(t, "first")
		s.begins(t, "slow")
		held, err := checkpoint.Hold(t.Context(), s.store, "t1", checkpoint.HoldOptions{Policy: checkpoint.TakeOver})
		if err != nil {
			t.Fatal(err)
		}
		s.stays <- struct{}{} // the commit is refused
		synctest.Wait()
		if r, err := q.Get(t.Context(), "t1", "r1"); err != nil || r.Status != queue.Running {
			t.Errorf("the run is %q with error %v, want running", r.Status, err)
		}
		if err := held.Release(t.Context()); err != nil {
			t.Error(err)
		}
		s.begins(t, "slow")
		s.stays <- struct{}{}
		if r := ended(t, q, "r1", queue.Success); r.Attempt != 2 {
			t.Errorf("the attempt is %d, want 2", r.Attempt)
		}
	})
}

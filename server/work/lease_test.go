package work_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/queue"
)

// leases is a store that counts the renewals of leases, and may leave them without a reply.
type leases struct {
	*checkpoint.Memory
	renewals atomic.Int64
	silent   atomic.Bool
	away     atomic.Int64 // how many commits fail, as after a call that was given up
	error    error        // with what; nil means ErrUnavailable
}

func (l *leases) Commit(ctx context.Context, c checkpoint.Commit) error {
	if l.away.Add(-1) >= 0 {
		return fmt.Errorf("%w: a test", cmp.Or(l.error, checkpoint.ErrUnavailable))
	}
	return l.Memory.Commit(ctx, c)
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

// A store that gave up a call while the claim lived is no failure of the run either.
func TestWorker_StoreThatWasAway(t *testing.T) {
	for _, c := range []struct {
		error      error
		engine     bool // a claim of its own, and a graph of this process
		durability graph.Durability
	}{
		{error: checkpoint.ErrUnavailable}, {error: checkpoint.ErrUnavailable, engine: true}, {error: checkpoint.ErrBusy},
		{error: checkpoint.ErrUnknownOutcome}, {error: checkpoint.ErrUnavailable, durability: graph.Async},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &leases{Memory: new(checkpoint.Memory), error: c.error}
			s := newSiteOn(t, l)
			s.warns, s.engine, s.host.options.Durability = true, c.engine, c.durability
			q, end := s.process(t)
			defer end()
			create(t, q, "r1", queue.Enqueue)
			s.begins(t, "first")
			s.begins(t, "slow")
			synctest.Wait() // the commit of "first" may still be on its way
			l.away.Store(1)
			go func() {
				for range 2 { // its first commit fails
					s.stays <- struct{}{}
				}
			}()
			if r := ended(t, q, "r1", queue.Success); r.Attempt != 2 {
				t.Errorf("the attempt is %d, want 2", r.Attempt)
			}
			if got := s.state(t); len(got) != 3 {
				t.Errorf("the nodes were %v, want three", got)
			}
		})
	}
}

// A run whose store stays away is begun three times, and then fails with what the store answered.
func TestWorker_StoreThatStaysAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leases{Memory: new(checkpoint.Memory)}
		s := newSiteOn(t, l)
		s.warns = true
		l.away.Store(1000)
		q, end := s.process(t)
		defer end()
		create(t, q, "r1", queue.Enqueue)
		r := ended(t, q, "r1", queue.Failed)
		if r.Attempt != 3 || !strings.Contains(r.Error.Message, checkpoint.ErrUnavailable.Error()) {
			t.Errorf("the run failed in attempt %d with %+v, want the error of the store in attempt 3", r.Attempt, r.Error)
		}
	})
}

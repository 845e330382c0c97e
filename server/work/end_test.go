package work_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/server/queue"
)

// endless is a document store that refuses the ends of runs for a while.
type endless struct {
	document.Store
	away atomic.Int64 // how many ends it refuses
}

func (d *endless) Batch(ctx context.Context, p document.Place, changes []document.Change) ([]document.Doc, error) {
	for _, c := range changes {
		if strings.Contains(string(c.Value), `"status":"success"`) && d.away.Add(-1) >= 0 {
			return nil, fmt.Errorf("%w: a test", checkpoint.ErrUnavailable)
		}
	}
	return d.Store.Batch(ctx, p, changes)
}

// finishing returns a site whose run r1 has come to its last node.
func finishing(t *testing.T, store checkpoint.Store) (s *site, docs *endless, q *queue.Queue, end func()) {
	s = newSiteOn(t, store)
	docs = &endless{Store: s.docs}
	s.docs, s.warns = docs, true
	q, end = s.process(t)
	create(t, q, "r1", queue.Enqueue)
	s.begins(t, "first")
	s.begins(t, "slow")
	return s, docs, q, end
}

// fails sets how many calls of Ended fail, and returns how many were left of those before.
func (h *host) fails(n int) (left int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	left, h.away = h.away, n
	return left
}

func TestWorker_StoreThatIsAwayAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, docs, q, end := finishing(t, new(checkpoint.Memory))
		defer end()
		s.host.fails(5)
		docs.away.Store(5)
		s.stays <- struct{}{}
		s.begins(t, "last")
		r := ended(t, q, "r1", queue.Success)
		if r.Attempt != 1 || len(s.runs) != 0 || len(s.host.ended) != 1 || docs.away.Load() >= 0 {
			t.Errorf("the run has ended in attempt %d, after %d more nodes and as %v; want one attempt and one end", r.Attempt, len(s.runs), s.host.ended)
		}
		create(t, q, "r2", queue.Enqueue) // the lease was released
		s.begins(t, "first")
		close(s.stays)
		ended(t, q, "r2", queue.Success)
	})
}

func TestWorker_LosesItsClaimAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leases{Memory: new(checkpoint.Memory)}
		s, _, q, end := finishing(t, l)
		defer end()
		s.host.fails(1000)
		s.stays <- struct{}{}
		s.begins(t, "last")
		l.silent.Store(true)
		time.Sleep(queue.DefaultLease + queue.DefaultLease/3)
		l.silent.Store(false)
		if left := s.host.fails(0); left < 990 {
			t.Errorf("Ended was called %d times in a lease, want a pause between the calls", 1000-left)
		}
		if r := ended(t, q, "r1", queue.Success); r.Attempt < 2 || len(s.host.ended) != 1 {
			t.Errorf("the run has ended in attempt %d as %v, want another attempt, and one end", r.Attempt, s.host.ended)
		}
	})
}

func TestWorker_StopsWhileItsStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, q, end := finishing(t, new(checkpoint.Memory))
		s.host.fails(1000)
		s.stays <- struct{}{}
		s.begins(t, "last")
		began := time.Now()
		end()
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("the worker has stopped after %v, want the time of Drain", took)
		}
		if r, err := q.Get(t.Context(), "t1", "r1"); err != nil || r.Status != queue.Running {
			t.Errorf("the run is %s with error %v, want that another process ends it", r.Status, err)
		}
	})
}

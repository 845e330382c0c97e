package brief_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/internal/brief"
)

type key struct{}

func TestContext_EndsAtItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pool brief.Pool
		parent, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "value"), time.Minute)
		defer cancel()
		for range 3 { // the second one may be the first one again
			c := pool.New(parent, time.Second)
			if end, ok := c.Deadline(); !ok || time.Until(end) != time.Second || c.Value(key{}) != "value" || c.Err() != nil {
				t.Errorf("got the deadline %v, the value %v, error %v", end, c.Value(key{}), c.Err())
			}
			c.End()
		}
		c := pool.New(parent, time.Hour)
		if end, _ := c.Deadline(); time.Until(end) != time.Minute {
			t.Errorf("rule: the deadline of the parent is seen\n got: %v", time.Until(end))
		}
		late := pool.New(parent, time.Second)
		<-late.Done()
		if err := late.Err(); err != brief.ErrTimeout || !errors.Is(err, context.DeadlineExceeded) || c.Err() != nil {
			t.Errorf("got %v and %v, want %v and no error", err, c.Err(), brief.ErrTimeout)
		}
		late.End()
		if again := pool.New(parent, time.Second); again.Err() != nil {
			t.Errorf("rule: a context that has ended is not used again\n got: %v", again.Err())
		} else {
			again.End()
		}
		c.End()
	})
}

func TestPool_ReusesContexts(t *testing.T) {
	var pool brief.Pool
	ctx := t.Context()
	pool.New(ctx, time.Minute).End()
	// The race detector lets a sync.Pool drop some.
	if n := testing.AllocsPerRun(1000, func() { pool.New(ctx, time.Minute).End() }); n > 2 {
		t.Errorf("rule: a context that is ended in time is used again, where a new one costs 4 allocations\n got: %v", n)
	}
}

// lateTimer is a context whose deadline has passed, but whose timer has not run.
type lateTimer struct{ context.Context }

func (lateTimer) Deadline() (time.Time, bool) { return time.Now().Add(-time.Second), true }

func TestEnded_DeadlinePassedBeforeTheTimer(t *testing.T) {
	if err := brief.Ended(lateTimer{t.Context()}); err != context.DeadlineExceeded {
		t.Errorf("a passed deadline gives %v, want DeadlineExceeded", err)
	}
	later, cancel := context.WithTimeout(t.Context(), time.Hour)
	if err := brief.Ended(later); err != nil {
		t.Errorf("a deadline in an hour gives %v, want nil", err)
	}
	cancel()
	if err := brief.Ended(later); err != context.Canceled {
		t.Errorf("a cancelled context gives %v, want Canceled", err)
	}
}

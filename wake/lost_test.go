package wake_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/wake"
)

// losing is a store that refuses some renewals of leases.
type losing struct {
	*checkpoint.Memory
	refuses atomic.Int32
}

func (l *losing) Acquire(ctx context.Context, r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
	if r.Fence != "" && l.refuses.Add(-1) >= 0 {
		return checkpoint.Lease{}, checkpoint.ErrFenced
	}
	return l.Memory.Acquire(ctx, r)
}

// newLosingFixture is a fixture in a bubble, on a store that refuses renewals.
func newLosingFixture(t *testing.T, node func(context.Context, *log) error) (*fixture, *losing) {
	f, l := newFixture(t, node), &losing{Memory: new(checkpoint.Memory)}
	f.store, f.config.Store, f.config.Now = l, l, time.Now
	f.compile(oneNode(node), graph.Retry{})
	return f, l
}

// onceNow does what is due.
func (f *fixture) onceNow(want wake.Report) {
	f.t.Helper()
	if got, err := wake.Once(f.t.Context(), f.config); err != nil || got != want {
		f.t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

// A waker that loses the lease of a thread while its run goes on begins the run again at once.
func TestOnce_LosesTheLeaseOfARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		f, l := newLosingFixture(t, func(ctx context.Context, s *log) error {
			if err := graph.Sleep(ctx, "", time.Hour); err != nil {
				return err
			}
			if runs++; runs == 1 {
				<-ctx.Done()
				return ctx.Err()
			}
			s.Log.Append("woke")
			return nil
		})
		f.begin("t1")
		time.Sleep(time.Hour)
		l.refuses.Store(1)
		f.onceNow(wake.Report{Resumed: 1})
		if got := f.log("t1"); got != "woke done" || runs != 2 {
			t.Errorf("after %d runs the log is %q, want woke done after 2", runs, got)
		}
		if f.timers() != "" {
			t.Errorf("timers are left: %q", f.timers())
		}
	})
}

// A waker that loses the lease while it sends a notice sends it again, and stores that it was sent.
func TestOnce_LosesTheLeaseDuringANotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l := newLosingFixture(t, asks(graph.Question{Prompt: "pay?", To: "ana", Remind: time.Hour}))
		f.begin("t1")
		sent := 0
		f.config.Notify = func(ctx context.Context, _ wake.Notice) error {
			sent++
			if sent == 1 {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		time.Sleep(time.Hour)
		l.refuses.Store(1)
		f.onceNow(wake.Report{Notified: 1})
		f.onceNow(wake.Report{})
		if sent != 2 {
			t.Errorf("the notice was sent %d times, want 2", sent)
		}
	})
}

// away is a store that refuses some commits.
type away struct {
	*checkpoint.Memory
	refuses atomic.Int32
}

func (a *away) Commit(ctx context.Context, c checkpoint.Commit) error {
	if a.refuses.Add(-1) >= 0 {
		return checkpoint.ErrUnavailable
	}
	return a.Memory.Commit(ctx, c)
}

// A run whose store is away is not lost: a later pass goes on with it.
func TestOnce_TheStoreIsAwayDuringARun(t *testing.T) {
	f, a := newFixture(t, sleeps), &away{Memory: new(checkpoint.Memory)}
	f.store, f.config.Store = a, a
	f.compile(oneNode(sleeps), graph.Retry{})
	f.begin("t1")
	f.once(2*time.Hour, wake.Report{Resumed: 1})
	a.refuses.Store(1)
	f.clock.set(5 * time.Hour)
	if got, err := wake.Once(t.Context(), f.config); !errors.Is(err, checkpoint.ErrUnavailable) || got.Failed != 1 || got.Resumed != 0 {
		t.Errorf("with a store that is away: got %+v, %v", got, err)
	}
	f.once(5*time.Hour, wake.Report{}) // not yet
	f.once(5*time.Hour+time.Second, wake.Report{Resumed: 1})
	if got := f.log("t1"); got != "woke done" {
		t.Errorf("the log is %q, want woke done", got)
	}
}

// A waker dies with the run that it resumed. One that lacks the graph, or has another version of
// it, leaves the thread to those that can go on with it.
func TestOnce_OthersAfterADeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dies := true
		node := func(ctx context.Context, s *log) error {
			if err := graph.Sleep(ctx, "", time.Hour); err != nil {
				return err
			}
			if dies {
				<-ctx.Done()
				return ctx.Err()
			}
			s.Log.Append("woke")
			return nil
		}
		f := newFixture(t, node)
		f.begin("t1")
		f.clock.set(time.Hour)
		ctx, die := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, die)
		if _, err := wake.Once(ctx, f.config); !errors.Is(err, context.Canceled) {
			t.Fatalf("the waker that dies: %v", err)
		}
		right := f.graph
		b := graph.New[log]("waits") // without the node that is due
		b.Node("b", graph.Func(node))
		b.Edge(graph.Start, "b")
		b.Edge("b", graph.End)
		f.compile(b, graph.Retry{})
		other := f.config.Resume
		for i, resume := range []func(context.Context, graph.Timer) error{wake.Graphs(), other} {
			f.config.Resume = resume
			f.clock.set(time.Duration(2+i) * time.Hour)
			if got, err := wake.Once(t.Context(), f.config); err == nil || got.Failed != 1 || got.Resumed != 0 {
				t.Errorf("waker %d that cannot go on: got %+v, %v", i, got, err)
			}
		}
		dies, f.graph, f.config.Resume = false, right, wake.Graphs(right.Untyped())
		f.once(24*time.Hour, wake.Report{Resumed: 1})
		if got := f.log("t1"); got != "woke done" || f.timers() != "" {
			t.Errorf("got %q and the timers %q", got, f.timers())
		}
	})
}

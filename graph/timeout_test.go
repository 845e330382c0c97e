package graph_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

func TestTimeout_NodeThatHonoursItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := graph.Func(func(ctx context.Context, s *world) error {
			s.Log.Append("slow")
			<-ctx.Done()
			return ctx.Err()
		})
		b := parallel(map[string]graph.Node[world]{"ok": logs("ok")})
		b.Node("slow", slow.With(graph.Policy{Timeout: 3 * time.Second}))
		b.Edge(graph.Start, "slow")
		b.Edge("slow", graph.End)
		start := time.Now()
		_, err := build(t, b, graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
		is(t, err, graph.ErrTimeout, `node "slow"`, "3s")
		if took := time.Since(start); took != 3*time.Second || errors.Is(err, graph.ErrAbandoned) {
			t.Errorf("got %v after %v, want a plain timeout after 3 s", err, took)
		}
	})
}

// unresponsive is a node that ignores its context for a minute. Then it tries to write, to emit and
// to ask, and sends the errors to late.
func unresponsive(late chan<- error) graph.Node[world] {
	return graph.Func(func(ctx context.Context, s *world) error {
		time.Sleep(time.Minute)
		s.Log.Append("late")
		late <- graph.Emit(ctx, "late")
		_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "late?"})
		late <- err
		return nil
	})
}

func TestAbandonedNode_IgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := make(chan error, 8)
		b := graph.New[world]("unresponsive")
		retry := graph.Retry{Attempts: 2, Initial: time.Second}
		for _, name := range []string{"x", "y", "z"} { // a wider step first: it leaves tasks to use again
			line(b, name)
		}
		for _, name := range []string{"a", "b"} { // two at once take no notice of each other
			b.Node(name, unresponsive(late).With(graph.Policy{Timeout: time.Second, Retry: retry}))
			b.Edge("x", name)
			b.Edge(name, graph.End)
		}
		store := stored().Store
		g := build(t, b, graph.Config{Grace: time.Second, Store: store})
		start := time.Now()
		var last error
		for ev, err := range g.Stream(ctx, world{}, graph.RunOptions{Thread: "t1", Modes: graph.Custom}) {
			if last = err; ev.Mode == graph.Custom {
				t.Errorf("the event %v of an abandoned node was yielded", ev.Payload)
			}
		}
		is(t, last, graph.ErrTimeout, `graph "unresponsive": node`)
		is(t, last, graph.ErrAbandoned)
		if took := time.Since(start); took > 6*time.Second {
			t.Errorf("the run took %v, want two attempts of a second and a second's grace each", took)
		}
		for range 8 {
			is(t, <-late, graph.ErrTimeout)
		}
		if p, err := graph.Inspect(ctx, store, checkpoint.Key{Thread: "t1"}); err != nil || len(p.Interrupts) != 0 || len(p.Failures) != 2 {
			t.Errorf("the thread reports %v and %v, %v", p.Interrupts, p.Failures, err)
		}
		synctest.Wait()
	})
}

// Requirement: Panics and cancelling
func TestAbandonedNode_SubgraphWritesNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran counter
		late := make(chan error, 2)
		c := child(t, &ran, graph.Config{}, func(ctx context.Context, _ *inner) error {
			time.Sleep(time.Minute)
			late <- graph.Emit(ctx, "late")
			_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "late?"})
			late <- err
			return err
		})
		cfg := stored()
		g := single(t, hosts(c, "", nil), graph.Policy{Timeout: time.Second}, cfg)
		var last error
		for ev, err := range g.Stream(ctx, world{}, graph.RunOptions{Thread: "t1", Modes: graph.Custom | graph.Tasks | graph.Values}) {
			if last = err; ev.Mode == graph.Custom {
				t.Errorf("the event %v of an abandoned subgraph was yielded", ev.Payload)
			}
		}
		is(t, last, graph.ErrTimeout)
		before := dump(cfg.Store, "t1", "")
		is(t, <-late, graph.ErrTimeout)
		is(t, <-late, graph.ErrTimeout)
		synctest.Wait()
		if dump(cfg.Store, "t1", "") != before {
			t.Error("a run that was given up wrote to the store")
		}
		ran.want(t, "c3", 0)
	})
}

// Requirement: Limits fail loudly
func TestTimeout_OfTheRun(t *testing.T) {
	waits := func(ctx context.Context, _ *world) error { <-ctx.Done(); return ctx.Err() }
	for name, p := range map[string]graph.Policy{
		"of a node without a limit": {}, "of a node with a longer limit": {Timeout: time.Hour, Retry: graph.Retry{Attempts: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				res, err := single(t, graph.Func(waits), p, graph.Config{Timeout: 2 * time.Second}).Invoke(ctx, world{}, graph.RunOptions{})
				is(t, err, graph.ErrTimeout, "2s")
				if took := time.Since(start); took != 2*time.Second || res.Status != graph.Failed {
					t.Errorf("got %q after %v, want failed after 2 s", res.Status, took)
				}
			})
		})
	}
}

func TestNode_FinishedWhileTheRunEndsIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran counter
		b := graph.New[world]("stored")
		b.Node("a", graph.Func(func(_ context.Context, s *world) error {
			ran.add("a")
			time.Sleep(1500 * time.Millisecond)
			s.Log.Append("a")
			return nil
		}).With(graph.Policy{Timeout: time.Hour}))
		b.Node("b", logs("b"))
		b.Edge(graph.Start, "a")
		b.Edge("a", "b")
		b.Edge("b", graph.End)
		cfg := stored()
		cfg.Timeout = time.Second
		g := build(t, b, cfg)
		res, err := g.Invoke(ctx, world{}, t1)
		is(t, err, graph.ErrTimeout)
		logged(t, res, "a")
		logged(t, resume(t, g, graph.Answers{}, graph.Done), "a b")
		ran.want(t, "a", 1)
	})
}

func TestTimeout_QuestionOfTheNodeDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := graph.Func(func(ctx context.Context, _ *world) error {
			_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "x"})
			<-ctx.Done()
			return err
		})
		_, err := single(t, n, graph.Policy{Timeout: time.Second}, stored()).Invoke(ctx, world{}, t1)
		is(t, err, graph.ErrTimeout)
	})
}

// Requirement: Panics and cancelling
func TestCancel_NamesItsCauseAndTheThreadCanBeResumed(t *testing.T) {
	for name, fork := range map[string]bool{"one task": false, "several": true} {
		t.Run(name, func(t *testing.T) {
			cause := errors.New("the user left")
			c, cancel := context.WithCancelCause(ctx)
			blocks := true
			b := graph.New[world]("cancel")
			line(b, "a")
			b.Node("b", graph.Func(func(ctx context.Context, s *world) error {
				if s.Log.Append("b"); blocks {
					cancel(cause)
					<-ctx.Done()
					return ctx.Err()
				}
				return nil
			}))
			b.Edge("a", "b")
			b.Edge("b", graph.End)
			if fork {
				b.Node("c", logs("c"))
				b.Edge("a", "c")
				b.Edge("c", graph.End)
			}
			g := build(t, b, stored())
			res, err := g.Invoke(c, world{}, t1)
			is(t, err, cause)
			is(t, err, context.Canceled)
			if logged(t, res, "a"); res.Status != graph.Failed {
				t.Errorf("got %q, want failed", res.Status)
			}
			blocks = false
			want := "a b"
			if fork {
				want += " c"
			}
			logged(t, resume(t, g, graph.Answers{}, graph.Done), want)
		})
	}
}

func TestCancel_DoesNotWaitForAnUnresponsiveNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, cancel := context.WithTimeoutCause(ctx, time.Second, errBoom)
		defer cancel()
		late := make(chan error, 2)
		start := time.Now()
		_, err := single(t, unresponsive(late), graph.Policy{}, stored()).Invoke(c, world{}, graph.RunOptions{Thread: "t1", Grace: time.Second})
		is(t, err, graph.ErrAbandoned)
		if is(t, err, errBoom); time.Since(start) > 3*time.Second {
			t.Errorf("it took %v to give up a node that does not stop", time.Since(start))
		}
		<-late
		<-late
		synctest.Wait()
	})
}

// slowDisk is a store whose writes take a while, unless their context ends.
type slowDisk struct {
	checkpoint.Store
	takes time.Duration
}

func (s slowDisk) Commit(ctx context.Context, c checkpoint.Commit) error {
	select {
	case <-time.After(s.takes):
		return s.Store.Commit(ctx, c)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestCancel_WaitsForAWriteUnderWay(t *testing.T) {
	for takes, commits := range map[time.Duration]bool{3 * time.Second: true, time.Hour: false} {
		synctest.Test(t, func(t *testing.T) {
			cfg := stored()
			b := graph.New[world]("slow disk")
			line(b, "a", "b")
			b.Node("c", logs("c"))
			b.Edge("b", "c")
			b.Edge("c", graph.End)
			c, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(takes+takes/2, func() { cancel(errBoom) }) // in the commit of a's step
			_, err := build(t, b, graph.Config{Store: slowDisk{cfg.Store, takes}}).Invoke(c, world{}, t1)
			if err == nil || errors.Is(err, graph.ErrAbandoned) && commits {
				t.Errorf("writes that take %v: got %v, want the cause, when the write is done", takes, err)
			}
			s, _, _ := build(t, b, cfg).Thread("t1").State(ctx, 0)
			if got := s.Log.Len() == 1; got != commits {
				t.Errorf("writes that take %v: the step is stored: %v, want %v", takes, got, commits)
			}
			synctest.Wait()
		})
	}
}

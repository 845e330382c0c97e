package graph_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/graph"
)

// Requirement: Limits fail loudly
func TestMaxSteps_OfKAllowsAGraphOfKSteps(t *testing.T) {
	names := strings.Fields("a b c d e")
	for limit := 1; limit <= 6; limit++ {
		b := graph.New[world]("k")
		line(b, names...)
		cfg := stored()
		cfg.MaxSteps = limit
		res, err := build(t, b, cfg).Invoke(ctx, world{}, t1)
		if limit >= len(names) {
			logged(t, ended(t, graph.Done, res, err), "a b c d e")
			continue
		}
		is(t, err, graph.ErrSteps, fmt.Sprint(limit), `thread "t1"`)
		logged(t, res, strings.Join(names[:limit], " "))
		if res.Status != graph.Failed || res.Steps != limit {
			t.Errorf("got %q after %d steps, want failed after %d", res.Status, res.Steps, limit)
		}
	}
}

// Requirement: Limits fail loudly
func TestMaxSteps_ResumedRunGetsNoFreeSteps(t *testing.T) {
	b := graph.New[world]("resumed")
	line(b, strings.Fields("a b c d e")...)
	cfg := stored()
	cfg.MaxSteps = 2
	g := build(t, b, cfg)
	_, err := g.Invoke(ctx, world{}, t1)
	is(t, err, graph.ErrSteps)
	res, err := g.Resume(ctx, graph.Answers{}, t1)
	is(t, err, graph.ErrSteps)
	logged(t, res, "a b c d")
	res, err = g.Resume(ctx, graph.Answers{}, t1)
	if logged(t, ended(t, graph.Done, res, err), "a b c d e"); res.Steps != 1 {
		t.Errorf("the last call took %d steps, want 1", res.Steps)
	}
}

func TestMaxSteps_AnsweredStepCountsOnce(t *testing.T) {
	var ran counter
	b := graph.New[world]("asked")
	line(b, "b", "c")
	b.Node("a", asks("a", &ran, "x"))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	cfg := stored()
	cfg.MaxSteps = 2
	g := build(t, b, cfg)
	invoke(t, g, "t1", graph.Interrupted)
	if res := resume(t, g, graph.Reply("1"), graph.Done); res.Steps != 2 {
		t.Errorf("got %d steps, want 2", res.Steps)
	}
}

// Requirement: Limits fail loudly
func TestMaxSteps_EndlessLoopFails(t *testing.T) {
	loop := func() *graph.Builder[world] {
		b := graph.New[world]("endless")
		b.Node("a", graph.Router(func(_ context.Context, s *world) (graph.Command, error) {
			s.Count.Add(1)
			return graph.Goto("a"), nil
		}, "a", graph.End))
		b.Edge(graph.Start, "a")
		return b
	}
	res, err := build(t, loop(), graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
	is(t, err, graph.ErrSteps, "10000")
	if res.State.Count.Get() != 10_000 || res.Status != graph.Failed {
		t.Errorf("got %d and %q, want the state so far", res.State.Count.Get(), res.Status)
	}
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond) // nodes never look at it
	defer cancel()
	_, err = build(t, loop(), graph.Config{MaxSteps: 1 << 40}).Invoke(short, world{}, graph.RunOptions{})
	is(t, err, context.DeadlineExceeded)
}

// Requirement: Limits fail loudly
func TestMaxTasks_TooManyAreAnError(t *testing.T) {
	for _, limit := range []int{3, 4} {
		c := graph.Goto("x")
		for i := range 3 {
			c = c.Send("w", i)
		}
		b := graph.New[world]("wide")
		b.Node("r", goes("r", c, "w", "x"))
		b.Node("w", graph.Worker(takesInt))
		b.Node("x", logs("x"))
		b.Edge(graph.Start, "r")
		b.Edge("w", graph.End)
		b.Edge("x", graph.End)
		res, err := build(t, b, graph.Config{MaxTasks: limit}).Invoke(ctx, world{}, graph.RunOptions{})
		if limit == 4 {
			logged(t, ended(t, graph.Done, res, err), "r x")
			continue
		}
		is(t, err, graph.ErrFanOut, "4", "3")
		logged(t, res, "r")
	}
}

func TestMaxSteps_DoneRunDoesNotFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, cancel := context.WithCancel(ctx)
		b := graph.New[world]("last")
		b.Node("a", graph.Func(func(_ context.Context, s *world) error {
			s.Log.Append("a")
			cancel()
			return nil
		}))
		b.Edge(graph.Start, "a")
		b.Edge("a", graph.End)
		res, err := build(t, b, stored()).Invoke(c, world{}, t1)
		logged(t, ended(t, graph.Done, res, err), "a")
	})
}

func TestMaxSteps_OfOneRun(t *testing.T) {
	b := graph.New[world]("k")
	line(b, strings.Fields("a b c d e")...)
	cfg := stored()
	cfg.MaxSteps = 3
	g := build(t, b, cfg)
	_, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "less", MaxSteps: 2})
	is(t, err, graph.ErrSteps, "2 steps")
	res, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "more", MaxSteps: 5})
	logged(t, ended(t, graph.Done, res, err), "a b c d e")
	res, err = g.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "less", MaxSteps: 3})
	logged(t, ended(t, graph.Done, res, err), "a b c d e")
	if _, err = g.Invoke(ctx, world{}, graph.RunOptions{Thread: "bad", MaxSteps: -1}); err == nil || !strings.Contains(err.Error(), "(got -1)") {
		t.Errorf("a negative limit gives %v, want an error that names it", err)
	}
}

func TestMaxSteps_OfARunLeavesSubgraphsAlone(t *testing.T) {
	var ran counter
	b := parallel(map[string]graph.Node[world]{"x": hosts(child(t, &ran, graph.Config{}, nil), "x", nil)})
	g := build(t, b, graph.Config{})
	res, err := g.Invoke(ctx, world{}, graph.RunOptions{MaxSteps: 1})
	logged(t, ended(t, graph.Done, res, err), "xc1 xc2 xc3")
}

package graph_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/storetest"
)

// pinnable returns a graph that asks, and with more another version of it.
func pinnable(t *testing.T, cfg graph.Config, more bool) *graph.Graph[world] {
	t.Helper()
	b := graph.New[world]("pinnable")
	b.Node("ask", asks("ask", new(counter), "Q"))
	b.Edge(graph.Start, "ask")
	if more {
		b.Node("more", logs("more"))
		b.Edge("ask", "more")
		b.Edge("more", graph.End)
	} else {
		b.Edge("ask", graph.End)
	}
	return build(t, b, cfg)
}

// refused checks that a call was refused because t1 is pinned to another program.
func refused(t *testing.T, what string, err error, pin, program string) {
	t.Helper()
	var e *graph.PinnedError
	if !errors.As(err, &e) || !errors.Is(err, graph.ErrPinned) || !errors.Is(err, graph.ErrProgram) {
		t.Errorf("%s: got %v, want a PinnedError", what, err)
	} else if *e != (graph.PinnedError{Thread: e.Thread, Pin: pin, Program: program}) {
		t.Errorf("%s: got %+v", what, *e)
	}
}

func TestPin_RefusesOtherPrograms(t *testing.T) {
	eachStore(t, func(t *testing.T, over func(checkpoint.Store) checkpoint.Store) {
		memory := new(checkpoint.Memory)
		cfg := graph.Config{Store: over(memory)}
		was, now := pinnable(t, cfg, false), pinnable(t, cfg, true)
		invoke(t, was, "t1", graph.Interrupted)
		if err := graph.Pin(ctx, cfg.Store, "t1", was.Program()); err != nil {
			t.Fatal(err)
		}
		before := exportOf(t, memory)
		calls := map[string]func() error{
			"Resume": func() error { _, err := now.Resume(ctx, graph.Reply("yes"), t1); return err },
			"Invoke": func() error { _, err := now.Invoke(ctx, world{}, t1); return err },
			"Edit":   func() error { _, err := now.Edit(ctx, [][]graph.Edit[world]{{{As: "ask"}}}, t1); return err },
			"a branch": func() error {
				_, err := now.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "t1", At: 1})
				return err
			},
			"Plan": func() error {
				plan, err := now.Untyped().Plan(ctx, graph.PlanRequest{Run: "r1", Thread: "t1"})
				return errors.Join(err, now.Untyped().Release(ctx, plan.ID))
			},
			"Patch": func() error { _, err := now.Untyped().Patch(ctx, []byte("{}"), t1); return err },
			"new turns": func() error {
				_, err := now.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", OnOpenQuestions: graph.Discard})
				return err
			},
		}
		for what, call := range calls {
			refused(t, what, call(), was.Program(), now.Program())
			if got := exportOf(t, memory); got != before {
				t.Errorf("rule: a refused call changes nothing: %s", what)
			}
		}
		if _, _, err := now.Thread("t1").State(ctx, 0); err != nil {
			t.Errorf("rule: reading is free: %v", err)
		}
		if _, err := now.Thread("t1").Replay(ctx, 0, 0); err != nil {
			t.Errorf("rule: replaying is free: %v", err)
		}
		if c, err := now.Check(ctx, "t1"); err != nil || len(c.Lacks) != 1 {
			t.Errorf("rule: Check sees the pin (got %q, %v)", c.Lacks, err)
		}

		logged(t, resume(t, was, graph.Reply("yes"), graph.Done), "ask Q=yes")
		refused(t, "after the next commit", calls["Invoke"](), was.Program(), now.Program())
		if err := graph.Pin(ctx, cfg.Store, "t1", ""); err != nil {
			t.Fatal(err)
		}
		if err := calls["new turns"](); err != nil {
			t.Errorf("rule: an unpinned thread goes on with another program: %v", err)
		}
	})
}

// TestPin_HoldsOnBranchesAndInCopies pins a thread, and goes back to a commit before that.
func TestPin_HoldsOnBranchesAndInCopies(t *testing.T) {
	cfg := stored()
	was, now := pinnable(t, cfg, false), pinnable(t, cfg, true)
	invoke(t, was, "t1", graph.Interrupted)
	resume(t, was, graph.Reply("yes"), graph.Done)
	if err := graph.Pin(ctx, cfg.Store, "t1", was.Program()); err != nil {
		t.Fatal(err)
	}
	back := graph.RunOptions{Thread: "t1", At: 1}
	res, err := was.Resume(ctx, graph.Answers{}, back)
	ended(t, graph.Interrupted, res, err)
	_, err = now.Resume(ctx, graph.Reply("yes"), t1)
	refused(t, "on the branch", err, was.Program(), now.Program())
	_, err = now.Resume(ctx, graph.Answers{}, back)
	refused(t, "another branch", err, was.Program(), now.Program())

	var file bytes.Buffer
	if err := checkpoint.Export(ctx, cfg.Store, "t1", &file); err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Import(ctx, cfg.Store, "copy", &file); err != nil {
		t.Fatal(err)
	}
	_, err = now.Resume(ctx, graph.Reply("yes"), graph.RunOptions{Thread: "copy"})
	refused(t, "the copy", err, was.Program(), now.Program())
	p, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "copy"})
	if err != nil || p.Pin != was.Program() {
		t.Errorf("the pin of the copy is %q, %v", p.Pin, err)
	}
}

func TestPin_OfTheConfigHoldsFromTheFirstCommit(t *testing.T) {
	cfg := stored()
	cfg.Pin = true
	was, now := pinnable(t, cfg, false), pinnable(t, graph.Config{Store: cfg.Store}, true)
	invoke(t, now, "free", graph.Interrupted)
	invoke(t, was, "t1", graph.Interrupted)
	_, err := now.Resume(ctx, graph.Reply("yes"), t1)
	refused(t, "a thread of the first", err, was.Program(), now.Program())
	if _, err := was.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "free"}); err != nil {
		t.Errorf("rule: a thread that another graph has begun is not pinned: %v", err)
	}
}

// TestPin_FailsAtAnyWrite fails before and after the write of Pin, which is then called again.
func TestPin_FailsAtAnyWrite(t *testing.T) {
	for _, done := range []bool{false, true} {
		cfg := stored()
		was := pinnable(t, cfg, false)
		invoke(t, was, "t1", graph.Interrupted)
		store := &storetest.FailingStore{Store: cfg.Store, At: map[int]bool{1: done}}
		is(t, graph.Pin(ctx, store, "t1", "p"), storetest.ErrDisk)
		for range 2 {
			if err := graph.Pin(ctx, store, "t1", "p"); err != nil {
				t.Fatal(err)
			}
		}
		if want := 2; !done && store.Writes != want || done && store.Writes != 1 {
			t.Errorf("done %v: %d writes; a pin that is there is not written again", done, store.Writes)
		}
		_, err := was.Resume(ctx, graph.Reply("yes"), t1)
		refused(t, "Resume", err, "p", was.Program())
	}
}

func TestPin_OfBusyAndUnknownThreads(t *testing.T) {
	cfg := stored()
	was := pinnable(t, cfg, false)
	is(t, graph.Pin(ctx, cfg.Store, "t1", "p"), graph.ErrUnknownThread)
	invoke(t, was, "t1", graph.Interrupted)
	held, err := checkpoint.Hold(ctx, cfg.Store, "t1", checkpoint.HoldOptions{})
	if err != nil {
		t.Fatal(err)
	}
	is(t, graph.Pin(ctx, cfg.Store, "t1", "p"), checkpoint.ErrOwned)
	if err := held.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if err := graph.Pin(ctx, cfg.Store, "t1", "p"); err != nil {
		t.Error(err)
	}
}

package graph_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph"
)

// pauses fails the test unless the run pauses at the static interrupts in want.
func pauses(t *testing.T, res graph.Result[world], want string) {
	t.Helper()
	var at []string
	for _, in := range res.Interrupts {
		at = append(at, in.Kind+":"+in.Node)
	}
	if got := strings.Join(at, " "); got != want {
		t.Errorf("the run pauses at %q, want %q", got, want)
	}
}

// walk runs g on t1 to its end and returns where it paused, with the length of the
// log then.
func walk(t *testing.T, g *graph.Graph[world]) string {
	t.Helper()
	var stops []string
	res, err := g.Invoke(ctx, world{}, t1)
	for ; err == nil && res.Status == graph.Interrupted; res, err = g.Resume(ctx, graph.Answers{}, t1) {
		for _, in := range res.Interrupts {
			stops = append(stops, in.Kind+":"+in.Node)
		}
		stops = append(stops, strings.Join(res.State.Log.Slice(), "")+",")
	}
	ended(t, graph.Done, res, err)
	return strings.Join(stops, " ")
}

func TestStaticInterrupts_PauseBeforeAndAfter(t *testing.T) {
	for name, c := range map[string]struct {
		before, after []string
		want          string
	}{
		"before":           {[]string{"b"}, nil, "before:b a,"},
		"after":            {nil, []string{"b"}, "after:b ab,"},
		"before all":       {[]string{"*"}, nil, "before:a , before:b a, before:c ab,"},
		"after all":        {nil, []string{"*"}, "after:a a, after:b ab,"}, // after c nothing is left to do
		"between, once":    {[]string{"b"}, []string{"a"}, "after:a a,"},
		"before and after": {[]string{"b"}, []string{"b"}, "before:b a, after:b ab,"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := stored()
			cfg.InterruptBefore, cfg.InterruptAfter = c.before, c.after
			b := graph.New[world]("static")
			line(b, "a", "b", "c")
			if got := walk(t, build(t, b, cfg)); got != c.want {
				t.Errorf("the run pauses at %q, want %q", got, c.want)
			}
		})
	}
}

func TestStaticInterrupt_InALoopPausesEachLap(t *testing.T) {
	b := graph.New[world]("loop")
	b.Node("a", graph.Router(func(_ context.Context, s *world) (graph.Command, error) {
		s.Log.Append("a")
		if s.Log.Len() == 3 {
			return graph.Goto(graph.End), nil
		}
		return graph.Goto("a"), nil
	}, "a", graph.End))
	b.Edge(graph.Start, "a")
	cfg := stored()
	cfg.InterruptBefore = []string{"a"}
	g := build(t, b, cfg)
	if got, want := walk(t, g), "before:a , before:a a, before:a aa,"; got != want {
		t.Errorf("the run pauses at %q, want %q", got, want)
	}
	before := tree(t, cfg)
	if res := resume(t, g, graph.Answers{}, graph.Done); res.Steps != 0 || tree(t, cfg) != before {
		t.Errorf("resuming what is done took %d steps and made the history %q, was %q", res.Steps, tree(t, cfg), before)
	}
}

func TestStaticInterrupt_StepBeforeIsNotCounted(t *testing.T) {
	cfg := stored()
	cfg.InterruptBefore = []string{"b"}
	b := graph.New[world]("static")
	line(b, "a", "b", "c")
	g := build(t, b, cfg)
	if res := invoke(t, g, "t1", graph.Interrupted); res.Steps != 1 {
		t.Errorf("the run took %d steps, want 1", res.Steps)
	}
	if res := resume(t, g, graph.Answers{}, graph.Done); res.Steps != 2 {
		t.Errorf("the rest took %d steps, want 2", res.Steps)
	}
}

// A run that ends just before a pause does not report it, so Resume pauses there.
func TestResume_PassesOnlyAReportedPause(t *testing.T) {
	cfg := stored()
	cfg.InterruptBefore, cfg.MaxSteps = []string{"b"}, 1
	b := graph.New[world]("static")
	line(b, "a", "b", "c")
	g := build(t, b, cfg)
	_, err := g.Invoke(ctx, world{}, t1) // stops at the limit, just before b
	is(t, err, graph.ErrSteps)
	pauses(t, resume(t, g, graph.Answers{}, graph.Interrupted), "before:b")
	_, err = g.Resume(ctx, graph.Answers{}, t1)
	is(t, err, graph.ErrSteps)
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "a b c")
}

func TestPauseAfter_IsReportedAfterACrash(t *testing.T) {
	store := &faultStore{Store: stored().Store}
	b := graph.New[world]("static")
	line(b, "a", "b", "c")
	g := build(t, b, graph.Config{Store: store, InterruptAfter: []string{"b"}})
	store.at, store.applied = 3, true // the commit of b's step is applied, and fails
	_, err := g.Invoke(ctx, world{}, t1)
	is(t, err, errFault)
	pauses(t, resume(t, g, graph.Answers{}, graph.Interrupted), "after:b")
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "a b c")
}

func TestStaticInterrupt_FailureAfterItNeedsNoOtherPause(t *testing.T) {
	var ran counter
	b := graph.New[world]("static")
	b.Node("a", graph.Func(func(_ context.Context, s *world) error {
		if ran.add("a") == 1 {
			return errors.New("boom")
		}
		return nil
	}))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	cfg := stored()
	cfg.InterruptBefore = []string{"a"}
	g := build(t, b, cfg)
	invoke(t, g, "t1", graph.Interrupted)
	if _, err := g.Resume(ctx, graph.Answers{}, t1); err == nil {
		t.Fatal("the run did not fail")
	}
	resume(t, g, graph.Answers{}, graph.Done)
}

func TestStaticInterrupt_NewInputDropsIt(t *testing.T) {
	cfg := stored()
	cfg.InterruptBefore = []string{"b"}
	b := graph.New[world]("static")
	line(b, "a", "b")
	g := build(t, b, cfg)
	invoke(t, g, "t1", graph.Interrupted)
	pauses(t, invoke(t, g, "t1", graph.Interrupted), "before:b")
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "a a b")
}

// Only a Resume that follows a pause passes it. On a branch, and after a history that was typed in,
// the run pauses before the node again.
//
// Requirement: a static pause happens again on a branch
func TestStaticPause_AfterEditsAndOnBranches(t *testing.T) {
	const n = uint64(3) // the commit at which the run pauses: a and b have run
	edit := func(as ...string) func(*testing.T, *graph.Graph[world]) {
		return func(t *testing.T, g *graph.Graph[world]) {
			var all [][]graph.Edit[world]
			for _, node := range as {
				all = append(all, []graph.Edit[world]{{As: node}})
			}
			if _, err := g.Edit(ctx, all, t1); err != nil {
				t.Fatal(err)
			}
		}
	}
	patch := func(at uint64) func(*testing.T, *graph.Graph[world]) {
		return func(t *testing.T, g *graph.Graph[world]) {
			write := func(s *world) error { s.Name.Set("new"); return nil }
			if _, err := g.Patch(ctx, write, graph.RunOptions{Thread: "t1", At: at}); err != nil {
				t.Fatal(err)
			}
		}
	}
	passed := func(then func(*testing.T, *graph.Graph[world])) func(*testing.T, *graph.Graph[world]) {
		return func(t *testing.T, g *graph.Graph[world]) {
			resume(t, g, graph.Answers{}, graph.Done)
			then(t, g)
		}
	}
	nothing := func(*testing.T, *graph.Graph[world]) {}
	for name, c := range map[string]struct {
		fresh         bool // there is no pause before
		do            func(*testing.T, *graph.Graph[world])
		at            uint64 // of the Resume
		before, after bool   // whether it pauses
	}{
		"patch":                          {do: patch(0)},
		"edit as the node before":        {do: edit("b")},
		"edit as the node":               {do: edit("c")},
		"at the newest commit":           {do: nothing, at: n},
		"at the commit of the pause":     {do: passed(nothing), at: n, before: true},
		"patch at that commit":           {do: passed(patch(n)), before: true},
		"at the commit before":           {do: passed(nothing), at: n - 1, before: true, after: true},
		"a history that was typed in":    {fresh: true, do: edit(graph.Start, "a", "b"), before: true, after: true},
		"typed in, after an older pause": {do: edit(graph.Start, "a", "b"), before: true, after: true},
	} {
		for kind, want := range map[string]bool{"before:c": c.before, "after:b": c.after} {
			t.Run(name+", "+kind, func(t *testing.T) {
				cfg := stored()
				if kind == "before:c" {
					cfg.InterruptBefore = []string{"c"}
				} else {
					cfg.InterruptAfter = []string{"b"}
				}
				b := graph.New[world]("static")
				line(b, "a", "b", "c", "d")
				g := build(t, b, cfg)
				if !c.fresh {
					pauses(t, invoke(t, g, "t1", graph.Interrupted), kind)
				}
				c.do(t, g)
				res, err := g.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "t1", At: c.at})
				if err != nil {
					t.Fatal(err)
				}
				if !want {
					ended(t, graph.Done, res, err)
					return
				}
				pauses(t, ended(t, graph.Interrupted, res, err), kind)
				resume(t, g, graph.Answers{}, graph.Done)
			})
		}
	}
}

// A call that is made again with its id, after a crash, pauses where it has paused.
func TestStaticInterrupts_ARunDoesNotPassItsOwn(t *testing.T) {
	cfg := stored()
	cfg.InterruptBefore = []string{"b"}
	b := graph.New[world]("static")
	line(b, "a", "b", "c")
	g := build(t, b, cfg)
	o := t1
	o.ID = "run-1"
	res, err := g.Invoke(ctx, world{}, o)
	for range 2 {
		ended(t, graph.Interrupted, res, err)
		pauses(t, res, "before:b")
		res, err = g.Resume(ctx, graph.Answers{}, o)
	}
	o.ID = "run-2"
	res, err = g.Resume(ctx, graph.Answers{}, o)
	ended(t, graph.Done, res, err)
}

package graph_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

func TestRunOptionsID_IsTheLabelOfTheCommits(t *testing.T) {
	cfg := stored()
	b := graph.New[world]("ids")
	line(b, "a", "b")
	g := build(t, b, cfg)
	res, err := g.Invoke(ctx, world{}, graph.RunOptions{ID: "run-1", Thread: "t1"})
	if res.Run != "run-1" || err != nil {
		t.Fatalf("got run %q and error %v, want run-1", res.Run, err)
	}
	if _, err := g.Invoke(ctx, world{}, graph.RunOptions{ID: "run-2", Thread: "t1"}); err != nil {
		t.Fatal(err)
	}
	n := 0
	for p, err := range graph.History(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}, checkpoint.Query{Where: map[string]string{"run": "run-1"}}) {
		if n++; err != nil || p.Run != "run-1" {
			t.Fatalf("got commit %d of run %q and error %v, want run-1", p.Checkpoint, p.Run, err)
		}
	}
	if n != 3 {
		t.Errorf("got %d commits with the label run-1, want 3", n)
	}
	if err := checkpoint.DeleteRuns(ctx, cfg.Store, "t1", "run-2"); err != nil {
		t.Fatal(err)
	}
	if p, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}); err != nil || p.Run != "run-1" || p.Turn != 1 {
		t.Errorf("rule: DeleteRuns goes back to the commit before the run\n got: run %q, turn %d, error %v", p.Run, p.Turn, err)
	}
}

// A run that goes on after a crash has the ID that it began with, and so have its commits.
func TestRunOptionsID_OfARunThatGoesOn(t *testing.T) {
	cfg := stored()
	fails := true
	b := graph.New[world]("ids")
	b.Node("a", logs("a"))
	b.Node("b", graph.Func(func(ctx context.Context, s *world) error {
		if fails {
			return errors.New("out of order")
		}
		s.Log.Append("b")
		return nil
	}))
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", graph.End)
	g := build(t, b, cfg)
	o := graph.RunOptions{ID: "run-1", Thread: "t1"}
	if _, err := g.Invoke(ctx, world{}, o); err == nil {
		t.Fatal("the run must fail")
	}
	fails = false
	res, err := g.Resume(ctx, graph.Answers{}, o)
	logged(t, ended(t, graph.Done, res, err), "a b")
	for p, err := range graph.History(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}, checkpoint.Query{}) {
		if err != nil || p.Run != "run-1" {
			t.Errorf("got commit %d of run %q and error %v, want run-1", p.Checkpoint, p.Run, err)
		}
	}
}

func TestRunOptionsID_GivesThreadsDifferentTasks(t *testing.T) {
	var tasks []string
	b := graph.New[world]("ids")
	b.Node("a", graph.Func(func(ctx context.Context, _ *world) error {
		tasks = append(tasks, graph.TaskID(ctx))
		return nil
	}))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	g := build(t, b, stored())
	for _, thread := range []string{"t1", "t2"} {
		if _, err := g.Invoke(ctx, world{}, graph.RunOptions{ID: "run-1", Thread: thread}); err != nil {
			t.Fatal(err)
		}
	}
	if len(tasks) != 2 || tasks[0] == tasks[1] {
		t.Errorf("rule: no two threads have a task id in common\n got: %q", tasks)
	}
}

func TestRunOptionsID_MustBeShortAndPlain(t *testing.T) {
	b := graph.New[world]("ids")
	line(b, "a")
	g := build(t, b, stored())
	for _, id := range []string{"a b", "é", "01234567890123456789012345678901234567890"} {
		_, err := g.Invoke(ctx, world{}, graph.RunOptions{ID: id, Thread: "t1"})
		is(t, err, graph.ErrRun, "RunOptions.ID")
	}
}

func TestRunOptions_InterruptsOfOneCall(t *testing.T) {
	for _, c := range []struct {
		name    string
		cfg     []string // Config.InterruptBefore
		o       graph.RunOptions
		pauses  []string
		resumes int // how often Resume with the same options pauses again
	}{
		{"before a node", nil, graph.RunOptions{InterruptBefore: []string{"b"}}, []string{"before b"}, 0},
		{"after a node", nil, graph.RunOptions{InterruptAfter: []string{"a"}}, []string{"after a"}, 0},
		{"before every node", nil, graph.RunOptions{InterruptBefore: []string{"*"}}, []string{"before a"}, 2},
		{"in place of those of the Config", []string{"a", "c"}, graph.RunOptions{InterruptBefore: []string{"b"}}, []string{"before b"}, 0},
		{"beside those of the Config", []string{"c"}, graph.RunOptions{InterruptAfter: []string{"a"}}, []string{"after a"}, 1},
		{"none in place of those of the Config", []string{"b"}, graph.RunOptions{InterruptBefore: []string{}}, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := stored()
			cfg.InterruptBefore = c.cfg
			b := graph.New[world]("interrupts")
			line(b, "a", "b", "c")
			g := build(t, b, cfg)
			c.o.Thread = "t1"
			res, err := g.Invoke(ctx, world{}, c.o)
			var got []string
			for _, in := range res.Interrupts {
				got = append(got, in.Kind+" "+in.Node)
			}
			if err != nil || !slices.Equal(got, c.pauses) {
				t.Fatalf("the run pauses at %q with error %v, want %q", got, err, c.pauses)
			}
			n := -1
			for ; res.Status == graph.Interrupted && err == nil && n < 10; n++ {
				res, err = g.Resume(ctx, graph.Answers{}, c.o)
			}
			logged(t, ended(t, graph.Done, res, err), "a b c")
			if n = max(n, 0); n != c.resumes {
				t.Errorf("the run paused %d times more, want %d", n, c.resumes)
			}
		})
	}
}

func TestRunOptions_InterruptAtWhatIsNoNode(t *testing.T) {
	b := graph.New[world]("interrupts")
	line(b, "a")
	g := build(t, b, stored())
	for _, name := range []string{"z", graph.Start, graph.End} {
		if _, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", InterruptAfter: []string{"a", name}}); err == nil {
			t.Errorf("an interrupt after %q must be refused", name)
		}
	}
}

func TestSettings_ReachNodesBranchesAndSubgraphs(t *testing.T) {
	var seen []any
	look := graph.Func(func(ctx context.Context, _ *world) error {
		seen = append(seen, graph.Settings(ctx))
		return nil
	})
	cb := graph.New[world]("child")
	cb.Node("in", look)
	cb.Edge(graph.Start, "in")
	cb.Edge("in", graph.End)
	child := build(t, cb, graph.Config{})
	b := graph.New[world]("settings")
	b.Node("a", look)
	b.Node("sub", graph.Subgraph(child, func(s *world) (world, error) { return world{}, nil }, func(s *world, end *world) error { return nil }))
	b.Edge(graph.Start, "a")
	b.Branch("a", func(ctx context.Context, _ *world) (graph.Command, error) {
		seen = append(seen, graph.Settings(ctx))
		return graph.Goto("sub"), nil
	}, "sub")
	b.Edge("sub", graph.End)
	g := build(t, b, stored())
	if _, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Settings: "fast"}); err != nil {
		t.Fatal(err)
	}
	if want := []any{"fast", "fast", "fast"}; !slices.Equal(seen, want) {
		t.Errorf("settings are %v, want %v", seen, want)
	}
	if got := graph.Settings(ctx); got != nil {
		t.Errorf("outside of a run the settings are %v, want nil", got)
	}
}

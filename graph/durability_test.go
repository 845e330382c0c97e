package graph_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

var durabilities = []graph.Durability{graph.Sync, graph.Async, graph.Exit}

// mortal is the store of a process that can die: afterwards each write fails.
type mortal struct {
	*checkpoint.Memory
	dead bool
	gate chan struct{} // if not nil, each commit after the first waits for it
	n    int
}

func (m *mortal) Commit(ctx context.Context, c checkpoint.Commit) error {
	if m.n++; m.gate != nil && m.n > 1 {
		<-m.gate
	}
	if m.dead {
		return errFault
	}
	return m.Memory.Commit(ctx, c)
}

func (m *mortal) Put(ctx context.Context, p checkpoint.Pending) error {
	if m.dead {
		return errFault
	}
	return m.Memory.Put(ctx, p)
}

// Requirement: Durability bounds the loss of a crash
func TestDurability_ChangesNothingButTheHistory(t *testing.T) {
	for _, d := range durabilities {
		t.Run(d.String(), func(t *testing.T) {
			var ran counter
			cfg := stored()
			g := chainOf(t, &ran, cfg, "a", "b", "c")
			res, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Durability: d})
			logged(t, ended(t, graph.Done, res, err), "a1 b1 c1")
			want := map[graph.Durability]string{
				graph.Sync: "1 input; 2 step a; 3 step b; 4 step c", graph.Async: "1 input; 2 step a; 3 step b; 4 step c", graph.Exit: "1 step c",
			}[d]
			if got := tree(t, cfg); got != want {
				t.Errorf("the history is %q, want %q", got, want)
			}
			if head, _ := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}); head.Step != 3 || head.Status != graph.Done || head.Checkpoint != res.Checkpoint {
				t.Errorf("the head is %+v, the result said %d", head, res.Checkpoint)
			}
		})
	}
}

// The process dies while step 5 of a chain runs, or just before a write of that step.
//
// Requirement: Durability bounds the loss of a crash
func TestDurability_LossWindowOfEach(t *testing.T) {
	t.Run("sync", func(t *testing.T) {
		m := &mortal{Memory: new(checkpoint.Memory)}
		g := dying(t, m, "n5", nil)
		_, err := g.Invoke(ctx, world{}, t1)
		is(t, err, errFault)
		lost(t, m, "n1 n2 n3 n4") // the step that ran
	})
	t.Run("async", func(t *testing.T) {
		m := &mortal{Memory: new(checkpoint.Memory), gate: make(chan struct{}, 10)}
		for range 3 {
			m.gate <- struct{}{} // of n1, n2, n3; that of n4 is under way when n5 runs
		}
		g := dying(t, m, "n5", func() { close(m.gate) })
		_, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Durability: graph.Async})
		is(t, err, errFault)
		lost(t, m, "n1 n2 n3") // the step that ran, and the one before it
	})
	t.Run("exit", func(t *testing.T) {
		m := &mortal{Memory: new(checkpoint.Memory)}
		g := dying(t, m, "n5", nil)
		_, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Durability: graph.Exit})
		is(t, err, errFault)
		if _, err := graph.Inspect(ctx, m, checkpoint.Key{Thread: "t1"}); err == nil {
			t.Error("something was stored before the exit")
		}
	})
}

// dying is a chain n1 to n6 whose process dies in the node that at names.
func dying(t testing.TB, m *mortal, at string, then func()) *graph.Graph[world] {
	b := graph.New[world]("dying")
	from := graph.Start
	for i := range 6 {
		name := fmt.Sprint("n", i+1)
		b.Node(name, graph.Func(func(_ context.Context, s *world) error {
			s.Log.Append(name)
			if name == at {
				m.dead = true
				if then != nil {
					then()
				}
			}
			return nil
		}))
		b.Edge(from, name)
		from = name
	}
	b.Edge(from, graph.End)
	return build(t, b, graph.Config{Store: m})
}

// lost fails the test unless the stored log is want.
func lost(t testing.TB, m *mortal, want string) {
	t.Helper()
	var ran counter
	s, _, err := chainOf(t, &ran, graph.Config{Store: m.Memory}, "a").Thread("t1").State(ctx, 0)
	if got := strings.Join(s.Log.Slice(), " "); err != nil || got != want {
		t.Errorf("stored is %q, %v; want %q", got, err, want)
	}
}

// Requirement: Durability bounds the loss of a crash
func TestAsync_HasOneCommitInFlight(t *testing.T) {
	m := &mortal{Memory: new(checkpoint.Memory), gate: make(chan struct{})}
	reached := make(chan string)
	b := graph.New[world]("flight")
	from := graph.Start
	for _, name := range []string{"a", "b", "c"} {
		b.Node(name, graph.Func(func(_ context.Context, s *world) error {
			s.Log.Append(name)
			reached <- name
			return nil
		}))
		b.Edge(from, name)
		from = name
	}
	b.Edge(from, graph.End)
	g := build(t, b, graph.Config{Store: m})
	done := make(chan error)
	go func() {
		_, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Durability: graph.Async})
		done <- err
	}()
	if a, b := <-reached, <-reached; a != "a" || b != "b" { // b runs while the commit of a waits
		t.Fatalf("reached %s and %s", a, b)
	}
	select {
	case name := <-reached:
		t.Fatalf("%s runs while the commits of a and b both wait", name)
	case m.gate <- struct{}{}: // the commit of a lands
	}
	if c := <-reached; c != "c" {
		t.Fatalf("reached %s, want c", c)
	}
	close(m.gate)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// Requirement: Commit before the next step
func TestStoreError_FailsTheRunAtEachDurability(t *testing.T) {
	for _, d := range durabilities {
		for at := 1; at <= 4; at++ {
			f := &faultStore{Store: new(checkpoint.Memory), at: at}
			var ran counter
			g := chainOf(t, &ran, graph.Config{Store: f}, "a", "b", "c")
			res, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Durability: d})
			if f.writes < at {
				ended(t, graph.Done, res, err)
				continue
			}
			is(t, err, errFault)
			if d == graph.Async && ran.of("c") > 0 && at < 3 {
				t.Errorf("the run went on to c although commit %d failed", at)
			}
		}
	}
}

func TestAsync_FailureStopsTheStepThatRuns(t *testing.T) {
	m := &mortal{Memory: new(checkpoint.Memory), gate: make(chan struct{})}
	b := graph.New[world]("stops")
	b.Node("a", logs("a"))
	b.Node("b", graph.Func(func(ctx context.Context, _ *world) error {
		m.dead = true
		close(m.gate)
		<-ctx.Done() // it would run for ever
		return context.Cause(ctx)
	}))
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", graph.End)
	g := build(t, b, graph.Config{Store: m})
	_, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Durability: graph.Async})
	is(t, err, errFault)
}

// Requirement: Durability bounds the loss of a crash
func TestDurability_EveryEndOfARunIsStored(t *testing.T) {
	for _, d := range durabilities {
		t.Run(d.String(), func(t *testing.T) {
			var ran counter
			run := graph.RunOptions{Thread: "t1", Durability: d}
			broken := true
			b := graph.New[world]("ends")
			b.Node("a", logsNth("a", &ran))
			b.Node("b", logsNth("b", &ran))
			b.Node("ask", asks("ask", &ran, "x"))
			b.Node("fail", graph.Func(func(context.Context, *world) error {
				if broken {
					return errBoom
				}
				return nil
			}))
			b.Node("stuck", graph.Func(func(ctx context.Context, _ *world) error {
				if broken {
					<-ctx.Done()
				}
				return ctx.Err()
			}))
			b.Edge(graph.Start, "a")
			b.Edge("a", "b")
			b.Edge("a", "ask")
			b.Edge("ask", "fail")
			b.Edge("fail", "stuck")
			b.Edge("b", graph.End)
			b.Edge("stuck", graph.End)
			cfg := stored()
			g := build(t, b, cfg)
			res, err := g.Invoke(ctx, world{}, run)
			asked(t, ended(t, graph.Interrupted, res, err), "x")
			_, err = g.Resume(ctx, graph.Reply("y"), run)
			is(t, err, errBoom)
			if p, _ := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}); p.Status != graph.Failed || p.Step != 2 {
				t.Errorf("after the failure the thread is %q at step %d", p.Status, p.Step)
			}
			broken = false
			res, err = g.Resume(ctx, graph.Answers{}, run)
			logged(t, ended(t, graph.Done, res, err), "a1 ask x=y b1")
			for _, n := range []string{"a", "b"} {
				ran.want(t, n, 1)
			}
			broken = true
			short, cancel := context.WithCancel(ctx)
			defer cancel()
			_, err = g.UpdateAndResume(short, graph.Edit[world]{Do: func(s *world) (graph.Command, error) {
				s.Log.Append("edit")
				cancel()
				return graph.Goto("stuck"), nil
			}}, graph.Answers{}, run)
			is(t, err, context.Canceled)
			if got := logAt(t, g, 0); !strings.HasSuffix(got, "edit") {
				t.Errorf("after a cancelled run the log is %q", got)
			}
		})
	}
}

// Requirement: Durability bounds the loss of a crash
func TestDurability_IsInheritedBySubgraphs(t *testing.T) {
	for d, want := range map[graph.Durability]int{graph.Sync: 7, graph.Async: 7, graph.Exit: 1} {
		f := &faultStore{Store: new(checkpoint.Memory)}
		var ran counter
		b := graph.New[world]("outer")
		b.Node("in", hosts(child(t, &ran, graph.Config{}, nil), "", nil))
		b.Node("after", logs("after"))
		b.Edge(graph.Start, "in")
		b.Edge("in", "after")
		b.Edge("after", graph.End)
		g := build(t, b, graph.Config{Store: f})
		res, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Durability: d})
		logged(t, ended(t, graph.Done, res, err), "c1 c2 c3 after")
		if f.commits != want {
			t.Errorf("%v: %d commits, want %d", d, f.commits, want)
		}
	}
}

// Requirement: Limits fail loudly
// Requirement: a state is huge
func TestMaxState_LargerStateIsNotCommitted(t *testing.T) {
	for name, cfg := range map[string]graph.Config{"stored": stored(), "not stored": {}} {
		t.Run(name, func(t *testing.T) {
			cfg.MaxState = 4 << 10
			b := graph.New[world]("grows")
			b.Node("a", graph.Router(func(_ context.Context, s *world) (graph.Command, error) {
				s.Log.Append(strings.Repeat("x", 1000))
				return graph.Goto("a"), nil
			}, "a", graph.End))
			b.Edge(graph.Start, "a")
			g := build(t, b, cfg)
			run := graph.RunOptions{}
			if cfg.Store != nil {
				run = t1
			}
			res, err := g.Invoke(ctx, world{}, run)
			is(t, err, graph.ErrStateSize, "4096")
			if cfg.Store == nil {
				return
			}
			if s, p, err := g.Thread("t1").State(ctx, 0); err != nil || s.Log.Len() >= res.State.Log.Len() || p.Status != graph.Pending {
				t.Errorf("stored are %d words of %d, %q, %v", s.Log.Len(), res.State.Log.Len(), p.Status, err)
			}
		})
	}
}

func TestExit_FinishedSubgraphRunsOnce(t *testing.T) {
	var ran counter
	c := child(t, &ran, graph.Config{}, nil)
	b := graph.New[world]("outer")
	b.Node("in", graph.Func(func(ctx context.Context, s *world) error {
		end, err := c.Call(ctx, inner{})
		if err != nil {
			return err
		}
		s.Log.Append(end.Path.Slice()...)
		if ran.add("in") < 3 {
			return errBoom
		}
		ok, err := graph.Ask[bool](ctx, graph.Question{Prompt: "ok"})
		s.Log.Append(fmt.Sprint(ok))
		return err
	}).With(graph.Policy{Retry: graph.Retry{Attempts: 2, Initial: 1}}))
	b.Edge(graph.Start, "in")
	b.Edge("in", graph.End)
	g := build(t, b, stored())
	run := graph.RunOptions{Thread: "t1", Durability: graph.Exit}
	_, err := g.Invoke(ctx, world{}, run) // fails twice
	is(t, err, errBoom)
	res, err := g.Resume(ctx, graph.Answers{}, run) // asks
	asked(t, ended(t, graph.Interrupted, res, err), "ok")
	res, err = g.Resume(ctx, graph.Reply(true), run)
	logged(t, ended(t, graph.Done, res, err), "c1 c2 c3 true")
	ran.want(t, "c2", 1)
}

func TestExit_ParallelStepOfASubgraphIsNotStored(t *testing.T) {
	var ran counter
	forks := graph.New[inner]("forks")
	for _, n := range []string{"a", "b", "c", "d"} {
		forks.Node(n, steps(n, &ran, nil))
	}
	forks.Edge(graph.Start, "a")
	forks.Edge("a", "b")
	forks.Edge("a", "c")
	forks.Join("d", "b", "c")
	forks.Edge("d", graph.End)
	b := graph.New[world]("outer")
	b.Node("in", hosts(build(t, forks, graph.Config{}), "", nil))
	b.Edge(graph.Start, "in")
	b.Edge("in", graph.End)
	f := &faultStore{Store: new(checkpoint.Memory)}
	res, err := build(t, b, graph.Config{Store: f}).Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Durability: graph.Exit})
	logged(t, ended(t, graph.Done, res, err), "a b c d")
	if f.commits != 1 {
		t.Errorf("%d commits, want that of the end alone", f.commits)
	}
}

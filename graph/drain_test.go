package graph_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// drains is a node that asks for a drain and logs its name.
func drains(name string, d *graph.Drain) graph.Node[world] {
	return graph.Func(func(_ context.Context, s *world) error {
		d.Request("shutdown")
		s.Log.Append(name)
		return nil
	})
}

// drained fails the test unless the run was drained for this reason.
func drained(t *testing.T, reason string, res graph.Result[world], err error) graph.Result[world] {
	t.Helper()
	if ended(t, graph.Pending, res, err); res.Drained != reason {
		t.Errorf("the reason is %q, want %q", res.Drained, reason)
	}
	if len(res.Interrupts) != 0 {
		t.Errorf("the run asks %+v, want nothing", res.Interrupts)
	}
	return res
}

// A drain lets the running tasks finish, and their step is committed. A running child finishes its
// own step. No other task starts.
//
// Requirement: events: drain
func TestDrain_StopsBeforeTheNextStep(t *testing.T) {
	cfg := stored()
	g, runs, may := chain(t, cfg)
	live := g.Start(ctx, world{}, t1)
	<-runs
	live.Drain("deploy")
	live.Drain("too late")
	close(may)
	res, err := live.Wait()
	res = drained(t, "deploy", res, err)
	if logged(t, res, "a"); res.Steps != 1 || res.Checkpoint != 2 {
		t.Errorf("got %d steps and commit %d, want one step, committed", res.Steps, res.Checkpoint)
	}
	p, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"})
	if err != nil || p.Status != graph.Pending || len(p.Next) != 1 || p.Next[0] != "b" {
		t.Errorf("the thread is %+v, %v; want b to be next", p, err)
	}
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "a b c")
}

// Requirement: events: drain
func TestDrain_ChildFinishesItsStep(t *testing.T) {
	var ran counter
	var drain graph.Drain
	c := child(t, &ran, graph.Config{}, func(context.Context, *inner) error {
		drain.Request("shutdown")
		return nil
	})
	outer := graph.New[inner]("outer")
	outer.Node("o", graph.Subgraph(c, func(s *inner) (inner, error) { return inner{}, nil },
		func(s *inner, end *inner) error { s.Path.Append(end.Path.Slice()...); return nil }))
	outer.Edge(graph.Start, "o")
	outer.Edge("o", graph.End)
	cfg := stored()
	b := graph.New[world]("drain")
	b.Node("a", hosts(build(t, outer, graph.Config{}), "", nil))
	b.Node("beside", counts("beside", &ran))
	b.Node("b", counts("b", &ran))
	for _, n := range []string{"a", "beside"} {
		b.Edge(graph.Start, n)
	}
	b.Join("b", "a", "beside")
	b.Edge("b", graph.End)
	g := build(t, b, cfg)
	res, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Drain: &drain})
	drained(t, "shutdown", res, err)
	ran.want(t, "c3", 0)
	ran.want(t, "b", 0)
	if p, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}); err != nil || p.Status != graph.Pending || len(p.Failures) != 0 {
		t.Errorf("the thread is %+v, %v; want no open question", p, err)
	}
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "c1 c2 c3 beside b")
	for _, n := range []string{"c1", "c2", "c3", "beside", "b"} {
		ran.want(t, n, 1)
	}
}

// A drain holds back supersteps, but not the calls of a running node.
func TestDrain_RunningNodeMayMakeItsCalls(t *testing.T) {
	var ran counter
	var drain graph.Drain
	b := graph.New[world]("calls")
	b.Node("a", graph.Func(func(ctx context.Context, s *world) error {
		drain.Request("shutdown")
		first := graph.Go(ctx, "call", func(context.Context) (int, error) { return ran.add("call"), nil })
		second, err := graph.Call(ctx, "call", func(context.Context) (int, error) { return ran.add("call"), nil })
		if _, err := first.Wait(ctx); err != nil {
			return err
		}
		s.Log.Append(fmt.Sprint("a", second > 0))
		return err
	}))
	b.Node("b", counts("b", &ran))
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", graph.End)
	g := build(t, b, stored())
	res, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Drain: &drain})
	logged(t, drained(t, "shutdown", res, err), "atrue")
	ran.want(t, "call", 2)
	ran.want(t, "b", 0)
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "atrue b")
	ran.want(t, "call", 2)
}

// The drain is requested when no task is left.
//
// Requirement: events: drain
func TestDrain_InTheLastStepChangesNothing(t *testing.T) {
	for name, cfg := range map[string]graph.Config{"stored": stored(), "not stored": {}} {
		t.Run(name, func(t *testing.T) {
			var drain graph.Drain
			g := single(t, drains("a", &drain), graph.Policy{}, cfg)
			o := graph.RunOptions{Drain: &drain}
			if cfg.Store != nil {
				o.Thread = "t1"
			}
			res, err := g.Invoke(ctx, world{}, o)
			if logged(t, ended(t, graph.Done, res, err), "a"); res.Drained != "" {
				t.Errorf("a run that is done is drained: %q", res.Drained)
			}
			if reason, ok := drain.Requested(); !ok || reason != "shutdown" {
				t.Errorf("the drain has the reason %q, %v", reason, ok)
			}
		})
	}
}

func TestDrain_IsSharedByManyRuns(t *testing.T) {
	var drain graph.Drain
	var all sync.WaitGroup
	runs, may := make(chan string, 30), make(chan struct{})
	b := graph.New[world]("many")
	b.Node("a", waits("a", runs, may))
	b.Node("b", logs("b"))
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", graph.End)
	g := build(t, b, stored())
	for i := range 10 {
		of := func(kind string) graph.RunOptions {
			return graph.RunOptions{Thread: fmt.Sprint(kind, i), Drain: &drain}
		}
		all.Go(func() {
			res, err := g.Invoke(ctx, world{}, of("invoke"))
			logged(t, drained(t, "shutdown", res, err), "a")
		})
		all.Go(func() {
			res, err := g.Start(ctx, world{}, of("start")).Wait()
			logged(t, drained(t, "shutdown", res, err), "a")
		})
		all.Go(func() {
			var last graph.Event
			for ev, err := range g.Stream(ctx, world{}, of("stream")) {
				if last = ev; err != nil {
					t.Error(err)
				}
			}
			if last.Mode != graph.Ended || last.Status != graph.Pending || last.Drained != "shutdown" {
				t.Errorf("the last event is %+v, want the end of a drained run", last)
			}
		})
	}
	for range 30 {
		<-runs
	}
	drain.Request("shutdown")
	close(may)
	all.Wait()
	for _, kind := range []string{"invoke", "start", "stream"} {
		for i := range 10 {
			res, err := g.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: fmt.Sprint(kind, i)})
			logged(t, ended(t, graph.Done, res, err), "a b")
		}
	}
}

func TestDrain_RunThatBeginsDrainedKeepsItsInput(t *testing.T) {
	var drain graph.Drain
	drain.Request("")
	b := graph.New[world]("early")
	line(b, "a", "b")
	g := build(t, b, stored())
	in := world{}
	in.Name.Set("input")
	res, err := g.Invoke(ctx, in, graph.RunOptions{Thread: "t1", Drain: &drain})
	if drained(t, "a drain was requested", res, err); res.Steps != 0 || res.State.Name.Get() != "input" {
		t.Errorf("got %d steps and the name %q", res.Steps, res.State.Name.Get())
	}
	res, err = g.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "t1", Drain: &drain})
	if drained(t, "a drain was requested", res, err); res.Steps != 0 {
		t.Errorf("a resumed run that began drained took %d steps", res.Steps)
	}
	res = resume(t, g, graph.Answers{}, graph.Done)
	if logged(t, res, "a b"); res.State.Name.Get() != "input" {
		t.Errorf("the name is %q", res.State.Name.Get())
	}
}

func TestDrain_SubgraphThatBeginsDrainedContinuesLater(t *testing.T) {
	var ran counter
	var drain graph.Drain
	c := child(t, &ran, graph.Config{}, nil)
	b := graph.New[world]("drain")
	b.Node("a", graph.Subgraph(c, func(*world) (inner, error) {
		drain.Request("shutdown") // the node runs, and its child has not begun
		return inner{}, nil
	}, func(s *world, end *inner) error {
		s.Log.Append(end.Path.Slice()...)
		return nil
	}))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	g := build(t, b, stored())
	sameLines(t, eventLines(t, g.Stream(ctx, world{}, graph.RunOptions{Thread: "t1", Drain: &drain, Modes: graph.Tasks})), `
started a
draining a
ended pending []`)
	ran.want(t, "c1", 0)
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "c1 c2 c3")
}

// Requirement: events: drain
func TestDrain_BesideAQuestion(t *testing.T) {
	var ran counter
	var drain graph.Drain
	c := child(t, &ran, graph.Config{}, func(context.Context, *inner) error {
		drain.Request("shutdown")
		return nil
	})
	b := graph.New[world]("drain")
	b.Node("sub", hosts(c, "", nil))
	b.Node("ask", asks("ask", &ran, "x"))
	for _, n := range []string{"ask", "sub"} {
		b.Edge(graph.Start, n)
		b.Edge(n, graph.End)
	}
	g := build(t, b, stored())
	res, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Drain: &drain})
	ended(t, graph.Interrupted, res, err)
	if len(res.Interrupts) != 1 || res.Interrupts[0].Kind != "question" || res.Drained != "shutdown" {
		t.Errorf("got %+v and the reason %q, want one question, and that it was drained", res.Interrupts, res.Drained)
	}
	res = resume(t, g, graph.Answers{}, graph.Interrupted) // the child goes on, the question waits
	ran.want(t, "c3", 1)
	ran.want(t, "ask", 1)
	if res.Drained != "" {
		t.Errorf("a run without a drain has the reason %q", res.Drained)
	}
	logged(t, resume(t, g, graph.Reply("1"), graph.Done), "ask x=1 c1 c2 c3")
	ran.want(t, "c3", 1)
}

func TestDrain_AskingChildContinuesWithItsRest(t *testing.T) {
	var ran counter
	var drain graph.Drain
	c := graph.New[inner]("child")
	c.Node("asks", graph.Func(func(ctx context.Context, s *inner) error {
		_, err := graph.Ask[string](ctx, graph.Question{Prompt: "?"})
		return err
	}))
	c.Node("flaky", graph.Func(func(_ context.Context, s *inner) error {
		if ran.add("flaky") == 1 {
			return errBoom
		}
		s.Path.Append("flaky")
		return nil
	}))
	for _, n := range []string{"asks", "flaky"} {
		c.Edge(graph.Start, n)
		c.Edge(n, graph.End)
	}
	g := single(t, hosts(build(t, c, graph.Config{}), "", nil), graph.Policy{}, stored())
	_, err := g.Invoke(ctx, world{}, t1)
	is(t, err, errBoom)
	drain.Request("shutdown")
	res, err := g.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "t1", Drain: &drain})
	if err != nil || res.Drained != "shutdown" {
		t.Fatalf("got %+v, %v; want the run to be drained", res, err)
	}
	ran.want(t, "flaky", 1)
	resume(t, g, graph.Answers{}, graph.Interrupted) // what failed goes on without an answer
	ran.want(t, "flaky", 2)
	logged(t, resume(t, g, graph.Reply("1"), graph.Done), "flaky")
	ran.want(t, "flaky", 2)
}

func TestDrain_CancelTakesPrecedence(t *testing.T) {
	g, runs, _ := chain(t, stored())
	live := g.Start(ctx, world{}, t1)
	<-runs
	live.Drain("shutdown")
	live.Cancel(errBoom)
	res, err := live.Wait()
	is(t, err, errBoom)
	if res.Status != graph.Failed || res.Drained != "" {
		t.Errorf("got %s, drained %q; want a failure", res.Status, res.Drained)
	}
}

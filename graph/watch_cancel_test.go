package graph_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// slowStore signals each call of Put, and waits until it may run.
type slowStore struct {
	checkpoint.Store
	puts chan struct{}
	may  chan struct{}
	done chan struct{}
}

func (s *slowStore) Put(ctx context.Context, p checkpoint.Pending) error {
	s.puts <- struct{}{}
	<-s.may
	defer close(s.done)
	return s.Store.Put(ctx, p)
}

// TestCancel_StoresFinishedResultsFirst cancels a run whose store is slow.
//
// Requirement: a context ends during a write
func TestCancel_StoresFinishedResultsFirst(t *testing.T) {
	for _, d := range durabilities {
		t.Run(d.String(), func(t *testing.T) { storesWhatItHad(t, d) })
	}
}

func storesWhatItHad(t *testing.T, d graph.Durability) {
	store := &slowStore{new(checkpoint.Memory), make(chan struct{}, 9), make(chan struct{}), make(chan struct{})}
	runs, may := make(chan string, 1), make(chan struct{})
	b := graph.New[world]("cancelled")
	line(b, "first")
	b.Node("a", waits("a", runs, may))
	b.Edge("first", "a")
	b.Edge("a", graph.End)
	g := build(t, b, graph.Config{Store: store})
	live := g.Start(ctx, world{}, graph.RunOptions{Thread: "t1", Durability: d})
	<-runs
	live.Cancel(errBoom)
	<-store.puts
	go close(store.may)
	_, err := live.Wait()
	is(t, err, errBoom)
	select {
	case <-store.done:
	default:
		t.Error("Wait returned before what had happened was stored")
	}
	p, err := graph.Inspect(ctx, store, checkpoint.Key{Thread: "t1"})
	if err != nil || p.Status != graph.Pending || len(p.Failures) != 1 || !p.Failures[0].Cancelled {
		t.Errorf("the thread is %+v, %v; want a task that was cancelled", p, err)
	}
	if got := logAt(t, g, 0); got != "first" {
		t.Errorf("stored is %q, want the step before", got)
	}
}

// TestStream_CloseStopsTheRun leaves a stream while one sibling has finished and
// one still runs.
//
// Requirement: events: leaving
func TestStream_CloseStopsTheRun(t *testing.T) {
	var ran counter
	cancelled := make(chan struct{}, 1)
	b := graph.New[world]("close")
	b.Node("quick", counts("quick", &ran))
	b.Node("slow", graph.Func(func(ctx context.Context, s *world) error {
		if ran.add("slow") == 1 {
			<-ctx.Done()
			cancelled <- struct{}{}
			return ctx.Err()
		}
		s.Log.Append("slow")
		return nil
	}))
	b.Node("next", counts("next", &ran))
	for _, n := range []string{"quick", "slow"} {
		b.Edge(graph.Start, n)
	}
	b.Join("next", "quick", "slow")
	b.Edge("next", graph.End)
	g := build(t, b, stored())
	for ev := range g.Stream(ctx, world{}, graph.RunOptions{Thread: "t1", Modes: graph.Tasks}) {
		if ev.Phase == graph.Finished && ev.Node == "quick" {
			break
		}
	}
	<-cancelled // and the loop has ended after that
	ran.want(t, "next", 0)
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "quick slow next")
	ran.want(t, "quick", 1) // its result was stored
	ran.want(t, "next", 1)
}

func counts(name string, ran *counter) graph.Node[world] {
	return graph.Func(func(_ context.Context, s *world) error {
		ran.add(name)
		s.Log.Append(name)
		return nil
	})
}

// TestRun_LeavesNothingBehind runs many of every kind under one long-lived context, and
// looks whether anything still holds them. TestMain looks for goroutines.
//
// Requirement: Panics and cancelling
func TestRun_LeavesNothingBehind(t *testing.T) {
	for _, limit := range []time.Duration{0, time.Hour} {
		t.Run(limit.String(), func(t *testing.T) { leavesNothing(t, limit) })
	}
}

func leavesNothing(t *testing.T, limit time.Duration) {
	long, cancel := context.WithCancel(ctx)
	defer cancel()
	b := graph.New[world]("leaves nothing")
	line(b, "a", "b")
	cfg := stored()
	cfg.Timeout = limit
	g := build(t, b, cfg)
	var drain graph.Drain
	var left []weak.Pointer[graph.Handle[world]]
	var states []weak.Pointer[world]
	for i := range 100 {
		o := graph.RunOptions{Thread: fmt.Sprint(i), Modes: graph.Debug, Drain: &drain}
		live := g.Start(long, world{}, o)
		for ev := range live.Events(graph.Values) {
			states = append(states, weak.Make(ev.State.(*world)))
			if i%2 == 0 {
				break
			}
		}
		_ = live.Events(graph.Tasks) // never read
		if _, err := live.Wait(); err != nil {
			t.Fatal(err)
		}
		left = append(left, weak.Make(live))
		for range g.Stream(long, world{}, o) {
			if i%3 == 0 {
				break
			}
		}
		if _, err := g.Resume(long, graph.Answers{}, o); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.GC()
	held := len(slices.DeleteFunc(left, func(p weak.Pointer[graph.Handle[world]]) bool { return p.Value() == nil }))
	reachable := len(slices.DeleteFunc(states, func(p weak.Pointer[world]) bool { return p.Value() == nil }))
	if held > 1 || reachable > 2 { // the last ones may still be in a register
		t.Errorf("%d handles and %d states outlive their runs", held, reachable)
	}
	runtime.KeepAlive(g)
}

// TestEvents_OfAnInterruptedRun checks three rules. A result beside a question is no update before
// its step is committed. The question comes with the end. A resumed run first emits its current
// state.
//
// Requirement: events: after the step, as it happens
// Requirement: events: questions
func TestEvents_OfAnInterruptedRun(t *testing.T) {
	var ran counter
	b := graph.New[world]("row 80")
	b.Node("first", logs("first"))
	b.Node("ask", asks("ask", &ran, "x"))
	b.Node("beside", logs("beside"))
	b.Edge(graph.Start, "first")
	for _, n := range []string{"ask", "beside"} {
		b.Edge("first", n)
		b.Edge(n, graph.End)
	}
	g := build(t, b, stored())
	o := graph.RunOptions{Thread: "t1", Modes: graph.Updates | graph.Values}
	sameLines(t, eventLines(t, g.Stream(ctx, world{}, o)), `
state []
wrote first {"log":["first"]}
state [first]
ended interrupted [first]`)
	var end graph.Event
	for ev, err := range g.StreamResume(ctx, graph.Answers{}, o) { // without an answer
		if is(t, err, nil); ev.Mode == graph.Ended {
			end = ev
		}
	}
	if end.Status != graph.Interrupted || len(end.Interrupts) != 1 || end.Interrupts[0].Node != "ask" {
		t.Errorf("the end is %+v, want the question of ask", end)
	}
	sameLines(t, eventLines(t, g.StreamResume(ctx, graph.Reply("1"), o)), `
state [first]
wrote ask {"log":["ask","x=1"]}
wrote beside {"log":["beside"]}
state [first ask x=1 beside]
ended done [first ask x=1 beside]`)
	sameLines(t, eventLines(t, g.StreamResume(ctx, graph.Answers{}, o)), `
state [first ask x=1 beside]
ended done [first ask x=1 beside]`)
}

// TestChild_EventsComeBeforeItsParentHasFinished has a child that continues only after the reader
// has got its events.
//
// Requirement: events: after the step, as it happens
func TestChild_EventsComeBeforeItsParentHasFinished(t *testing.T) {
	seen := map[string]chan struct{}{}
	for _, what := range []string{"custom c1 1", "wrote c1 {\"path\":[\"c1\"]}", "custom b 2"} {
		seen[what] = make(chan struct{})
	}
	c := graph.New[inner]("child")
	c.Node("c1", graph.Func(func(ctx context.Context, s *inner) error {
		err := graph.Emit(ctx, 1)
		<-seen["custom c1 1"]
		s.Path.Append("c1")
		return err
	}))
	c.Node("c2", graph.Func(func(context.Context, *inner) error {
		<-seen["wrote c1 {\"path\":[\"c1\"]}"]
		return nil
	}))
	c.Edge(graph.Start, "c1")
	c.Edge("c1", "c2")
	c.Edge("c2", graph.End)
	child := graph.Subgraph(build(t, c, graph.Config{}), func(*world) (inner, error) { return inner{}, nil },
		func(s *world, end *inner) error { s.Log.Append(end.Path.Slice()...); return nil })
	b := graph.New[world]("parent")
	b.Node("a", child)
	b.Node("b", graph.Func(func(ctx context.Context, _ *world) error {
		err := graph.Emit(ctx, 2)
		<-seen["custom b 2"]
		return err
	}))
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", graph.End)
	g := build(t, b, graph.Config{})
	for ev, err := range g.Stream(ctx, world{}, graph.RunOptions{Modes: graph.Updates | graph.Custom}) {
		is(t, err, nil)
		s := short(ev)
		if may, ok := seen[s[strings.Index(s, "/")+1:]]; ok {
			close(may)
		}
	}
}

package graph_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/weftrun/weft/graph"
)

// waits is a node that signals when it runs, and returns when it may or when its context ends.
func waits(name string, runs chan<- string, may <-chan struct{}) graph.Node[world] {
	return graph.Func(func(ctx context.Context, s *world) error {
		runs <- name
		select {
		case <-may:
			s.Log.Append(name)
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// chain makes a graph in which a, that waits, comes before b and c.
func chain(t *testing.T, cfg graph.Config) (g *graph.Graph[world], runs chan string, may chan struct{}) {
	runs, may = make(chan string, 1), make(chan struct{})
	b := graph.New[world]("chain")
	b.Node("a", waits("a", runs, may))
	b.Node("b", logs("b"))
	b.Node("c", logs("c"))
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", "c")
	b.Edge("c", graph.End)
	return build(t, b, cfg), runs, may
}

// lines returns what the events say, in short, and the error at the end.
func lines(events iter.Seq2[graph.Event, error]) (all []string, last error) {
	for ev, err := range events {
		if err != nil {
			return all, err
		}
		all = append(all, short(ev))
	}
	return all, nil
}

// Requirement: events: one order
func TestWait_AllCallersGetTheSameResult(t *testing.T) {
	g, runs, may := chain(t, stored())
	live := g.Start(ctx, world{}, t1)
	var waiters sync.WaitGroup
	for range 8 {
		waiters.Go(func() {
			res, err := live.Wait()
			if err != nil || res.Status != graph.Done || res.Run != live.ID() || res.State.Log.Len() != 3 {
				t.Errorf("a waiter got %+v, %v; want run %s to be done", res, err, live.ID())
			}
		})
	}
	<-runs
	close(may)
	waiters.Wait()
	res, err := live.Wait() // also after the end
	logged(t, ended(t, graph.Done, res, err), "a b c")
}

// Requirement: events: one order
func TestHold_RunWaitsForItsReaders(t *testing.T) {
	g, runs, may := chain(t, graph.Config{})
	close(may)
	live := g.Start(ctx, world{}, graph.RunOptions{Hold: true})
	readers := []iter.Seq2[graph.Event, error]{live.Events(graph.Updates), live.Events(0), live.Events(graph.Updates | graph.Values)}
	select {
	case <-runs:
		t.Fatal("the run began before anybody read or waited")
	default:
	}
	want := "wrote a {\"log\":[\"a\"]}\nwrote b {\"log\":[\"b\"]}\nwrote c {\"log\":[\"c\"]}\nended done [a b c]"
	for _, events := range readers[:2] {
		got, err := lines(events)
		sameLines(t, got, want)
		if err != nil {
			t.Error(err)
		}
	}
	got, _ := lines(readers[2])
	sameLines(t, got, `
state []
wrote a {"log":["a"]}
state [a]
wrote b {"log":["b"]}
state [a b]
wrote c {"log":["c"]}
state [a b c]
ended done [a b c]`)
}

// Requirement: events: one order
func TestEvents_SequenceNumbersAreOfTheRun(t *testing.T) {
	g, _, may := chain(t, graph.Config{})
	close(may)
	live := g.Start(ctx, world{}, graph.RunOptions{Hold: true})
	all, some := live.Events(graph.Debug), live.Events(graph.Updates)
	seqs := map[string]uint64{}
	for ev := range all {
		seqs[short(ev)] = ev.Seq
	}
	last := uint64(0)
	for ev := range some {
		if ev.Seq != seqs[short(ev)] || ev.Seq <= last {
			t.Errorf("%q has the number %d after %d, and %d for another reader", short(ev), ev.Seq, last, seqs[short(ev)])
		}
		last = ev.Seq
	}
}

// Requirement: events: leaving
func TestReader_OfALiveRunOnlyLeaves(t *testing.T) {
	g, _, may := chain(t, stored())
	close(may)
	live := g.Start(ctx, world{}, graph.RunOptions{Thread: "t1", Hold: true})
	stops, panics, exits, stays := live.Events(graph.Debug), live.Events(graph.Debug), live.Events(graph.Debug), live.Events(graph.Updates)
	for range stops {
		break
	}
	func() {
		defer func() { _ = recover() }()
		for range panics {
			panic("reader")
		}
	}()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for range exits {
			runtime.Goexit()
		}
	}()
	<-gone
	got, err := lines(stays)
	if err != nil || len(got) != 4 {
		t.Errorf("who stayed got %v, %v; want three updates and the end", got, err)
	}
	res, err := live.Wait()
	logged(t, ended(t, graph.Done, res, err), "a b c")
}

func TestReader_ThatComesLate(t *testing.T) {
	g, runs, may := chain(t, graph.Config{})
	live := g.Start(ctx, world{}, graph.RunOptions{})
	<-runs
	middle := live.Events(graph.Tasks) // a has started already
	close(may)
	got, err := lines(middle)
	sameLines(t, got, "finished a\nstarted b\nfinished b\nstarted c\nfinished c\nended done [a b c]")
	is(t, err, nil)
	for range 2 { // after the end there is the end, for a loop of its own too
		got, err = lines(middle)
		sameLines(t, got, "ended done [a b c]")
		is(t, err, nil)
	}
}

func TestReaders_GetTheCauseOfAFailure(t *testing.T) {
	var ran counter
	g := single(t, flaky(&ran, 9, errBoom), graph.Policy{}, graph.Config{})
	live := g.Start(ctx, world{}, graph.RunOptions{})
	_, err := live.Wait()
	is(t, err, errBoom)
	for range 2 {
		got, err := lines(live.Events(graph.Tasks))
		is(t, err, errBoom)
		if len(got) != 0 {
			t.Errorf("got %v after the end", got)
		}
	}
	_, err = g.StartResume(ctx, graph.Answers{}, graph.RunOptions{}).Wait()
	is(t, err, graph.ErrNoStore)
	_, err = lines(g.StartResume(ctx, graph.Answers{}, graph.RunOptions{}).Events(graph.Tasks))
	is(t, err, graph.ErrNoStore)
}

func TestStartResume_ContinuesWithAnAnswer(t *testing.T) {
	var ran counter
	g := single(t, asks("a", &ran, "x"), graph.Policy{}, stored())
	res, err := g.Start(ctx, world{}, t1).Wait()
	ended(t, graph.Interrupted, res, err)
	res, err = g.StartResume(ctx, graph.Reply("1"), t1).Wait()
	logged(t, ended(t, graph.Done, res, err), "a x=1")
}

// Requirement: events: drain
func TestCancel_HasACause(t *testing.T) {
	errWhy := errors.New("the budget is spent")
	for name, node := range map[string]graph.Node[world]{
		"passes on":       graph.Func(func(ctx context.Context, _ *world) error { <-ctx.Done(); return ctx.Err() }),
		"its cause":       graph.Func(func(ctx context.Context, _ *world) error { <-ctx.Done(); return context.Cause(ctx) }),
		"own error":       graph.Func(func(ctx context.Context, _ *world) error { <-ctx.Done(); return errBoom }),
		"takes no notice": graph.Func(func(ctx context.Context, _ *world) error { <-ctx.Done(); return nil }),
	} {
		t.Run(name, func(t *testing.T) {
			b := graph.New[world]("cancel")
			b.Node("a", node)
			b.Node("b", logs("b"))
			b.Edge(graph.Start, "a")
			b.Edge("a", "b")
			b.Edge("b", graph.End)
			g := build(t, b, stored())
			live := g.Start(ctx, world{}, graph.RunOptions{Thread: "t1", Hold: true})
			for ev := range live.Events(graph.Tasks) {
				if ev.Phase == graph.Started {
					break
				}
			}
			live.Cancel(errWhy)
			live.Cancel(errBoom) // the first one counts
			res, err := live.Wait()
			is(t, err, errWhy, "the budget is spent")
			if res.Status != graph.Failed {
				t.Errorf("the run ended %s, want failed", res.Status)
			}
		})
	}
	g, runs, _ := chain(t, graph.Config{})
	live := g.Start(ctx, world{}, graph.RunOptions{})
	<-runs
	live.Cancel(nil)
	_, err := live.Wait()
	is(t, err, context.Canceled)
}

func TestHold_RunCanBeCancelledAndWaitedFor(t *testing.T) {
	g, _, _ := chain(t, stored())
	live := g.Start(ctx, world{}, graph.RunOptions{Thread: "t1", Hold: true})
	live.Cancel(errBoom)
	_, err := live.Wait()
	is(t, err, errBoom)
}

// Requirement: events: slow readers
func TestIdleReader_SlowsTheRunUntilCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran counter
		nodes := map[string]graph.Node[world]{}
		for i := range 200 { // many more events than the buffer holds
			nodes[fmt.Sprint(i)] = graph.Func(func(ctx context.Context, _ *world) error {
				ran.add("all")
				return graph.Emit(ctx, "hello")
			})
		}
		g := build(t, parallel(nodes), stored())
		live := g.Start(ctx, world{}, graph.RunOptions{Thread: "t1", Hold: true})
		never := live.Events(graph.Tasks | graph.Custom)
		var waiter sync.WaitGroup
		var failed error
		waiter.Go(func() { _, failed = live.Wait() })
		synctest.Wait() // the run waits for the reader
		if n := ran.of("all"); n >= 200 {
			t.Errorf("all %d nodes ran, though no reader took their events", n)
		}
		live.Cancel(errBoom)
		waiter.Wait()
		is(t, failed, errBoom)
		n, last := uint64(0), error(nil)
		for ev, err := range never { // what it was owed is still there, and complete
			if last = err; err != nil {
				break
			}
			if n++; ev.Seq != n {
				t.Errorf("event %d has the number %d", n, ev.Seq)
			}
		}
		is(t, last, errBoom)
		if n <= 64 {
			t.Errorf("there were %d events, want those of the tasks that were under way too", n)
		}
		res, err := g.Resume(ctx, graph.Answers{}, t1)
		ended(t, graph.Done, res, err)
	})
}

// Requirement: events: slow readers
func TestLossyReader_GetsTheNumberOfLostEvents(t *testing.T) {
	g, _, may := chain(t, graph.Config{})
	close(may)
	live := g.Start(ctx, world{}, graph.RunOptions{Hold: true})
	all := live.Events(graph.Tasks | graph.Values)
	slow := live.Join(graph.Reader{Modes: graph.Tasks | graph.Values, Lossy: true, Buffer: 3})
	last := live.Join(graph.Reader{Modes: graph.Tasks, Lossy: true, Buffer: 1})
	want, err := lines(all)
	if err != nil || len(want) != 11 {
		t.Fatalf("got %d events, %v; want 11", len(want), err)
	}
	var got []graph.Event
	for ev := range slow {
		got = append(got, ev)
	}
	if len(got) != 4 || got[0].Mode != graph.Missed || got[0].Missed != 8 || got[0].Seq != 8 {
		t.Fatalf("the slow reader got %+v; want a report of 8 lost events, and the last three", got)
	}
	for i, ev := range got[1:] {
		if ev.Seq != uint64(9+i) || short(ev) != want[8+i] {
			t.Errorf("event %d is %q, number %d; want %q", i, short(ev), ev.Seq, want[8+i])
		}
	}
	got = nil
	for ev := range last {
		got = append(got, ev)
	}
	if len(got) != 2 || got[0].Missed != 6 || got[1].Mode != graph.Ended {
		t.Errorf("the reader with room for one got %+v; want a report of 6, and the end", got)
	}
}

func TestReader_LossyAndQuickLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, runs, may := chain(t, graph.Config{})
		live := g.Start(ctx, world{}, graph.RunOptions{Hold: true})
		var got []string
		var reader sync.WaitGroup
		events := live.Join(graph.Reader{Modes: graph.Tasks, Lossy: true})
		reader.Go(func() { got, _ = lines(events) })
		<-runs
		close(may)
		reader.Wait()
		sameLines(t, got, "started a\nfinished a\nstarted b\nfinished b\nstarted c\nfinished c\nended done [a b c]")
	})
}

func TestDepth_OmitsSubgraphs(t *testing.T) {
	leaf := graph.New[inner]("leaf")
	leaf.Node("l", graph.Func(func(_ context.Context, s *inner) error { s.Path.Append("l"); return nil }))
	leaf.Edge(graph.Start, "l")
	leaf.Edge("l", graph.End)
	same := func(s *inner) (inner, error) { return inner{}, nil }
	back := func(s *inner, end *inner) error { s.Path.Append(end.Path.Slice()...); return nil }
	mid := graph.New[inner]("mid")
	mid.Node("m", graph.Subgraph(build(t, leaf, graph.Config{}), same, back))
	mid.Edge(graph.Start, "m")
	mid.Edge("m", graph.End)
	g := single(t, hosts(build(t, mid, graph.Config{}), "", nil), graph.Policy{}, graph.Config{})
	for depth, want := range map[int]string{
		1: `wrote a {"log":["l"]}`,
		2: "a/wrote m {\"path\":[\"l\"]}\nwrote a {\"log\":[\"l\"]}",
		3: "a/wrote l {\"path\":[\"l\"]}\na/wrote m {\"path\":[\"l\"]}\nwrote a {\"log\":[\"l\"]}",
		0: "a/wrote l {\"path\":[\"l\"]}\na/wrote m {\"path\":[\"l\"]}\nwrote a {\"log\":[\"l\"]}",
	} {
		sameLines(t, eventLines(t, g.Stream(ctx, world{}, graph.RunOptions{Depth: depth})), want+"\nended done [l]")
	}
	// One reader that looks deep does not make another one do so.
	live := g.Start(ctx, world{}, graph.RunOptions{Hold: true})
	deep, flat := live.Join(graph.Reader{}), live.Join(graph.Reader{Depth: 1})
	_, _ = lines(deep)
	got, _ := lines(flat)
	sameLines(t, got, "wrote a {\"log\":[\"l\"]}\nended done [l]")
}

func TestReaders_WrongOnesAreErrors(t *testing.T) {
	g, _, may := chain(t, graph.Config{})
	close(may)
	live := g.Start(ctx, world{}, graph.RunOptions{Hold: true})
	for _, r := range []graph.Reader{{Depth: -1}, {Buffer: -1}} {
		_, err := lines(live.Join(r))
		is(t, err, graph.ErrReader, "-1")
	}
	_, err := lines(live.Events(graph.Updates | 1<<20))
	is(t, err, graph.ErrMode, "updates,Mode(0x100000)")
	_, err = lines(g.Stream(ctx, world{}, graph.RunOptions{Modes: 1 << 20}))
	is(t, err, graph.ErrMode)
	_, err = lines(g.Stream(ctx, world{}, graph.RunOptions{Depth: -1}))
	is(t, err, graph.ErrReader)
	res, err := live.Wait()
	ended(t, graph.Done, res, err)
}

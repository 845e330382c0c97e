package graph_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// Requirement: One run owns a thread
func TestLease_OfManyResumersOneRunsTheTasks(t *testing.T) {
	var ran counter
	cfg := stored()
	g := build(t, parallel(map[string]graph.Node[world]{"a": asks("a", &ran, "x"), "b": asks("b", &ran)}), cfg)
	res := invoke(t, g, "t1", graph.Interrupted)
	a := graph.Answer(idOf(t, res, "x"), "1")
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if _, err := g.Resume(ctx, a, t1); err != nil && !errors.Is(err, checkpoint.ErrOwned) {
				t.Errorf("got %v; want no error, or that the thread is owned", err)
			}
		})
	}
	wg.Wait()
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "a x=1 b")
	ran.want(t, "a", 2) // once to ask, once with the answer
	ran.want(t, "b", 1)
}

// occupied is a graph of one node that sends to running when it starts, and waits until goOn is
// closed.
func occupied(t *testing.T, cfg graph.Config) (g *graph.Graph[world], running, goOn chan struct{}) {
	running, goOn = make(chan struct{}, 2), make(chan struct{})
	return single(t, graph.Func(func(ctx context.Context, s *world) error {
		running <- struct{}{}
		select {
		case <-goOn:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		s.Log.Append("a")
		return nil
	}), graph.Policy{}, cfg), running, goOn
}

// Requirement: One run owns a thread
func TestLease_RunOwnsItsThread(t *testing.T) {
	cfg := stored()
	g, running, goOn := occupied(t, cfg)
	first := make(chan error)
	go func() {
		_, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Lease: checkpoint.HoldOptions{Owner: "first"}})
		first <- err
	}()
	<-running
	_, err := g.Invoke(ctx, world{}, t1)
	is(t, err, checkpoint.ErrOwned, "first", "t1")
	_, err = g.Patch(ctx, func(*world) error { return nil }, t1)
	is(t, err, checkpoint.ErrOwned)
	if _, p, err := g.Thread("t1").State(ctx, 0); err != nil || p.Status != graph.Pending {
		t.Errorf("reading needs no lease: %q, %v", p.Status, err)
	}
	waits := make(chan error)
	go func() {
		_, err := g.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "t1", Lease: checkpoint.HoldOptions{Policy: checkpoint.Wait}})
		waits <- err
	}()
	close(goOn)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if err := <-waits; err != nil {
		t.Error(err)
	}
}

// Requirement: One run owns a thread
func TestRun_OvertakenStopsAndWritesNothing(t *testing.T) {
	cfg := stored()
	g, running, goOn := occupied(t, cfg)
	first := make(chan error)
	go func() {
		_, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Lease: checkpoint.HoldOptions{TTL: 30 * time.Millisecond}})
		first <- err
	}()
	<-running
	second := make(chan error)
	go func() {
		_, err := g.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "t1", Lease: checkpoint.HoldOptions{Policy: checkpoint.TakeOver}})
		second <- err
	}()
	<-running
	err := <-first // it notices when it renews its lease
	is(t, err, checkpoint.ErrLeaseLost)
	close(goOn)
	if err := <-second; err != nil {
		t.Error(err)
	}
	if got := logAt(t, g, 0); got != "a" {
		t.Errorf("the log is %q, want the second run's alone", got)
	}
}

// Requirement: One run owns a thread
func TestLease_AbandonedRunReleasesItsThread(t *testing.T) {
	cfg := stored()
	cfg.Grace = time.Millisecond
	release := make(chan struct{})
	running := make(chan struct{}, 1)
	g := single(t, graph.Func(func(context.Context, *world) error {
		running <- struct{}{}
		<-release
		return nil
	}), graph.Policy{}, cfg)
	short, cancel := context.WithCancel(ctx)
	go func() { <-running; cancel() }()
	_, err := g.Invoke(short, world{}, t1)
	is(t, err, graph.ErrAbandoned)
	held, err := checkpoint.Hold(ctx, cfg.Store, "t1", checkpoint.HoldOptions{})
	if err != nil {
		t.Fatal(err)
	}
	close(release)
	if err := held.Release(ctx); err != nil {
		t.Error(err)
	}
}

func TestLease_ReleaseCancelsNothing(t *testing.T) {
	var ran counter
	g := build(t, parallel(map[string]graph.Node[world]{"a": asks("a", &ran, "x")}), stored())
	invoke(t, g, "t1", graph.Interrupted)
	for range 100 {
		_, err := g.Invoke(ctx, world{}, t1)
		is(t, err, graph.ErrWaiting)
		if errors.Is(err, context.Canceled) {
			t.Fatalf("no caller cancelled, but the error is a cancellation: %v", err)
		}
	}
}

// slowRelease takes its time to give a thread back, as a busy store does.
type slowRelease struct{ checkpoint.Memory }

func (s *slowRelease) Release(ctx context.Context, thread, fence string) error {
	select {
	case <-time.After(20 * time.Second):
		return s.Memory.Release(ctx, thread, fence)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestRun_ThreadGivenBackSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := graph.New[struct{}]("g")
		b.Node("n", graph.Func(func(context.Context, *struct{}) error { return nil }))
		b.Edge(graph.Start, "n")
		b.Edge("n", graph.End)
		g, err := b.Compile(graph.Config{Store: new(slowRelease)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Invoke(t.Context(), struct{}{}, graph.RunOptions{Thread: "thread"}); err != nil {
			t.Errorf("rule: a run that is done and stored is no failure when its thread is given back slowly\n got: %v", err)
		}
	})
}

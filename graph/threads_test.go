package graph_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// TestNestedGraphs_HaveTheirOwnNamespaces runs one child from two nodes, and a
// grandchild of the same name as a child, for two turns on two threads.
func TestNestedGraphs_HaveTheirOwnNamespaces(t *testing.T) {
	cfg := stored()
	memo := remembers(t, graph.PerThread, "memo", nil)
	mid := graph.New[world]("mid")
	mid.Node("x", callsOf(memo, "deep"))
	mid.Edge(graph.Start, "x")
	mid.Edge("x", graph.End)
	inner := build(t, mid, graph.Config{Nested: graph.PerThread})
	g := build(t, parallel(map[string]graph.Node[world]{
		"x": callsOf(memo, "a"), "y": callsOf(memo, "b"),
		"z": graph.Func(func(ctx context.Context, s *world) error {
			end, err := inner.Call(ctx, world{})
			s.Log.Append(end.Log.Slice()...)
			return err
		}),
	}), cfg)
	for _, thread := range []string{"t1", "t2"} {
		logged(t, invoke(t, g, thread, graph.Done), "a/a b/b deep/deep")
		spaces, err := cfg.Store.Namespaces(ctx, thread)
		slices.Sort(spaces)
		if got := strings.Join(spaces, " "); err != nil || got != " x/memo y/memo z/mid z/mid|x/memo" {
			t.Errorf("thread %s has the namespaces %q, %v; want one for each graph at each place", thread, got, err)
		}
	}
	logged(t, invoke(t, g, "t1", graph.Done), "a/a b/b deep/deep a+a/a b+b/b deep/deep deep+deep/deep")
}

// TestRuns_OfConcurrentOnesOnAThreadOneWins holds runs in their node until all are there.
func TestRuns_OfConcurrentOnesOnAThreadOneWins(t *testing.T) {
	const runs = 8
	inside, goOn, errs := make(chan bool), make(chan bool), make([]error, runs)
	g := one(t, stored(), func(_ context.Context, s *world) error {
		inside <- true
		<-goOn
		s.Log.Append(s.Name.Get())
		return nil
	})
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() { _, errs[i] = g.Invoke(ctx, world{Name: state.Of(string(rune('a' + i)))}, unleased) })
		<-inside // so the next run finds the input of this one
	}
	close(goOn)
	wg.Wait()
	for _, err := range errs[:runs-1] {
		is(t, err, checkpoint.ErrConflict, "t1")
	}
	s, p, err := g.Thread("t1").State(ctx, 0)
	if got := strings.Join(s.Log.Slice(), " "); err != nil || errs[runs-1] != nil || got != "h" || p.Status != graph.Done {
		t.Errorf("the run that began last ended with %v, and the thread holds %q, %v; want h alone", errs[runs-1], got, err)
	}
}

// TestLease_RunOfALeasedThreadRunsNothing is the same with leases, as they are by default.
func TestLease_RunOfALeasedThreadRunsNothing(t *testing.T) {
	g, runs, may := chain(t, stored())
	first := g.Start(ctx, world{}, t1)
	<-runs
	_, err := g.Invoke(ctx, world{}, t1)
	if busy := (*checkpoint.BusyError)(nil); !errors.As(err, &busy) || len(runs) != 0 {
		t.Errorf("the second run ended with %v, and %d nodes of it ran; want a *BusyError and none", err, len(runs))
	}
	close(may)
	res, err := first.Wait()
	logged(t, ended(t, graph.Done, res, err), "a b c")
}

// TestRun_SucceedsWhenReadersFail has readers that leave, panic and never read.
func TestRun_SucceedsWhenReadersFail(t *testing.T) {
	cfg := stored()
	g, runs, may := chain(t, cfg)
	live := g.Start(ctx, world{}, graph.RunOptions{Thread: "t1", Hold: true})
	all := graph.Tasks | graph.Values | graph.Updates
	leaves, panics := live.Join(graph.Reader{Modes: all, Buffer: 1}), live.Join(graph.Reader{Modes: all, Buffer: 1})
	live.Join(graph.Reader{Modes: all, Buffer: 1, Lossy: true}) // never reads
	var readers sync.WaitGroup
	readers.Go(func() {
		for range leaves {
			break
		}
	})
	readers.Go(func() {
		defer func() {
			if v := recover(); v != "the sink is down" {
				t.Errorf("the reader's own panic came back to it as %v", v)
			}
		}()
		for range panics {
			panic("the sink is down")
		}
	})
	<-runs
	close(may)
	res, err := live.Wait()
	readers.Wait()
	logged(t, ended(t, graph.Done, res, err), "a b c")
	if p, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}); err != nil || p.Status != graph.Done {
		t.Errorf("the thread is %q, %v; want done", p.Status, err)
	}
}

// away is a store that cannot be reached.
type away struct{ *checkpoint.Memory }

var errAway = errors.New("no store answers")

func (away) Load(context.Context, checkpoint.Key, uint64) (checkpoint.Snapshot, error) {
	return checkpoint.Snapshot{}, errAway
}

func (away) Commit(context.Context, checkpoint.Commit) error { return errAway }

func (away) Acquire(context.Context, checkpoint.LeaseRequest) (checkpoint.Lease, error) {
	return checkpoint.Lease{}, errAway
}

// TestRun_NeedsAStoreForAThread has no store, and one that is away: neither is
// made good by one in memory.
func TestRun_NeedsAStoreForAThread(t *testing.T) {
	for want, store := range map[error]checkpoint.Store{graph.ErrNoStore: nil, errAway: away{new(checkpoint.Memory)}} {
		for name, run := range map[string]graph.RunOptions{"leased": t1, "unleased": unleased, "at the end": {Thread: "t1", Durability: graph.Exit}} {
			var ran counter
			g := single(t, logsNth("a", &ran), graph.Policy{}, graph.Config{Store: store})
			_, invoked := g.Invoke(ctx, world{}, run)
			_, resumed := g.Resume(ctx, graph.Answers{}, run)
			_, waited := g.Start(ctx, world{}, run).Wait()
			_, _, read := g.Thread("t1").State(ctx, 0)
			for _, err := range []error{invoked, resumed, waited, read} {
				is(t, err, want)
			}
			if ran.of("a") != 0 {
				t.Errorf("%s: without its store (%v) the run ran %d nodes", name, want, ran.of("a"))
			}
		}
	}
}

package graph_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

func TestHistory_ListsEachCommit(t *testing.T) {
	var ran counter
	cfg := stored()
	b := graph.New[world]("history")
	line(b, "a")
	b.Node("b", asks("b", &ran, "x"))
	b.Edge("a", "b")
	b.Edge("b", graph.End)
	g := build(t, b, cfg)
	invoke(t, g, "t1", graph.Interrupted)
	var got []string
	for p, err := range graph.History(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}, checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%d %s %v %v %s %d", p.Checkpoint, p.Source, p.Nodes(), p.Next, p.Status, len(p.Interrupts)))
	}
	if want := []string{"2 step [a] [b] interrupted 1", "1 input [] [a] pending 0"}; !slices.Equal(got, want) {
		t.Errorf("the history is %q, want %q", got, want)
	}
	res := resume(t, g, graph.Reply("!"), graph.Done)
	s, p, err := g.Thread("t1").State(ctx, 2)
	if err != nil || s.Log.Len() != 1 || p.Status != graph.Pending {
		t.Errorf("commit 2 holds %v and is %q, %v", s.Log.Slice(), p.Status, err)
	}
	s, p, err = g.Thread("t1").State(ctx, 0)
	if err != nil || s.Log.Len() != res.State.Log.Len() || p.Status != graph.Done || p.Checkpoint != 3 {
		t.Errorf("the head holds %v and is %q, %v", s.Log.Slice(), p.Status, err)
	}
}

func TestThreads_ThatDoNotExist(t *testing.T) {
	cfg := stored()
	g := single(t, logs("a"), graph.Policy{}, cfg)
	_, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "none"})
	is(t, err, graph.ErrUnknownThread)
	_, _, err = g.Thread("none").State(ctx, 0)
	is(t, err, graph.ErrUnknownThread)
	for _, err := range graph.History(ctx, cfg.Store, checkpoint.Key{Thread: "none"}, checkpoint.Query{}) {
		is(t, err, graph.ErrUnknownThread)
	}
	invoke(t, g, "t1", graph.Done)
	_, _, err = g.Thread("t1").State(ctx, 99)
	is(t, err, graph.ErrUnknownThread, "99")
	for p, err := range graph.Threads(ctx, cfg.Store, checkpoint.ThreadQuery{}) {
		if err != nil || p.Thread != "t1" || p.Status != graph.Done {
			t.Errorf("got %+v, %v", p, err)
		}
	}
}

// broken is a store whose newest entry is damaged.
type broken struct{ checkpoint.Store }

func (b broken) Load(ctx context.Context, k checkpoint.Key, seq uint64) (checkpoint.Snapshot, error) {
	snap, err := b.Store.Load(ctx, k, seq)
	b.damage(snap)
	return snap, err
}

func (b broken) History(ctx context.Context, k checkpoint.Key, q checkpoint.Query) iter.Seq2[checkpoint.Snapshot, error] {
	return func(yield func(checkpoint.Snapshot, error) bool) {
		for snap, err := range b.Store.History(ctx, k, q) {
			b.damage(snap)
			if !yield(snap, err) {
				return
			}
		}
	}
}

func (b broken) damage(snap checkpoint.Snapshot) {
	if n := len(snap.Pending); n > 0 {
		snap.Pending[n-1].Data[7] ^= 1
	}
}

func TestEntries_DamagedStopARunAndChangeNothing(t *testing.T) {
	var ran counter
	cfg := stored()
	n := map[string]graph.Node[world]{"a": asks("a", &ran, "x")}
	invoke(t, build(t, parallel(n), cfg), "t1", graph.Interrupted)
	g := build(t, parallel(n), graph.Config{Store: broken{cfg.Store}})
	_, err := g.Resume(ctx, graph.Reply("1"), t1)
	is(t, err, checkpoint.ErrCorrupt, "t1", "pending")
	_, err = g.Invoke(ctx, world{}, t1)
	is(t, err, checkpoint.ErrCorrupt)
	_, err = graph.Inspect(ctx, broken{cfg.Store}, checkpoint.Key{Thread: "t1"})
	is(t, err, checkpoint.ErrCorrupt)
	resume(t, build(t, parallel(n), cfg), graph.Reply("1"), graph.Done)
}

func TestResult_StartsAnotherThread(t *testing.T) {
	b := graph.New[world]("again")
	line(b, "a")
	g := build(t, b, stored())
	first, err := g.Invoke(ctx, world{Name: state.Of("n"), Count: state.SumOf(3)}, t1)
	ended(t, graph.Done, first, err)
	second, err := g.Invoke(ctx, first.State, graph.RunOptions{Thread: "t2"})
	if logged(t, ended(t, graph.Done, second, err), "a a"); second.State.Name.Get() != "n" || second.State.Count.Get() != 3 {
		t.Errorf("another thread starts with %q and %d, want n and 3", second.State.Name.Get(), second.State.Count.Get())
	}
	third, err := g.Invoke(ctx, first.State, t1) // nothing in it was written: it adds nothing
	logged(t, ended(t, graph.Done, third, err), "a a")
	first.State.Log.Append("more")
	if _, err = g.Invoke(ctx, first.State, graph.RunOptions{Thread: "t3"}); err == nil || !strings.Contains(err.Error(), `"log"`) {
		t.Errorf("an input of old and new elements gives %v, want an error that names the field", err)
	}
}

func TestInput_IsReadByWireNames(t *testing.T) {
	store := new(checkpoint.Memory)
	g := single(t, logs("a"), graph.Policy{}, graph.Config{Store: store})
	in, err := g.DecodeInput([]byte(`{"name":"n","log":["x"],"tries":1}`))
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Invoke(ctx, in, t1)
	logged(t, ended(t, graph.Done, res, err), "x a")
	if res.State.Tries.Get() != 8 || res.State.Name.Get() != "n" {
		t.Errorf("got %d tries and %q, want the default plus 1, and n", res.State.Tries.Get(), res.State.Name.Get())
	}
	h, err := g.InputHash(in)
	if p, _ := graph.Inspect(ctx, store, checkpoint.Key{Thread: "t1"}); err != nil || p.Input != h {
		t.Errorf("the turn's input has the hash %q, want %q, %v", p.Input, h, err)
	}
	_, err = g.DecodeInput([]byte(`{"nmae":1,"count":"x"}`))
	if err == nil || !strings.Contains(err.Error(), "nmae") || !strings.Contains(err.Error(), "count") {
		t.Errorf("got %v, want an error that names both mistakes", err)
	}
}

func TestQuestion_ThatCannotBeAsked(t *testing.T) {
	for name, n := range map[string]graph.Node[world]{
		"data": graph.Func(func(ctx context.Context, _ *world) error {
			_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "x", Data: make(chan int)})
			return err
		}),
		"type": graph.Func(func(ctx context.Context, _ *world) error {
			_, err := graph.Ask[chan int](ctx, graph.Question{Prompt: "x"})
			return err
		}),
	} {
		_, err := single(t, n, graph.Policy{}, stored()).Invoke(ctx, world{}, t1)
		if err == nil || errors.Is(err, graph.ErrInterrupted) || !strings.Contains(err.Error(), `"x"`) {
			t.Errorf("%s: got %v, want an error that names the question", name, err)
		}
	}
}

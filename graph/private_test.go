package graph_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/record"
)

// recordGraph appends to the log of a Record.
func recordGraph(t *testing.T, do func(context.Context, *record.Record) error, p graph.Policy) (*graph.Graph[record.Record], *record.Shape) {
	t.Helper()
	shape, err := record.NewShape(
		record.Field{Name: "log", Kind: state.KindList},
		record.Field{Name: "name", Kind: state.KindValue})
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewRecord("record", shape)
	b.Node("a", graph.Func(do).With(p))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	return build(t, b, graph.Config{Grace: time.Second}), shape
}

func appends(_ context.Context, r *record.Record) error { return r.Write("log", []any{"a"}) }

func TestInput_LaterChangesByTheCallerAreInvisible(t *testing.T) {
	g, shape := recordGraph(t, appends, graph.Policy{})
	in := shape.New()
	if err := in.Write("name", "first"); err != nil {
		t.Fatal(err)
	}
	raw := []byte(`{"name":"first"}`)
	stream, plain := g.Stream(ctx, in, graph.RunOptions{}), g.Untyped().Start(ctx, raw, graph.RunOptions{})
	live := g.Start(ctx, in, graph.RunOptions{})
	copy(raw, `{"name":"later"}`)
	if err := in.Write("name", "later"); err != nil {
		t.Fatal(err)
	}
	for ev, err := range stream {
		if ended, ok := ev.State.(*record.Record); err != nil || ev.Mode == graph.Ended && (!ok || fmt.Sprint(ended.Map()["name"]) != "first") {
			t.Errorf("a stream saw %v, %v", ev.State, err)
		}
	}
	if res, err := live.Wait(); err != nil || res.State.Map()["name"] != "first" {
		t.Errorf("a run saw %v, %v", res.State, err)
	}
	if res, err := plain.Wait(); err != nil || string(res.State) != `{"log":["a"],"name":"first"}` {
		t.Errorf("a plain run saw %s, %v", res.State, err)
	}
}

func TestReaders_OfOneStreamShareTheirInputOnly(t *testing.T) {
	b := graph.New[world]("shared")
	line(b, "a", "b")
	g := build(t, b, graph.Config{})
	var in world
	in.Log.Append("in")
	in.Seen.Put("in", 1)
	in.Count.Add(1)
	rg, shape := recordGraph(t, appends, graph.Policy{})
	rin := shape.New()
	if err := rin.Write("log", []any{"in"}); err != nil {
		t.Fatal(err)
	}
	stream, records := g.Stream(ctx, in, graph.RunOptions{}), rg.Stream(ctx, rin, graph.RunOptions{})
	var readers sync.WaitGroup
	defer readers.Wait()
	for range 4 {
		readers.Go(func() {
			for ev, err := range stream {
				if s, ok := ev.State.(*world); err != nil || ev.Mode == graph.Ended && (!ok || s.Log.Len() != 3 || s.Count.Get() != 1) {
					t.Errorf("got %v, %v", ev.State, err)
				} else if ok {
					s.Log.Append("the reader's")
					s.Seen.Put("the reader's", 1)
				}
			}
			for ev, err := range records {
				if r, ok := ev.State.(*record.Record); err != nil || ev.Mode == graph.Ended && (!ok || fmt.Sprint(r.Map()["log"]) != "[in a]") {
					t.Errorf("got %v, %v", ev.State, err)
				} else if ok {
					_ = r.Write("log", []any{"the reader's"})
				}
			}
		})
	}
}

// A node that was given up goes on beside its caller, who has the result; under the race detector
// neither may touch what is the other's.
func TestAbandonedNode_SharesNothingWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, done := make(chan struct{}), make(chan struct{}, 2)
		var once, recordOnce sync.Once
		ignores := func(once *sync.Once, write func(string)) {
			write("seen")
			late := false
			if once.Do(func() { late = true }); late {
				<-release
				for range 100 {
					write("late")
				}
				done <- struct{}{}
			}
		}
		p := graph.Policy{Timeout: time.Second, Retry: graph.Retry{Attempts: 2}}
		b := graph.New[world]("given up")
		line(b, "first")
		b.Node("a", graph.Func(func(_ context.Context, s *world) error {
			ignores(&once, func(v string) { s.Log.Append(v); s.Seen.Put(v, s.Log.Len()) })
			return nil
		}).With(p))
		b.Edge("first", "a")
		b.Edge("a", graph.End)
		rg, shape := recordGraph(t, func(_ context.Context, r *record.Record) error {
			ignores(&recordOnce, func(v string) { _ = r.Write("log", []any{v}) })
			return nil
		}, p)
		res, err := build(t, b, graph.Config{Grace: time.Second}).Invoke(ctx, world{}, graph.RunOptions{})
		ended(t, graph.Done, res, err)
		rec, err := rg.Invoke(ctx, shape.New(), graph.RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		close(release)
		for range 100 {
			res.State.Log.Append("mine")
			res.State.Seen.Put("mine", 1)
			if err := rec.State.Write("log", []any{"mine"}); err != nil {
				t.Fatal(err)
			}
		}
		<-done
		<-done
		if n := res.State.Log.Len(); n != 102 || res.State.Log.At(1) != "seen" || res.State.Log.At(2) != "mine" {
			t.Errorf("the caller's log has %d items: %v", n, res.State.Log.Slice())
		}
		if log := rec.State.Map()["log"].([]any); len(log) != 101 || log[1] != "mine" {
			t.Errorf("the caller's record has %d items: %v", len(log), log)
		}
	})
}

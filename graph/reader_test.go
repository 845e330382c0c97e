package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/graph"
)

func TestReader_MayStopEarly(t *testing.T) {
	b := graph.New[world]("early")
	line(b, "a", "b", "c")
	b.Node("x", speaks("x"))
	b.Node("y", speaks("y"))
	b.Edge("a", "x")
	b.Edge("a", "y")
	b.Edge("x", graph.End)
	b.Edge("y", graph.End)
	want := 0
	for range build(t, b, stored()).Stream(ctx, world{}, graph.RunOptions{Thread: "t1", Modes: allModes}) {
		want++
	}
	for stop := 1; stop <= want; stop++ {
		g := build(t, b, stored())
		n := 0
		for range g.Stream(ctx, world{}, graph.RunOptions{Thread: "t1", Modes: allModes}) {
			if n++; n == stop {
				break
			}
		}
		res, err := g.Resume(ctx, graph.Answers{}, t1)
		if errors.Is(err, graph.ErrUnknownThread) && stop == 1 {
			continue
		}
		logged(t, ended(t, graph.Done, res, err), "a b x y c")
	}
}

// Requirement: events: leaving
func TestReader_PanicLeavesNothingBehind(t *testing.T) {
	b := graph.New[world]("reader")
	line(b, "a", "b")
	g := build(t, b, stored())
	func() {
		defer func() {
			if v := recover(); v != "reader" {
				t.Errorf("recovered %v, want the reader's panic", v)
			}
		}()
		for range g.Stream(ctx, world{}, t1) {
			panic("reader")
		}
	}()
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "a b")
}

func TestReader_PanicDoesNotWaitForAnUnresponsiveNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := make(chan error, 2)
		speaks := graph.Func(func(ctx context.Context, _ *world) error {
			time.Sleep(time.Millisecond) // until the other node has begun
			return graph.Emit(ctx, "a")
		})
		b := parallel(map[string]graph.Node[world]{"a": speaks, "unresponsive": unresponsive(said)})
		start := time.Now()
		func() {
			defer func() { _ = recover() }()
			for range build(t, b, graph.Config{}).Stream(ctx, world{}, graph.RunOptions{Modes: graph.Custom, Grace: time.Second}) {
				panic("reader")
			}
		}()
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("the reader's panic took %v to get out", took)
		}
		<-said
		<-said
		synctest.Wait()
	})
}

func TestEvents_AbandonedRunDoesNotHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := map[string]graph.Node[world]{}
		for i := range 200 { // many more events than the buffer holds
			nodes[fmt.Sprint(i)] = graph.Func(func(context.Context, *world) error {
				time.Sleep(time.Minute)
				return nil
			})
		}
		c, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		var last error
		for _, err := range build(t, parallel(nodes), graph.Config{Concurrency: 200, Grace: time.Second}).Stream(c, world{}, graph.RunOptions{Modes: graph.Tasks}) {
			last = err
		}
		is(t, last, graph.ErrAbandoned)
		time.Sleep(time.Hour)
		synctest.Wait() // the bubble fails if a goroutine stays
	})
}

// Requirement: readers or the store are slow under load
func TestReader_SlowOneSlowsTheRunOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := map[string]graph.Node[world]{}
		for i := range 100 {
			nodes[fmt.Sprint(i)] = speaks(fmt.Sprint(i))
		}
		n := 0
		for _, err := range build(t, parallel(nodes), graph.Config{}).Stream(ctx, world{}, graph.RunOptions{Modes: allModes}) {
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			n++
		}
		if want := 4*100 + 3; n != want {
			t.Errorf("got %d events, want %d: start, end, update and custom of each node, two states, the end", n, want)
		}
	})
}

func TestValues_AreCopies(t *testing.T) {
	b := graph.New[world]("copies")
	line(b, "a", "b", "c")
	var states []*world
	for ev, err := range build(t, b, graph.Config{}).Stream(ctx, world{}, graph.RunOptions{Modes: graph.Values}) {
		if err != nil {
			t.Fatal(err)
		}
		s := ev.State.(*world)
		s.Log.Append("mine")
		states = append(states, s)
	}
	for i, want := range []string{"mine", "a mine", "a b mine", "a b c mine", "a b c mine"} {
		if got := strings.Join(states[i].Log.Slice(), " "); got != want {
			t.Errorf("state %d holds %q, want %q", i, got, want)
		}
	}
}

func TestCustom_EventsArriveWhileTheNodeRuns(t *testing.T) {
	reply := make(chan struct{})
	n := graph.Func(func(ctx context.Context, _ *world) error {
		err := graph.Emit(ctx, "hello")
		<-reply // only comes when the event has been read
		return err
	})
	for ev := range single(t, n, graph.Policy{}, graph.Config{}).Stream(ctx, world{}, graph.RunOptions{Modes: graph.Custom}) {
		if ev.Mode == graph.Custom {
			close(reply)
		}
	}
}

func TestStream_MayBeReadTwice(t *testing.T) {
	b := graph.New[world]("twice")
	line(b, "a")
	events := build(t, b, graph.Config{}).Stream(ctx, world{}, graph.RunOptions{})
	for range 2 {
		sameLines(t, eventLines(t, events), "wrote a {\"log\":[\"a\"]}\nended done [a]")
	}
}

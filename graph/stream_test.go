package graph_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph"
)

const allModes = graph.Updates | graph.Values | graph.Tasks | graph.Custom | graph.Checkpoints

// eventLines returns a line for each event of a stream. It fails the test if they are not numbered
// from 1, or do not end with Ended.
func eventLines(t *testing.T, events iter.Seq2[graph.Event, error]) (lines []string) {
	t.Helper()
	seq, ended := uint64(0), false
	for ev, err := range events {
		if err != nil {
			return append(lines, "error")
		}
		if seq++; ev.Seq != seq || ended {
			t.Errorf("event %+v comes as number %d, after Ended: %v", ev, seq, ended)
		}
		ended = ev.Mode == graph.Ended
		lines = append(lines, short(ev))
	}
	if !ended {
		t.Errorf("the stream %v has no end", lines)
	}
	return lines
}

func short(ev graph.Event) string {
	var s string
	switch ev.Mode {
	case graph.Updates:
		s = fmt.Sprintf("wrote %s %s", ev.Node, ev.Writes)
	case graph.Values:
		switch v := ev.State.(type) {
		case *world:
			s = fmt.Sprint("state ", v.Log.Slice())
		case *inner:
			s = fmt.Sprint("state ", v.Path.Slice())
		}
	case graph.Tasks:
		s = fmt.Sprint(ev.Phase, " ", ev.Node, ev.Label)
	case graph.Custom:
		s = fmt.Sprint("custom ", ev.Node, " ", ev.Payload)
	case graph.Checkpoints:
		s = fmt.Sprint("commit ", ev.Checkpoint)
	case graph.Ended:
		s = fmt.Sprint("ended ", ev.Status, " ", ev.State.(*world).Log.Slice())
	}
	if ns, _, _ := strings.Cut(ev.Namespace, ":"); ns != "" {
		s = ns + "/" + s
	}
	return s
}

func sameLines(t *testing.T, got []string, want string) {
	t.Helper()
	if g := strings.Join(got, "\n"); g != strings.TrimSpace(want) {
		t.Errorf("got the events\n%s\nwant\n%s", g, strings.TrimSpace(want))
	}
}

// speaks is a node that logs its name and emits it.
func speaks(name string) graph.Node[world] {
	return graph.Func(func(ctx context.Context, s *world) error {
		s.Log.Append(name)
		return graph.Emit(ctx, name+"!")
	})
}

// Requirement: events: after the step, as it happens
func TestEvents_ComeInOrder(t *testing.T) {
	b := graph.New[world]("events")
	b.Node("a", speaks("a"))
	b.Node("b", goes("b", graph.Send("w", "p"), "w"))
	b.Node("w", graph.Worker(func(context.Context, *world, string) error { return nil }))
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("w", graph.End)
	g := build(t, b, stored())
	sameLines(t, eventLines(t, g.Stream(ctx, world{}, graph.RunOptions{Thread: "t1", Modes: allModes})), `
commit 1
state []
started a
custom a a!
finished a
commit 2
wrote a {"log":["a"]}
state [a]
started b
finished b
commit 3
wrote b {"log":["b"]}
state [a b]
started w"p"
finished w"p"
commit 4
wrote w {}
state [a b]
ended done [a b]`)
}

func TestModes_SelectEvents(t *testing.T) {
	b := graph.New[world]("modes")
	b.Node("a", speaks("a"))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	g := build(t, b, graph.Config{})
	for mode, want := range map[graph.Mode]string{
		0:                            "wrote a {\"log\":[\"a\"]}",
		graph.Updates:                "wrote a {\"log\":[\"a\"]}",
		graph.Values:                 "state []\nstate [a]",
		graph.Tasks:                  "started a\nfinished a",
		graph.Custom:                 "custom a a!",
		graph.Custom | graph.Updates: "custom a a!\nwrote a {\"log\":[\"a\"]}",
		graph.Checkpoints:            "",
		graph.Ended:                  "",
	} {
		sameLines(t, eventLines(t, g.Stream(ctx, world{}, graph.RunOptions{Modes: mode})), want+"\nended done [a]")
	}
}

// Requirement: events: after the step, as it happens
func TestUpdates_AreInCanonicalOrder(t *testing.T) {
	g := fanIn(t, graph.Config{})
	for range 100 {
		sameLines(t, eventLines(t, g.Stream(inOrder(), world{}, graph.RunOptions{})), `
wrote a {"log":["a","a'"],"seen":{"put":{"last":1}}}
wrote b {"log":["b","b'"],"seen":{"put":{"last":1}}}
wrote c {"log":["c","c'"],"seen":{"put":{"last":1}}}
wrote end {"log":["end"]}
ended done [a a' b b' c c' end]`)
	}
}

func TestStream_FailureIsYieldedLast(t *testing.T) {
	var ran counter
	g := single(t, flaky(&ran, 9, errBoom), graph.Policy{Retry: graph.Retry{Attempts: 2, Initial: 1}}, graph.Config{})
	sameLines(t, eventLines(t, g.Stream(ctx, world{}, graph.RunOptions{Modes: graph.Tasks})), "started a\nretrying a\nstarted a\nfailed a\nerror")
}

func TestStream_EndsWithAQuestion(t *testing.T) {
	var ran counter
	g := single(t, asks("a", &ran, "x"), graph.Policy{}, stored())
	sameLines(t, eventLines(t, g.Stream(ctx, world{}, graph.RunOptions{Thread: "t1", Modes: graph.Tasks})), "started a\nasking a\nended interrupted []")
	sameLines(t, eventLines(t, g.StreamResume(ctx, graph.Reply("1"), graph.RunOptions{Thread: "t1", Modes: graph.Tasks})), "started a\nfinished a\nended done [a x=1]")
}

func TestEvents_OfSubgraphsHaveTheirNamespace(t *testing.T) {
	c := graph.New[inner]("child")
	c.Node("c1", graph.Func(func(ctx context.Context, s *inner) error {
		s.Path.Append("c1")
		return graph.Emit(ctx, 1)
	}))
	c.Edge(graph.Start, "c1")
	c.Edge("c1", graph.End)
	g := single(t, hosts(build(t, c, graph.Config{}), "", nil), graph.Policy{}, graph.Config{})
	sameLines(t, eventLines(t, g.Stream(ctx, world{}, graph.RunOptions{Modes: allModes})), `
state []
started a
a/state []
a/started c1
a/custom c1 1
a/finished c1
a/wrote c1 {"path":["c1"]}
a/state [c1]
finished a
wrote a {"log":["c1"]}
state [c1]
ended done [c1]`)
}

// TestTask_WithoutAStorableResultFails runs it beside a task that goes on until the step is
// cancelled.
func TestTask_WithoutAStorableResultFails(t *testing.T) {
	b := graph.New[world]("unstorable")
	b.Node("first", logs("first"))
	b.Node("sends", goes("sends", graph.Send("worker", make(chan int)), "worker"))
	b.Node("waits", graph.Func(func(ctx context.Context, _ *world) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}))
	b.Node("worker", graph.Worker(func(context.Context, *world, chan int) error { return nil }))
	b.Edge(graph.Start, "first")
	b.Edge("first", "sends")
	b.Edge("first", "waits")
	b.Edge("waits", graph.End)
	b.Edge("worker", graph.End)
	var phases []graph.Phase
	var last error
	for ev, err := range build(t, b, stored()).Stream(ctx, world{}, graph.RunOptions{Thread: "t1", Modes: graph.Tasks}) {
		if last = err; ev.Node == "sends" {
			phases = append(phases, ev.Phase)
		}
	}
	if want := []graph.Phase{graph.Started, graph.Failing}; !slices.Equal(phases, want) {
		t.Errorf("the events of the task are %v, want %v", phases, want)
	}
	failed := (*graph.NodeError)(nil)
	if !errors.As(last, &failed) || failed.Node != "sends" || !strings.Contains(failed.Error(), "its result cannot be stored") {
		t.Errorf("got %v, want that the result of sends cannot be stored", last)
	}
}

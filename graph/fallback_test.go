package graph_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// Requirement: policy: fallback
func TestFallback_TriesEachOnAFreshView(t *testing.T) {
	var ran counter
	panics := graph.Func(func(_ context.Context, s *world) error {
		ran.add("panics")
		s.Log.Append("a trace")
		panic("boom")
	})
	n := graph.Fallback(fails("first", &ran, errBoom), panics, goes("third", graph.Goto("b"), "b"), logs("never"))
	b := graph.New[world]("fallback")
	b.Node("a", n)
	b.Node("b", logs("b"))
	b.Edge(graph.Start, "a")
	b.Edge("b", graph.End)
	logged(t, invoke(t, build(t, b, stored()), "t1", graph.Done), "third b")
	ran.want(t, "first", 1)
	ran.want(t, "panics", 1)
}

// Requirement: policy: fallback
func TestFallback_FailsWithTheErrorsOfAll(t *testing.T) {
	errOther := errors.New("other")
	var ran counter
	n := graph.Fallback(fails("x", &ran, errBoom), fails("y", &ran, errOther))
	p := graph.Policy{Retry: graph.Retry{Attempts: 2, Initial: 1}}
	res, err := single(t, n, p, graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
	is(t, err, errBoom, `node "a"`)
	is(t, err, errOther)
	logged(t, res, "")
	ran.want(t, "x", 2) // each attempt begins with the first
	ran.want(t, "y", 2)
}

func TestFallback_SubgraphsAreApart(t *testing.T) {
	var ran counter
	bad := child(t, &ran, graph.Config{}, func(context.Context, *inner) error { return errBoom })
	good := child(t, &ran, graph.Config{}, nil)
	n := graph.Fallback(hosts(bad, "bad", nil), hosts(good, "good", nil))
	res := invoke(t, single(t, n, graph.Policy{}, stored()), "t1", graph.Done)
	if got := strings.Join(res.State.Log.Slice(), " "); !strings.Contains(got, "c3") {
		t.Errorf("log is %q, want the whole path of the second", got)
	}
	ran.want(t, "c1", 2) // the second alternative does not resume the first
	ran.want(t, "c3", 1)
}

func TestFallback_WorkersGetThePayload(t *testing.T) {
	bad := graph.Worker(func(context.Context, *world, int) error { return errBoom })
	good := graph.Worker(func(_ context.Context, s *world, n int) error { s.Count.Add(n); return nil })
	b := graph.New[world]("workers")
	b.Node("r", goes("r", graph.Send("w", 3).Send("w", 4), "w"))
	b.Node("w", graph.Fallback(bad, graph.Fallback(bad, good)))
	b.Edge(graph.Start, "r")
	b.Edge("w", graph.End)
	if res := invoke(t, build(t, b, stored()), "t1", graph.Done); res.State.Count.Get() != 7 {
		t.Errorf("the count is %d, want 7", res.State.Count.Get())
	}
}

// After a question, the alternative that asked goes on. Each alternative has its own questions.
//
// Requirement: policy: fallback
func TestFallback_QuestionOfAnAlternativeIsAnsweredToIt(t *testing.T) {
	var ran counter
	first := graph.Func(func(ctx context.Context, s *world) error {
		ran.add("first")
		if _, err := graph.Ask[string](ctx, graph.Question{Prompt: "first"}); err != nil {
			return err
		}
		return errBoom
	})
	last := graph.Func(func(ctx context.Context, s *world) error {
		ran.add("last")
		answer, err := graph.Ask[string](ctx, graph.Question{Prompt: "second"})
		if err != nil {
			return err
		}
		s.Log.Append(answer)
		if answer == "no" {
			return errBoom
		}
		return nil
	})
	for answer, ok := range map[string]bool{"yes": true, "no": false} {
		ran = counter{}
		cfg := stored()
		g := func() *graph.Graph[world] { return single(t, graph.Fallback(first, last), graph.Policy{}, cfg) }
		asked(t, invoke(t, g(), "t1", graph.Interrupted), "first")
		asked(t, resume(t, g(), graph.Reply("1"), graph.Interrupted), "second")
		res, err := g().Resume(ctx, graph.Reply(answer), t1)
		if ok {
			logged(t, ended(t, graph.Done, res, err), answer)
		} else if err == nil || strings.Count(err.Error(), "boom") != 2 {
			t.Errorf("got %v, want the failures of both, also of the one before the question", err)
		}
		ran.want(t, "first", 2)
		ran.want(t, "last", 2)
	}
}

func TestFallback_StopsWithItsAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran counter
		waits := graph.Func(func(ctx context.Context, _ *world) error { <-ctx.Done(); return ctx.Err() })
		n := graph.Fallback(waits, fails("other", &ran, errBoom))
		_, err := single(t, n, graph.Policy{Timeout: time.Second}, graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
		is(t, err, graph.ErrTimeout)
		ran.want(t, "other", 0)
	})
}

func TestCompile_MistakesInFallbacksAndCaches(t *testing.T) {
	w := graph.Worker(takesInt)
	text := graph.Worker(func(context.Context, *world, string) error { return nil })
	for want, n := range map[string]graph.Node[world]{
		"take no payload and a payload of type int":               graph.Fallback(logs("a"), w),
		"take a payload of type int and a payload of type string": graph.Fallback(w, text),
		"an alternative of a Fallback has no function":            graph.Fallback(logs("a"), graph.Node[world]{}),
		"an alternative of a Fallback is cached":                  graph.Fallback(graph.Cache(logs("a"), graph.Caching[world]{})),
		`goes to "nowhere", which is not a node`:                  graph.Fallback(logs("a"), goes("a", graph.Command{}, "nowhere")),
		"it is cached twice":                                      graph.Cache(graph.Cache(logs("a"), graph.Caching[world]{}), graph.Caching[world]{}),
		"its TTL must not be negative (got -1s)":                  graph.Cache(logs("a"), graph.Caching[world]{TTL: -time.Second}),
	} {
		b := graph.New[world]("mistakes")
		b.Node("a", n)
		b.Edge(graph.Start, "a")
		b.Edge("a", graph.End)
		_, err := b.Compile(graph.Config{Store: new(checkpoint.Memory)})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "fallback_test.go:") {
			t.Errorf("got %v, want %q with its line", err, want)
		}
	}
}

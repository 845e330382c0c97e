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

var errBoom = errors.New("boom")

// mixed is a step of four nodes: ok finishes, bad fails until it is mended, asks asks,
// and slow is stopped because bad failed.
func mixed(t *testing.T, ran *counter, mended *bool, cfg graph.Config) *graph.Graph[world] {
	ready := make(chan struct{}, 3)
	n := map[string]graph.Node[world]{
		"ok": graph.Func(func(_ context.Context, s *world) error {
			ran.add("ok")
			s.Log.Append("ok")
			s.Seen.Put("ok", 1)
			ready <- struct{}{}
			return nil
		}),
		"slow": graph.Func(func(ctx context.Context, s *world) error {
			ran.add("slow")
			s.Log.Append("slow")
			if *mended {
				return nil
			}
			ready <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}),
		"bad": graph.Func(func(_ context.Context, s *world) error {
			ran.add("bad")
			s.Log.Append("bad")
			if *mended {
				return nil
			}
			for range 3 {
				<-ready
			}
			return errBoom
		}),
		"ask": graph.Func(func(ctx context.Context, s *world) error {
			ran.add("ask")
			defer func() {
				if !*mended {
					ready <- struct{}{}
				}
			}()
			answer, err := graph.Ask[string](ctx, graph.Question{Prompt: "x"})
			s.Log.Append(answer)
			return err
		}),
	}
	return build(t, parallel(n), cfg)
}

// Requirement: Siblings keep their work
// Requirement: a node fails beside others
func TestFailure_FinishedSiblingsDoNotRunAgain(t *testing.T) {
	var ran counter
	mended := false
	cfg := stored()
	res, err := mixed(t, &ran, &mended, cfg).Invoke(ctx, world{}, t1)
	is(t, err, errBoom, `node "bad"`, "step 1", `thread "t1"`)
	if strings.Contains(err.Error(), `node "slow"`) || res.Status != graph.Failed {
		t.Errorf("got %q, %v; want the failure and not what it stopped", res.Status, err)
	}
	p, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"})
	if err != nil || p.Status != graph.Interrupted || len(p.Interrupts) != 1 || len(p.Failures) == 0 {
		t.Fatalf("Inspect gives %+v, %v; want a question and a failure", p, err)
	}
	if f := p.Failures[0]; f.Node != "bad" || f.Attempt != 1 || !strings.Contains(f.Message, "boom") {
		t.Errorf("the failure is reported as %+v", f)
	}
	mended = true
	g := mixed(t, &ran, &mended, cfg)
	asked(t, resume(t, g, graph.Answers{}, graph.Interrupted), "x")
	if p, _ = graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}); len(p.Failures) != 0 {
		t.Errorf("after the nodes have finished, Inspect still reports %v", p.Failures)
	}
	logged(t, resume(t, g, graph.Reply("!"), graph.Done), "! bad ok slow")
	for name, n := range map[string]int{"ok": 1, "ask": 2, "bad": 2, "slow": 2} {
		ran.want(t, name, n)
	}
}

func TestFailure_AfterAPartialAnswerIsRunAgain(t *testing.T) {
	var ran counter
	n := graph.Func(func(ctx context.Context, _ *world) error {
		_, err1 := graph.Ask[string](ctx, graph.Question{Prompt: "x"})
		_, err2 := graph.Ask[string](ctx, graph.Question{Prompt: "y"})
		if ran.add("a") == 2 {
			return errBoom
		}
		return errors.Join(err1, err2)
	})
	cfg := stored()
	g := build(t, parallel(map[string]graph.Node[world]{"a": n}), cfg)
	res := invoke(t, g, "t1", graph.Interrupted)
	_, err := g.Resume(ctx, graph.Answer(idOf(t, res, "x"), "1"), t1)
	is(t, err, errBoom)
	asked(t, resume(t, g, graph.Answers{}, graph.Interrupted), "y") // it ran again, and asked
	ran.want(t, "a", 3)
	if p, _ := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}); len(p.Failures) != 0 || len(p.Interrupts) != 1 {
		t.Errorf("a task that asks now is reported as failed: %+v", p)
	}
	resume(t, g, graph.Reply("2"), graph.Done)
}

// flaky fails its first n attempts with err.
func flaky(ran *counter, n int, err error) graph.Node[world] {
	return graph.Func(func(_ context.Context, s *world) error {
		s.Log.Append("a") // must not pile up over the attempts
		if ran.add("a") <= n {
			return err
		}
		return nil
	})
}

func single(t *testing.T, n graph.Node[world], p graph.Policy, cfg graph.Config) *graph.Graph[world] {
	b := graph.New[world]("single")
	b.Node("a", n.With(p))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	return build(t, b, cfg)
}

func TestRetry_WaitsLongerEachTime(t *testing.T) {
	for name, c := range map[string]struct {
		retry    graph.Retry
		failures int
		want     time.Duration
		ok       bool
	}{
		"defaults":        {graph.Retry{Attempts: 4}, 3, 3500 * time.Millisecond, true},
		"own":             {graph.Retry{Attempts: 4, Initial: time.Second, Multiplier: 3}, 3, 13 * time.Second, true},
		"capped":          {graph.Retry{Attempts: 5, Initial: time.Second, Max: 3 * time.Second}, 4, 9 * time.Second, true},
		"too few":         {graph.Retry{Attempts: 3, Initial: time.Second, Multiplier: 1}, 3, 2 * time.Second, false},
		"one attempt":     {graph.Retry{Attempts: 1}, 1, 0, false},
		"none":            {graph.Retry{}, 1, 0, false},
		"not this error":  {graph.Retry{Attempts: 3, If: func(err error) bool { return !errors.Is(err, errBoom) }}, 1, 0, false},
		"just this error": {graph.Retry{Attempts: 2, If: func(err error) bool { return errors.Is(err, errBoom) }}, 1, time.Second / 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ran counter
				start := time.Now()
				res, err := single(t, flaky(&ran, c.failures, errBoom), graph.Policy{Retry: c.retry}, graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
				if took := time.Since(start); took != c.want || (err == nil) != c.ok {
					t.Fatalf("got %v after %v, want success %v after %v", err, took, c.ok, c.want)
				}
				if c.ok {
					logged(t, res, "a")
					return
				}
				var ne *graph.NodeError
				if is(t, err, errBoom); !errors.As(err, &ne) || ne.Attempt != ran.of("a") || ne.Node != "a" || ne.Step != 1 || ne.Task == "" {
					t.Errorf("the error is %+v", ne)
				}
			})
		})
	}
}

func TestRetry_JitterOnlyShortensTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 50 {
			var ran counter
			start := time.Now()
			p := graph.Policy{Retry: graph.Retry{Attempts: 2, Initial: time.Second, Jitter: 0.5}}
			_, err := single(t, flaky(&ran, 1, errBoom), p, graph.Config{}).Invoke(ctx, world{}, graph.RunOptions{})
			if took := time.Since(start); err != nil || took < time.Second/2 || took > time.Second {
				t.Fatalf("got %v after %v, want a wait of 0.5 to 1 s", err, took)
			}
		}
	})
}

func TestRetry_CancelEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, cancel := context.WithCancelCause(ctx)
		time.AfterFunc(time.Second, func() { cancel(errors.New("the user left")) })
		var ran counter
		p := graph.Policy{Retry: graph.Retry{Attempts: 9, Initial: time.Hour}}
		start := time.Now()
		_, err := single(t, flaky(&ran, 9, errBoom), p, graph.Config{}).Invoke(c, world{}, graph.RunOptions{})
		if is(t, err, errBoom); time.Since(start) != time.Second {
			t.Errorf("the run ended after %v, want 1 s", time.Since(start))
		}
		ran.want(t, "a", 1)
	})
}

// Requirement: policy: retry
func TestRetry_QuestionsAreNotRetried(t *testing.T) {
	var ran counter
	g := single(t, asks("a", &ran, "x"), graph.Policy{Retry: graph.Retry{Attempts: 5}}, stored())
	invoke(t, g, "t1", graph.Interrupted)
	ran.want(t, "a", 1)
}

func TestThreads_ThatCannotBeUsed(t *testing.T) {
	g := single(t, logs("a"), graph.Policy{}, stored())
	for _, id := range []string{"", strings.Repeat("x", 2048), "\xff"} {
		_, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: id})
		is(t, err, checkpoint.ErrThreadID)
		_, err = g.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: id})
		is(t, err, checkpoint.ErrThreadID)
	}
	_, err := g.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: "new"})
	is(t, err, graph.ErrUnknownThread, "new")
	unstored := single(t, logs("a"), graph.Policy{}, graph.Config{})
	_, err = unstored.Invoke(ctx, world{}, t1)
	is(t, err, graph.ErrNoStore, "t1")
	_, err = unstored.Resume(ctx, graph.Answers{}, t1)
	is(t, err, graph.ErrNoStore)
	res, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: strings.Repeat("x", 1024)})
	ended(t, graph.Done, res, err)
}

package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// fails is a node that leaves a trace and then fails.
func fails(name string, ran *counter, err error) graph.Node[world] {
	return graph.Func(func(_ context.Context, s *world) error {
		ran.add(name)
		s.Log.Append("a trace of " + name)
		return err
	})
}

// mends is a handler that logs and goes on.
func mends(ran *counter, c graph.Command, targets ...string) graph.ErrorHandler[world] {
	return graph.Handler(func(_ context.Context, s *world, failure *graph.NodeError) (graph.Command, error) {
		ran.add("handler")
		s.Log.Append("mended " + failure.Node)
		return c, nil
	}, targets...)
}

// risky is a graph in which a leads to b, and whose handler may go to c.
func risky(a graph.Node[world], h graph.ErrorHandler[world]) *graph.Builder[world] {
	b := graph.New[world]("risky")
	b.Node("a", a.With(graph.Policy{Retry: graph.Retry{Attempts: 2, Initial: 1}}))
	b.Node("b", logs("b"))
	b.Node("c", logs("c"))
	b.OnError("a", h)
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", "c")
	b.Edge("c", graph.End)
	return b
}

// Requirement: policy: handlers
func TestHandler_RepairsTheStateOfTheLastAttempt(t *testing.T) {
	for name, c := range map[string]struct {
		command graph.Command
		want    string
	}{
		"and the node has completed":    {graph.Command{}, "mended a b c"},
		"and goes elsewhere instead":    {graph.Goto("c"), "mended a c"},
		"and ends the path":             {graph.Goto(graph.End), "mended a"},
		"and a reason alone goes along": {graph.Command{}.WithReason("why not"), "mended a b c"},
	} {
		t.Run(name, func(t *testing.T) {
			var ran counter
			g := build(t, risky(fails("a", &ran, errBoom), mends(&ran, c.command, "c", graph.End)), stored())
			res := invoke(t, g, "t1", graph.Done)
			logged(t, res, c.want)
			ran.want(t, "a", 2)
			ran.want(t, "handler", 1)
			if n := len(strings.Fields(c.want)) - 1; res.Steps != n {
				t.Errorf("it took %d steps, want %d: the handler is part of its node's step", res.Steps, n)
			}
		})
	}
}

// Requirement: policy: handlers
func TestHandler_FailedNodeDoesNotCountForBranchesAndJoins(t *testing.T) {
	var ran counter
	b := graph.New[world]("diverted")
	b.Node("a", fails("a", &ran, errBoom))
	line(b, "x")
	b.Node("y", logs("y"))
	b.Node("z", logs("z"))
	b.OnError("a", mends(&ran, graph.Goto("z"), "z"))
	b.Edge(graph.Start, "a")
	b.Join("y", "a", "x")
	b.Branch("a", func(context.Context, *world) (graph.Command, error) {
		t.Error("a branch of a node that was led elsewhere was called")
		return graph.Goto(graph.End), nil
	}, graph.End)
	b.Edge("y", graph.End)
	b.Edge("z", graph.End)
	res := invoke(t, build(t, b, stored()), "t1", graph.Done)
	logged(t, res, "mended a x z")
	if !slices.Equal(res.Starved, []string{"y"}) {
		t.Errorf("starved are %v, want y: a source went elsewhere", res.Starved)
	}
}

func TestHandler_ReceivesTheFailure(t *testing.T) {
	var ran counter
	var got *graph.NodeError
	b := graph.New[world]("handled")
	b.Node("r", goes("r", graph.Send("w", 7), "w"))
	b.Node("w", graph.Worker(func(context.Context, *world, int) error {
		ran.add("w")
		return fmt.Errorf("outer: %w", errBoom)
	}).With(graph.Policy{Retry: graph.Retry{Attempts: 3, Initial: 1}}))
	b.OnError("*", graph.Handler(func(ctx context.Context, s *world, failure *graph.NodeError) (graph.Command, error) {
		got = failure
		if graph.Attempt(ctx) != 1 {
			t.Errorf("the handler is in attempt %d, want its own first", graph.Attempt(ctx))
		}
		return graph.Command{}, nil
	}, graph.End))
	b.Edge(graph.Start, "r")
	b.Edge("w", graph.End)
	invoke(t, build(t, b, stored()), "t1", graph.Done)
	is(t, got, errBoom)
	if got.Node != "w" || got.Attempt != 3 || got.Payload != 7 || got.Step != 2 || got.Kind() != graph.KindError {
		t.Errorf("the handler got %+v", got)
	}
}

// Requirement: policy: handlers
func TestHandler_OwnFailureFailsTheRunWithBothErrors(t *testing.T) {
	errWorse := errors.New("worse")
	for name, c := range map[string]struct {
		does  func(ctx context.Context) (graph.Command, error)
		want  error
		tries int
	}{
		"an error":          {func(context.Context) (graph.Command, error) { return graph.Command{}, errWorse }, errWorse, 3},
		"a panic":           {func(context.Context) (graph.Command, error) { panic(errWorse) }, errWorse, 1},
		"an unknown target": {func(context.Context) (graph.Command, error) { return graph.Goto("nowhere"), nil }, graph.ErrTarget, 3},
		"its time is up":    {func(ctx context.Context) (graph.Command, error) { <-ctx.Done(); return graph.Command{}, ctx.Err() }, graph.ErrTimeout, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ran counter
				handler := graph.Handler(func(ctx context.Context, s *world, _ *graph.NodeError) (graph.Command, error) {
					ran.add("handler")
					s.Log.Append("a trace of the handler")
					return c.does(ctx)
				}, "c")
				p := graph.Policy{Timeout: time.Second, Retry: graph.Retry{Attempts: 3, Initial: time.Second}}
				cfg := stored()
				res, err := build(t, risky(fails("a", &ran, errBoom), handler.With(p)), cfg).Invoke(ctx, world{}, t1)
				is(t, err, errBoom, `node "a"`, "its handler failed")
				is(t, err, c.want)
				logged(t, res, "")
				ran.want(t, "handler", c.tries)
				if p, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}); err != nil || p.Status != graph.Failed || len(p.Failures) != 1 {
					t.Errorf("the thread is %+v, %v; want one failure", p, err)
				}
				// Resume goes on at the handler: its node has failed for good.
				logged(t, resume(t, build(t, risky(fails("a", &ran, errBoom), mends(&ran, graph.Command{}, "c")), cfg), graph.Answers{}, graph.Done), "mended a b c")
				ran.want(t, "a", 2)
			})
		})
	}
}

func TestHandler_MayAskAndUseTheAnswer(t *testing.T) {
	var ran counter
	node := graph.Func(func(ctx context.Context, s *world) error {
		ran.add("a")
		answer, err := graph.Ask[string](ctx, graph.Question{Prompt: "by the node"})
		if err != nil {
			return err
		}
		s.Log.Append(answer)
		return fmt.Errorf("not %q: %w", answer, errBoom)
	})
	handler := graph.Handler(func(ctx context.Context, s *world, failure *graph.NodeError) (graph.Command, error) {
		ran.add("handler")
		answer, err := graph.Ask[string](ctx, graph.Question{Prompt: "by the handler"})
		s.Log.Append("mended " + failure.Err.Error() + " by " + answer)
		return graph.Command{}, err
	})
	cfg := stored()
	g := func() *graph.Graph[world] { return build(t, risky(node, handler), cfg) }
	asked(t, invoke(t, g(), "t1", graph.Interrupted), "by the node")
	asked(t, resume(t, g(), graph.Reply("1"), graph.Interrupted), "by the handler")
	logged(t, resume(t, g(), graph.Reply("2"), graph.Done), `mended not "1": boom by 2 b c`)
	ran.want(t, "a", 3) // it asked, and then failed twice
	ran.want(t, "handler", 2)
}

func TestHandler_IsNotForQuestionsCancelsOrTheStore(t *testing.T) {
	t.Run("a question", func(t *testing.T) {
		var ran counter
		g := build(t, risky(asks("a", &ran, "x"), mends(&ran, graph.Command{})), stored())
		asked(t, invoke(t, g, "t1", graph.Interrupted), "x")
		ran.want(t, "handler", 0)
	})
	t.Run("a cancelled run", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var ran counter
			c, cancel := context.WithCancel(ctx)
			waits := graph.Func(func(ctx context.Context, _ *world) error { cancel(); <-ctx.Done(); return ctx.Err() })
			_, err := build(t, risky(waits, mends(&ran, graph.Command{})), stored()).Invoke(c, world{}, t1)
			is(t, err, context.Canceled)
			ran.want(t, "handler", 0)
		})
	})
	t.Run("a commit of a subgraph", func(t *testing.T) {
		var ran counter
		store := &faultStore{Store: new(checkpoint.Memory), at: 3}
		sub := hosts(child(t, &ran, graph.Config{}, nil), "", nil)
		b := graph.New[world]("sub")
		b.Node("a", graph.Fallback(sub, logs("other")))
		b.OnError("a", mends(&ran, graph.Command{}))
		b.Edge(graph.Start, "a")
		b.Edge("a", graph.End)
		_, err := build(t, b, graph.Config{Store: store}).Invoke(ctx, world{}, t1)
		is(t, err, errFault)
		ran.want(t, "handler", 0)
	})
	t.Run("the write of the failure", func(t *testing.T) {
		var ran counter
		store := &faultStore{Store: new(checkpoint.Memory), at: 2}
		g := build(t, risky(fails("a", &ran, errBoom), mends(&ran, graph.Command{})), graph.Config{Store: store})
		_, err := g.Invoke(ctx, world{}, t1)
		is(t, err, errFault)
		is(t, err, errBoom)
		ran.want(t, "handler", 0)
	})
}

// After a crash between the failure and its handler, or in the handler, the thread continues at the
// handler, in any process. The handler gets the whole failure.
//
// Requirement: policy: handlers
func TestHandler_CrashAfterTheFailureContinuesAtIt(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		kind string
	}{
		"an error":    {fmt.Errorf("outer: %w", errBoom), graph.KindError},
		"a timeout":   {fmt.Errorf("outer: %w: %w", errBoom, graph.ErrTimeout), graph.KindTimeout},
		"a permanent": {graph.Permanent(fmt.Errorf("outer: %w", errBoom)), graph.KindPermanent},
	} {
		t.Run(name, func(t *testing.T) {
			var ran counter
			var seen []string
			killed := true
			handler := graph.Handler(func(_ context.Context, s *world, f *graph.NodeError) (graph.Command, error) {
				seen = append(seen, fmt.Sprintf("%s %s %d %v %q %s", f.Node, f.Kind(), f.Attempt, errors.Is(f, graph.ErrTimeout), f.Err, f.Code()))
				if killed {
					goexit() // the process ends here: nothing after it is stored
				}
				var stored *graph.StoredError
				if !errors.As(f, &stored) || len(stored.Failure.Causes) == 0 || stored.Failure.Message != c.err.Error() {
					t.Errorf("after the crash the handler gets %#v", f.Err)
				}
				return graph.Goto("c"), nil
			}, "c")
			cfg := stored()
			_, err := build(t, risky(fails("a", &ran, c.err), handler), cfg).Start(ctx, world{}, t1).Wait()
			if err == nil {
				t.Fatal("the run was not cut off")
			}
			before := ran.of("a")
			killed = false
			res := resume(t, build(t, risky(fails("a", &ran, c.err), handler), cfg), graph.Answers{}, graph.Done)
			logged(t, res, "c")
			ran.want(t, "a", before)
			if len(seen) != 2 || seen[0] != seen[1] || !strings.Contains(seen[0], c.kind) {
				t.Errorf("before and after the crash the handler saw\n%s\nwant twice the same, of kind %s", strings.Join(seen, "\n"), c.kind)
			}
		})
	}
}

// The run is cut off at each of its writes, before and after the write is done.
func TestHandler_CrashAnywhereEndsTheSame(t *testing.T) {
	whole := &faultStore{Store: new(checkpoint.Memory)}
	handledRun(t, whole, new(counter))
	if whole.writes < 6 {
		t.Fatalf("the undisturbed run makes %d writes", whole.writes)
	}
	for at := 1; at <= whole.writes; at++ {
		for _, applied := range []bool{false, true} {
			var ran counter
			handledRun(t, &faultStore{Store: new(checkpoint.Memory), at: at, applied: applied}, &ran)
			if n := ran.of("a"); n > 4 { // two attempts, and at most once more
				t.Errorf("cut off at write %d (applied: %v): the node made %d attempts", at, applied, n)
			}
		}
	}
}

// handledRun runs a node that fails beside two others, with a handler that asks, to the
// end, and checks it.
func handledRun(t *testing.T, store *faultStore, ran *counter) {
	t.Helper()
	g := func() *graph.Graph[world] {
		handler := graph.Handler(func(ctx context.Context, s *world, f *graph.NodeError) (graph.Command, error) {
			answer, err := graph.Ask[string](ctx, graph.Question{Prompt: f.Err.Error()})
			s.Log.Append("mended by " + answer)
			return graph.Goto("c"), err
		}, "c")
		b := risky(fails("a", ran, errBoom), handler)
		line(b, "x", "y")
		return build(t, b, graph.Config{Store: store})
	}
	res, err := g().Invoke(ctx, world{}, t1)
	for range 20 {
		switch {
		case errors.Is(err, graph.ErrUnknownThread):
			res, err = g().Invoke(ctx, world{}, t1)
		case errors.Is(err, errFault):
			res, err = g().Resume(ctx, graph.Answers{}, t1)
		case err != nil:
			t.Fatal(err)
		case res.Status == graph.Interrupted:
			res, err = g().Resume(ctx, graph.Answer(res.Interrupts[0].ID, "me"), t1)
		default:
			logged(t, res, "mended by me x c y")
			return
		}
	}
	t.Fatalf("the run does not come to an end: %v", err)
}

func TestHandler_WithoutAStore(t *testing.T) {
	var ran counter
	g := build(t, risky(fails("a", &ran, errBoom), mends(&ran, graph.Goto("c"), "c")), graph.Config{})
	logged(t, invoke(t, g, "", graph.Done), "mended a c")
}

func TestHandler_OfAnAbandonedNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran counter
		late := make(chan error, 2)
		b := graph.New[world]("unresponsive")
		b.Node("a", unresponsive(late).With(graph.Policy{Timeout: time.Second}))
		b.OnError("a", mends(&ran, graph.Command{}))
		b.Edge(graph.Start, "a")
		b.Edge("a", graph.End)
		logged(t, invoke(t, build(t, b, stored()), "t1", graph.Done), "mended a")
		<-late
		is(t, <-late, graph.ErrTimeout)
		synctest.Wait()
	})
}

func TestHandler_OfASubgraphIsItsOwn(t *testing.T) {
	var ran counter
	c := child(t, &ran, graph.Config{}, func(context.Context, *inner) error { return errBoom })
	b := graph.New[world]("outer")
	b.Node("a", hosts(c, "", nil))
	b.OnError("*", mends(&ran, graph.Command{}))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	logged(t, invoke(t, build(t, b, stored()), "t1", graph.Done), "mended a")
	ran.want(t, "handler", 1) // of the node around the subgraph, not of the node in it
}

func TestHandler_EmitsEvents(t *testing.T) {
	var ran counter
	g := build(t, risky(fails("a", &ran, errBoom), mends(&ran, graph.Goto("c"), "c")), stored())
	var got []string
	for ev, err := range g.Stream(ctx, world{}, graph.RunOptions{Thread: "t1", Modes: graph.Tasks}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Mode == graph.Tasks && ev.Node == "a" {
			got = append(got, fmt.Sprint(ev.Phase, ev.Attempt))
		}
	}
	if want := "started1 retrying1 started2 rescuing2 started1 finished1"; strings.Join(got, " ") != want {
		t.Errorf("events are %q, want %q", got, want)
	}
}

func TestCompile_MistakesInHandlers(t *testing.T) {
	var ran counter
	h := func(targets ...string) graph.ErrorHandler[world] { return mends(&ran, graph.Command{}, targets...) }
	for want, declare := range map[string]func(b *graph.Builder[world]){
		`"aa" has a handler, but is not a node`:               func(b *graph.Builder[world]) { b.OnError("aa", h()) },
		`node "a" already has a handler`:                      func(b *graph.Builder[world]) { b.OnError("a", h()); b.OnError("a", h()) },
		`the handler of "a" has no function`:                  func(b *graph.Builder[world]) { b.OnError("a", graph.ErrorHandler[world]{}) },
		`the handler of "a" goes to "z", which is not a node`: func(b *graph.Builder[world]) { b.OnError("a", h("z")) },
		`the handler of "a": policy: a timeout of -1ns`:       func(b *graph.Builder[world]) { b.OnError("a", h().With(graph.Policy{Timeout: -1})) },
		`the handler of node "r" declares no targets`:         func(b *graph.Builder[world]) { b.OnError("*", h()) },
		`node "lost" is unreachable`:                          func(b *graph.Builder[world]) { line(b); b.Node("lost", logs("")); b.Edge("lost", graph.End) },
		"": func(b *graph.Builder[world]) {
			b.Node("lost", logs(""))
			b.Edge("lost", graph.End)
			b.OnError("*", h("lost"))
		},
	} {
		b := graph.New[world]("mistakes")
		b.Node("a", logs("a"))
		b.Node("r", goes("r", graph.Goto(graph.End), graph.End))
		b.Edge(graph.Start, "a")
		b.Edge("a", "r")
		declare(b)
		_, err := b.Compile(graph.Config{})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "handler_test.go:")) {
			t.Errorf("got %v, want %q with its line", err, want)
		}
	}
}

func TestProgram_ContainsHandlers(t *testing.T) {
	hash := func(b *graph.Builder[world]) string {
		cfg := stored()
		invoke(t, build(t, b, cfg), "t1", graph.Done)
		p, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"})
		if err != nil {
			t.Fatal(err)
		}
		return p.Program
	}
	var ran counter
	seen := map[string]bool{}
	for _, targets := range [][]string{nil, {"b"}, {"b", "c"}, {"c", "b"}} {
		seen[hash(risky(logs("a"), mends(&ran, graph.Command{}, targets...)))] = true
	}
	if len(seen) != 3 {
		t.Errorf("handlers with three sets of targets make %d programs", len(seen))
	}
}

func TestProgram_ContainsEdgesToEnd(t *testing.T) {
	hash := func(ends bool) string {
		b := graph.New[world]("g")
		b.Edge(graph.Start, "a")
		b.Edge("a", "b")
		b.Edge("b", graph.End)
		b.Node("a", logs("a"))
		b.Node("b", logs("b"))
		if ends {
			b.Edge("a", graph.End)
		}
		cfg := stored()
		invoke(t, build(t, b, cfg), "t1", graph.Done)
		p, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"})
		if err != nil {
			t.Fatal(err)
		}
		return p.Program
	}
	if hash(false) == hash(true) {
		t.Error("a graph with one more edge, to End, is the same program")
	}
}

package graph_test

// The rows of LangGraph's tests that are about steps inside a node and about subgraphs, in
// Weft's terms. The numbers are those of the specification that Weft was built to.

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
	"github.com/weftrun/weft/state"
)

// Requirement: Inline or pool
func TestConcurrency_OneBoundForTheRun(t *testing.T) {
	for limit, want := range map[int]int64{0: 64, 10: 10, 1: 1} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var g meter
				b := graph.New[world]("fan-out")
				b.Node("start", graph.Router(func(context.Context, *world) (c graph.Command, err error) {
					for i := range 100 {
						c = c.Send("w", i)
					}
					return c, nil
				}, "w"))
				b.Node("w", graph.Worker(func(_ context.Context, s *world, n int) error {
					g.work()
					s.Log.Append(fmt.Sprint(n))
					return nil
				}))
				b.Edge(graph.Start, "start")
				b.Edge("w", graph.End)
				res := invoke(t, build(t, b, graph.Config{Concurrency: limit}), "", graph.Done)
				if p := g.peak.Load(); p != want {
					t.Errorf("at most %d were at work at once, want just %d", p, want)
				}
				for i := range 100 {
					if res.State.Log.At(i) != fmt.Sprint(i) {
						t.Fatalf("result %d is %s; results stay in the order of the Sends", i, res.State.Log.At(i))
					}
				}
			})
		})
	}
}

func TestChild_PausesWhileItsSiblingFinishes(t *testing.T) {
	for name, cfg := range map[string]graph.Config{
		"child": {}, "before sibling": {InterruptBefore: []string{"z"}}, "after sibling": {InterruptAfter: []string{"z"}},
	} {
		t.Run(name, func(t *testing.T) {
			var ran counter
			cfg.Store = new(checkpoint.Memory)
			c := child(t, &ran, graph.Config{InterruptBefore: []string{"c2"}}, nil)
			g := build(t, parallel(map[string]graph.Node[world]{"x": hosts(c, "", nil), "z": asks("z", &ran)}), cfg)
			res := invoke(t, g, "t1", graph.Interrupted)
			for range 3 {
				if res.Status == graph.Done {
					break
				}
				r, err := g.Resume(ctx, graph.Answers{}, t1)
				if res = r; err != nil {
					t.Fatal(err)
				}
			}
			logged(t, res, "c1 c2 c3 z")
			for _, n := range []string{"c1", "c2", "z"} {
				ran.want(t, n, 1)
			}
		})
	}
}

func TestChild_TasksOfThreeLevelsFinishInOrder(t *testing.T) {
	row := func(name string, cfg graph.Config, in *graph.Graph[inner], names ...string) *graph.Graph[inner] {
		b := graph.New[inner](name)
		from := graph.Start
		for _, n := range names {
			if n == "child" || n == "grandchild" {
				b.Node(n, graph.Func(func(ctx context.Context, s *inner) error { _, err := in.Call(ctx, inner{}); return err }))
			} else {
				b.Node(n, graph.Func(func(context.Context, *inner) error { return nil }))
			}
			b.Edge(from, n)
			from = n
		}
		b.Edge(from, graph.End)
		return build(t, b, cfg)
	}
	grand := row("g", graph.Config{InterruptBefore: []string{"grandchild_2"}}, nil, "grandchild_1", "grandchild_2")
	mid := row("c", graph.Config{}, grand, "grandchild", "child_1")
	g := row("p", stored(), mid, "parent_1", "child", "parent_2")
	var got []string
	collect := func(ev graph.Event) {
		if ev.Phase == graph.Finished {
			got = append(got, ev.Node)
		}
		if ev.Mode == graph.Ended {
			got = append(got, "|")
		}
	}
	run := graph.RunOptions{Thread: "t1", Modes: graph.Tasks}
	for ev, err := range g.Stream(ctx, inner{}, run) {
		if collect(ev); err != nil {
			t.Fatal(err)
		}
	}
	for ev, err := range g.StreamResume(ctx, graph.Answers{}, run) {
		if collect(ev); err != nil {
			t.Fatal(err)
		}
	}
	want := "parent_1 grandchild_1 | grandchild_2 grandchild child_1 child parent_2 |"
	if strings.Join(got, " ") != want {
		t.Errorf("finished are\n%v, want\n%s", got, want)
	}
}

func TestChild_TwoQuestionsInOneCalledFromANode(t *testing.T) {
	var ran counter
	c := remembers(t, graph.PerCall, "memo", func(ctx context.Context, s *memo) error {
		for _, q := range []string{"first", "second"} {
			v, err := graph.Ask[string](ctx, graph.Question{Prompt: q})
			if err != nil {
				return err
			}
			s.Words.Append(v)
		}
		return nil
	})
	g := one(t, stored(), func(ctx context.Context, s *world) error {
		ran.add("node")
		end, err := c.Call(ctx, say("w"))
		s.Log.Append(memory(end))
		return err
	})
	asked(t, invoke(t, g, "t1", graph.Interrupted), "first")
	asked(t, resume(t, g, graph.Reply("1"), graph.Interrupted), "second")
	logged(t, resume(t, g, graph.Reply("2"), graph.Done), "w+1+2/w")
	ran.want(t, "node", 3)
}

// Requirement: Subgraphs
func TestChild_FinishedNodesDoNotRunAgainWithTheParent(t *testing.T) {
	var ran counter
	c := child(t, &ran, graph.Config{}, func(ctx context.Context, s *inner) error {
		_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "q"})
		return err
	})
	g := one(t, stored(), func(ctx context.Context, s *world) error {
		ran.add("prefix")
		end, err := c.Call(ctx, inner{})
		s.Log.Append(end.Path.Slice()...)
		return err
	})
	asked(t, invoke(t, g, "t1", graph.Interrupted), "q")
	logged(t, resume(t, g, graph.Reply(true), graph.Done), "c1 c2 c3")
	ran.want(t, "prefix", 2)
	ran.want(t, "c1", 1)
	ran.want(t, "c2", 2)
}

// sendsTo returns a graph that runs a child for each of two Sends, a and b.
func sendsTo(t testing.TB, c *graph.Graph[inner], cfg graph.Config) *graph.Graph[world] {
	t.Helper()
	b := graph.New[world]("sends")
	b.Node("start", graph.Router(func(context.Context, *world) (graph.Command, error) {
		return graph.Send("w", "a").Send("w", "b"), nil
	}, "w"))
	b.Node("w", graph.Worker(func(ctx context.Context, s *world, tag string) error {
		end, err := c.Call(ctx, inner{Tag: state.Of(tag)})
		s.Log.Append(end.Path.Slice()...)
		return err
	}))
	b.Edge(graph.Start, "start")
	b.Edge("w", graph.End)
	return build(t, b, cfg)
}

// Requirement: Subgraphs
func TestChildQuestion_HasItsNamespaceAndState(t *testing.T) {
	var ran counter
	cfg := stored()
	c := child(t, &ran, cfg, func(ctx context.Context, s *inner) error {
		_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "q"})
		return err
	})
	g := sendsTo(t, c, cfg)
	res := invoke(t, g, "t1", graph.Interrupted)
	if len(res.Interrupts) != 2 || res.Interrupts[0].ID == res.Interrupts[1].ID {
		t.Fatalf("got %v, want two questions", res.Interrupts)
	}
	for i, in := range res.Interrupts {
		s, p, err := c.Thread("t1").In(in.Namespace).State(ctx, 0)
		if want := []string{"ac1", "bc1"}[i]; err != nil || !slices.Equal(s.Path.Slice(), []string{want}) {
			t.Errorf("the child in %q holds %v (%v), want %s", in.Namespace, s.Path.Slice(), err, want)
		}
		if p.Status != graph.Interrupted || len(p.Interrupts) != 1 || p.Interrupts[0].ID != in.ID || p.Namespace != in.Namespace {
			t.Errorf("the child is %+v, want its question %s", p, in.ID)
		}
	}
	a := graph.Answer(res.Interrupts[0].ID, true).Answer(res.Interrupts[1].ID, true)
	logged(t, resume(t, g, a, graph.Done), "ac1 ac2 ac3 bc1 bc2 bc3")
}

// Requirement: graph.Call stores a result by name and order
func TestCalls_BeforeAQuestionAreNotRunAgain(t *testing.T) {
	var ran counter
	g := one(t, stored(), func(ctx context.Context, s *world) error {
		for i := range 3 {
			v, err := graph.Call(ctx, "count", func(context.Context) (int, error) { return ran.add("count"), nil })
			if err != nil {
				return err
			}
			a, err := graph.Call(ctx, "ask", func(ctx context.Context) (string, error) {
				ran.add("ask")
				return graph.Ask[string](ctx, graph.Question{Prompt: fmt.Sprint(i)})
			})
			if err != nil {
				return err
			}
			s.Log.Append(fmt.Sprint(v, a))
		}
		return nil
	})
	asked(t, invoke(t, g, "t1", graph.Interrupted), "0")
	asked(t, resume(t, g, graph.Reply("a"), graph.Interrupted), "1")
	asked(t, resume(t, g, graph.Reply("b"), graph.Interrupted), "2")
	logged(t, resume(t, g, graph.Reply("c"), graph.Done), "1a 2b 3c")
	ran.want(t, "count", 3)
	ran.want(t, "ask", 6)
}

// puts counts how often each memoized result is written.
type puts struct {
	checkpoint.Store
	memos counter
}

func (p *puts) Put(ctx context.Context, e checkpoint.Pending) error {
	for _, e := range e.Entries {
		if strings.HasPrefix(e.Slot, storedMemo) {
			p.memos.add(e.Slot)
			p.memos.add("all")
		}
	}
	return p.Store.Put(ctx, e)
}

// Requirement: calls inside a node: questions, errors, bounds
func TestCalls_ReplayedResultIsNotStoredAgain(t *testing.T) {
	var ran counter
	store := &puts{Store: new(checkpoint.Memory)}
	g := one(t, graph.Config{Store: store}, func(ctx context.Context, s *world) error {
		_, err1 := graph.Once(ctx, "k", yields(&ran, "once"))
		_, err2 := graph.Call(ctx, "k", yields(&ran, "call"))
		return errors.Join(err1, err2, failsFirst(&ran, "node", 3))
	}, again(2))
	if _, err := g.Invoke(ctx, world{}, t1); err == nil {
		t.Fatal("the run did not fail")
	}
	resume(t, g, graph.Answers{}, graph.Done)
	store.memos.want(t, "all", 2)
}

func TestChild_StartsCleanEachTime(t *testing.T) {
	ask := func(ctx context.Context, s *memo) error {
		v, err := graph.Ask[string](ctx, graph.Question{Prompt: s.Word.Get()})
		s.Words.Append(v)
		return err
	}
	g := build(t, parallel(map[string]graph.Node[world]{"n": callsOf(remembers(t, graph.PerCall, "memo", ask), "a")}), stored())
	for _, want := range []string{"a+1/a", "a+1/a a+1/a"} {
		asked(t, invoke(t, g, "t1", graph.Interrupted), "a")
		logged(t, resume(t, g, graph.Reply("1"), graph.Done), want)
	}
}

func TestChild_OfTheThreadAccumulatesByNode(t *testing.T) {
	ask := func(ctx context.Context, s *memo) error {
		_, err := graph.Ask[string](ctx, graph.Question{Prompt: s.Word.Get()})
		return err
	}
	c := remembers(t, graph.PerThread, "memo", ask)
	g := build(t, parallel(map[string]graph.Node[world]{"x": callsOf(c, "a"), "y": callsOf(c, "b")}), stored())
	for _, want := range []string{"a/a b/b", "a/a b/b a+a/a b+b/b"} {
		res := invoke(t, g, "t1", graph.Interrupted)
		asked(t, res, "a b")
		resume(t, g, graph.Answer(idOf(t, res, "b"), "!"), graph.Interrupted)
		logged(t, resume(t, g, graph.Answer(idOf(t, res, "a"), "!"), graph.Done), want)
	}
}

func TestChild_OfTheThreadAccumulatesInALoop(t *testing.T) {
	cfg := stored()
	c := remembers(t, graph.PerThread, "memo", nil)
	b := graph.New[world]("loop")
	b.Node("inner", graph.Router(func(ctx context.Context, s *world) (graph.Command, error) {
		end, err := c.Call(ctx, say(fmt.Sprint(s.Count.Get())))
		s.Log.Append(memory(end))
		if s.Count.Add(1); s.Count.Get() < 3 {
			return graph.Goto("inner"), err
		}
		return graph.Goto(graph.End), err
	}, "inner", graph.End))
	b.Edge(graph.Start, "inner")
	spaces := map[string]bool{}
	var end graph.Event
	for ev, err := range build(t, b, cfg).Stream(ctx, world{}, graph.RunOptions{Thread: "t1", Modes: graph.Updates}) {
		if err != nil {
			t.Fatal(err)
		}
		spaces[ev.Namespace], end = true, ev
	}
	if len(spaces) != 2 || !spaces["inner/memo"] {
		t.Errorf("events come from %v, want the root and inner/memo, without the id of a task", spaces)
	}
	s := end.State.(*world)
	if got := strings.Join(s.Log.Slice(), " "); got != "0/0 0+1/1 0+1+2/2" {
		t.Errorf("the log is %s", got)
	}
}

func TestChild_StatelessHasNoCheckpoints(t *testing.T) {
	cfg := stored()
	g := build(t, parallel(map[string]graph.Node[world]{"n": callsOf(remembers(t, graph.Stateless, "memo", nil), "a", "b")}), cfg)
	logged(t, invoke(t, g, "t1", graph.Done), "a/a b/b")
	if spaces, err := graph.Namespaces(ctx, cfg.Store, "t1"); err != nil || len(spaces) != 0 {
		t.Errorf("the subgraphs have the namespaces %q (%v), want none", spaces, err)
	}
}

// Requirement: nested graphs share a thread
func TestChild_WithItsOwnThreadKeepsItsNamespace(t *testing.T) {
	cfg := stored()
	var ran counter
	c := build(t, parallel(map[string]graph.Node[world]{"q": asks("q", &ran, "deep")}), cfg)
	g := one(t, cfg, func(ctx context.Context, s *world) error {
		res, err := c.Invoke(ctx, world{}, graph.RunOptions{Thread: "own"})
		s.Log.Append(string(res.Status))
		return err
	})
	logged(t, invoke(t, g, "t1", graph.Done), "interrupted")
	p, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "own"})
	if err != nil || p.Namespace != "" || len(p.Interrupts) != 1 || p.Interrupts[0].Namespace != "" {
		t.Errorf("the thread of its own is %+v (%v), want its root with a question", p, err)
	}
	if _, err := c.Resume(ctx, graph.Reply("!"), graph.RunOptions{Thread: "own"}); err != nil {
		t.Error(err)
	}
}

// Requirement: Subgraphs
func TestChild_SeveralInOneNode(t *testing.T) {
	cfg := stored()
	a, b := remembers(t, graph.PerCall, "a", nil), remembers(t, graph.PerCall, "b", nil)
	g := one(t, cfg, func(ctx context.Context, s *world) error {
		f, h := a.Go(ctx, say("1")), b.Go(ctx, say("2"))
		third, err1 := a.Call(ctx, say("3"))
		fourth, err2 := graph.Call(ctx, "in a call", func(ctx context.Context) (string, error) {
			end, err := b.Call(ctx, say("4"))
			return memory(end), err
		})
		first, err3 := f.Wait(ctx)
		second, err4 := h.Wait(ctx)
		s.Log.Append(memory(first), memory(second), memory(third), fourth)
		return errors.Join(err1, err2, err3, err4)
	})
	logged(t, invoke(t, g, "t1", graph.Done), "1/1 2/2 3/3 4/4")
	if spaces, err := graph.Namespaces(ctx, cfg.Store, "t1"); err != nil || len(spaces) != 4 {
		t.Errorf("the namespaces are %q (%v), want four", spaces, err)
	}
}

func TestChild_CallEventsComeBeforeItsNodeHasFinished(t *testing.T) {
	goOn := make(chan struct{})
	c := remembers(t, graph.PerCall, "memo", func(ctx context.Context, s *memo) error { return graph.Emit(ctx, "from below") })
	g := one(t, stored(), func(ctx context.Context, s *world) error {
		_, err := c.Call(ctx, say("a"))
		<-goOn // until the reader has seen the child
		return err
	})
	seen := false
	for ev, err := range g.Stream(ctx, world{}, graph.RunOptions{Thread: "t1", Modes: graph.Custom}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Payload == "from below" && ev.Namespace != "" {
			seen = true
			close(goOn)
		}
	}
	if !seen {
		t.Error("the child's event did not arrive")
	}
}

func TestCommandToParent_WritesParentFields(t *testing.T) {
	for _, kind := range []graph.Lifetime{graph.PerCall, graph.PerThread, graph.Stateless} {
		for _, d := range []graph.Durability{graph.Sync, graph.Async, graph.Exit} {
			t.Run(fmt.Sprint(kind, d), func(t *testing.T) {
				cfg := stored()
				b := graph.New[inner]("tool")
				b.Node("tool", graph.Router(func(context.Context, *inner) (graph.Command, error) {
					return graph.ToParent(graph.Goto("x"), world{Name: state.Of("bob")}), nil
				}, graph.End))
				b.Edge(graph.Start, "tool")
				g := around(t, new(counter), hosting(build(t, b, graph.Config{Nested: kind}), new(counter)), cfg)
				res, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Durability: d})
				if logged(t, ended(t, graph.Done, res, err), "in x"); res.State.Name.Get() != "bob" {
					t.Errorf("the name is %v, want bob", res.State.Name)
				}
				commits := 0
				for _, err := range graph.History(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}, checkpoint.Query{}) {
					if commits++; err != nil {
						t.Fatal(err)
					}
				}
				want := 1
				if kind == graph.PerThread {
					want = 2 // a child that persists is stored by itself, after the input of its run
				}
				if d == graph.Exit && commits != want {
					t.Errorf("the run made %d commits, want %d", commits, want)
				}
			})
		}
	}
}

// Requirement: Subgraphs
func TestParentCommand_AtTheRootIsAnError(t *testing.T) {
	for name, p := range map[string]graph.Policy{
		"plain": {}, "timeout": {Timeout: time.Hour}, "retry": {Retry: graph.Retry{Attempts: 5, Initial: time.Hour}},
	} {
		t.Run(name, func(t *testing.T) {
			var ran counter
			b := graph.New[world]("root")
			b.Node("n", graph.Router(func(context.Context, *world) (graph.Command, error) {
				ran.add("n")
				return graph.Goto("x").InParent(), nil
			}, graph.End).With(p))
			b.Edge(graph.Start, "n")
			_, err := build(t, b, stored()).Invoke(ctx, world{}, t1)
			is(t, err, graph.ErrNoParent, `node "n"`, `Goto("x")`)
			ran.want(t, "n", 1)
		})
	}
}

// Requirement: Subgraphs
func TestChild_StateAndHistoryOfNestedOnes(t *testing.T) {
	cfg := stored()
	var ran counter
	leaf := child(t, &ran, cfg, func(ctx context.Context, s *inner) error {
		_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "q"})
		return err
	})
	mid := graph.New[inner]("mid")
	mid.Node("m", graph.Subgraph(leaf, func(*inner) (inner, error) { return inner{Tag: state.Of("m")}, nil },
		func(s *inner, end *inner) error { s.Path.Append(end.Path.Slice()...); return nil }))
	mid.Edge(graph.Start, "m")
	mid.Edge("m", graph.End)
	c := build(t, mid, cfg)
	g := build(t, parallel(map[string]graph.Node[world]{"r": hosts(c, "", nil)}), cfg)
	res := invoke(t, g, "t1", graph.Interrupted)
	spaces, err := graph.Namespaces(ctx, cfg.Store, "t1")
	if err != nil || len(spaces) != 2 || spaces[1] != res.Interrupts[0].Namespace {
		t.Fatalf("the namespaces are %q (%v), want that of mid and that of the question", spaces, err)
	}
	if s, p, err := leaf.Thread("t1").In(spaces[1]).State(ctx, 1); err != nil || s.Path.Len() != 0 || p.Source != checkpoint.Input {
		t.Errorf("the leaf began with %v, %v (%v)", s.Path.Slice(), p.Source, err)
	}
	resume(t, g, graph.Reply(true), graph.Done)
	var ends []string
	for _, ns := range spaces {
		n := 0
		for p, err := range graph.History(ctx, cfg.Store, checkpoint.Key{Thread: "t1", Namespace: ns}, checkpoint.Query{}) {
			if n++; err != nil || p.Namespace != ns {
				t.Fatalf("%+v, %v", p, err)
			}
		}
		s, p, err := c.Thread("t1").In(ns).State(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, fmt.Sprint(n, p.Status, s.Path.Slice()))
	}
	if want := []string{"2done[mc1 mc2 mc3]", "4done[mc1 mc2 mc3]"}; !slices.Equal(ends, want) {
		t.Errorf("the children's commits, status and state are %q, want %q", ends, want)
	}
	_, err = graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1", Namespace: "elsewhere"})
	is(t, err, graph.ErrUnknownThread, `"t1"`, `"elsewhere"`)
	_, _, err = leaf.Thread("t1").In(spaces[1]).State(ctx, 9)
	is(t, err, graph.ErrUnknownThread, "commit 9")
	_, err = graph.Namespaces(ctx, cfg.Store, "t2")
	is(t, err, graph.ErrUnknownThread, `"t2"`)
}

type tenantKey struct{}

func TestChild_GetsTheContext(t *testing.T) {
	var got []any
	c := remembers(t, graph.PerCall, "memo", func(ctx context.Context, s *memo) error {
		_, err := graph.Call(ctx, "x", func(ctx context.Context) (int, error) {
			got = append(got, ctx.Value(tenantKey{}))
			return 0, nil
		})
		got = append(got, ctx.Value(tenantKey{}))
		return err
	})
	g := build(t, parallel(map[string]graph.Node[world]{"n": callsOf(c, "a")}), stored())
	if _, err := g.Invoke(context.WithValue(ctx, tenantKey{}, "acme"), world{}, t1); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, []any{"acme", "acme"}) {
		t.Errorf("the child sees %v", got)
	}
}

func TestResume_AtTheHeadContinuesInTheChild(t *testing.T) {
	for _, at := range []uint64{0, 1} { // 1 is the head: the only commit of the root
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			var ran counter
			c := child(t, &ran, graph.Config{}, func(ctx context.Context, s *inner) error {
				_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "q"})
				return err
			})
			g := build(t, parallel(map[string]graph.Node[world]{"n": hosts(c, "", nil)}), stored())
			res := invoke(t, g, "t1", graph.Interrupted)
			if res.Checkpoint != 1 {
				t.Fatalf("the head is %d", res.Checkpoint)
			}
			res, err := g.Resume(ctx, graph.Reply(true), graph.RunOptions{Thread: "t1", At: at})
			logged(t, ended(t, graph.Done, res, err), "c1 c2 c3")
			ran.want(t, "c1", 1)
		})
	}
}

func TestBranch_RunsItsChildrenAgain(t *testing.T) {
	var ran counter
	c := child(t, &ran, graph.Config{}, nil)
	b := graph.New[world]("branch")
	b.Node("a", logs("a"))
	b.Node("n", graph.Subgraph(c, func(s *world) (inner, error) { return inner{Tag: state.Of(s.Name.Get())}, nil },
		func(s *world, end *inner) error { s.Log.Append(end.Path.Slice()...); return nil }))
	b.Edge(graph.Start, "a")
	b.Edge("a", "n")
	b.Edge("n", graph.End)
	g := build(t, b, stored())
	res, err := g.Invoke(ctx, world{Name: state.Of("old")}, t1)
	logged(t, ended(t, graph.Done, res, err), "a oldc1 oldc2 oldc3")
	at := graph.RunOptions{Thread: "t1", At: 2}
	if _, err := g.Patch(ctx, func(s *world) error { s.Name.Set("new"); return nil }, at); err != nil {
		t.Fatal(err)
	}
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "a newc1 newc2 newc3")
}

// Requirement: calls inside a node: questions, errors, bounds
func TestCalls_ParallelNestedChainedAndCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran counter
		double := func(n int) func(context.Context) (int, error) {
			return func(context.Context) (int, error) { ran.add("double"); return 2 * n, nil }
		}
		g := one(t, stored(), func(ctx context.Context, s *world) error {
			first := graph.Go(ctx, "nested", func(ctx context.Context) (int, error) {
				a, b := graph.Go(ctx, "double", double(1)), graph.Go(ctx, "double", double(2))
				x, err1 := a.Wait(ctx)
				y, err2 := b.Wait(ctx)
				return x + y, errors.Join(err1, err2)
			})
			chained := graph.Go(ctx, "chained", func(ctx context.Context) (int, error) {
				n, err := first.Wait(ctx)
				return n + 1, err
			})
			slow := graph.Go(ctx, "slow", func(ctx context.Context) (int, error) {
				if ran.add("slow") > 1 {
					return 100, nil
				}
				<-ctx.Done()
				return 0, ctx.Err()
			})
			n, err := chained.Wait(ctx)
			synctest.Wait()
			if ran.of("node") == 0 {
				slow.Cancel()
			}
			m, cancelled := slow.Wait(ctx)
			if ran.of("node") == 0 && !errors.Is(cancelled, context.Canceled) {
				t.Errorf("a call that was cancelled gives %v", cancelled)
			}
			s.Count.Add(n + m)
			return errors.Join(err, failsFirst(&ran, "node", 1))
		})
		if _, err := g.Invoke(ctx, world{}, t1); err == nil {
			t.Fatal("the run did not fail")
		}
		if res := resume(t, g, graph.Answers{}, graph.Done); res.State.Count.Get() != 107 {
			t.Errorf("the count is %d, want the stored 7 and 100", res.State.Count.Get())
		}
		ran.want(t, "double", 2)
		ran.want(t, "slow", 2)
	})
}

func TestCalls_EachIsReportedBeforeItsResultIsUsed(t *testing.T) {
	g := one(t, stored(), func(ctx context.Context, s *world) error {
		for i := range 3 {
			if _, err := graph.Go(ctx, fmt.Sprint("call", i), func(context.Context) (int, error) { return i, nil }).Wait(ctx); err != nil {
				return err
			}
			if err := graph.Emit(ctx, fmt.Sprint("used", i)); err != nil {
				return err
			}
		}
		return nil
	})
	var got []string
	for ev, err := range g.Stream(ctx, world{}, graph.RunOptions{Thread: "t1", Modes: graph.Tasks | graph.Custom}) {
		switch {
		case err != nil:
			t.Fatal(err)
		case ev.Mode == graph.Custom:
			got = append(got, ev.Payload.(string))
		case ev.Label != "" && ev.Phase == graph.Finished:
			got = append(got, ev.Label)
		}
	}
	if want := "call0 used0 call1 used1 call2 used2"; strings.Join(got, " ") != want {
		t.Errorf("events are %v, want %s", got, want)
	}
}

// A function with a memory is a graph of one node: what it saves is in its state, what it
// returns may be something else.
func TestResult_MayDifferFromTheStoredState(t *testing.T) {
	g := one(t, stored(), func(ctx context.Context, s *world) error {
		previous := s.Count.Get()
		s.Count.Add(len(s.Name.Get()))
		s.Other.Set(fmt.Sprintf("was %d", previous)) // returned; the next turn looks at Count alone
		return nil
	})
	for i, want := range []string{"was 0", "was 3", "was 6"} {
		res, err := g.Invoke(ctx, world{Name: state.Of("abc")}, t1)
		if ended(t, graph.Done, res, err); res.State.Other.Get() != want {
			t.Errorf("turn %d returns %q, want %q", i+1, res.State.Other.Get(), want)
		}
	}
}

// Requirement: calls inside a node: questions, errors, bounds
func TestOnce_FalsyResultsAreReplayed(t *testing.T) {
	var ran counter
	g := one(t, stored(), func(ctx context.Context, s *world) error {
		no, err1 := graph.Call(ctx, "false", func(context.Context) (bool, error) { ran.add("fn"); return false, nil })
		zero, err2 := graph.Call(ctx, "zero", func(context.Context) (int, error) { ran.add("fn"); return 0, nil })
		empty, err3 := graph.Call(ctx, "empty", func(context.Context) (string, error) { ran.add("fn"); return "", nil })
		null, err4 := graph.Call(ctx, "nil", func(context.Context) (map[string]int, error) { ran.add("fn"); return nil, nil })
		answer, err5 := graph.Ask[bool](ctx, graph.Question{Prompt: "q"})
		if no || zero != 0 || empty != "" || null != nil {
			t.Errorf("the calls give %v %v %q %v", no, zero, empty, null)
		}
		s.Log.Append(fmt.Sprint(answer))
		return errors.Join(err1, err2, err3, err4, err5)
	})
	asked(t, invoke(t, g, "t1", graph.Interrupted), "q")
	logged(t, resume(t, g, graph.Reply(false), graph.Done), "false")
	ran.want(t, "fn", 4)
}

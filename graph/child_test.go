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
	"github.com/weftrun/weft/state"
)

// memo is the state of a child that remembers.
type memo struct {
	Word  state.Value[string] `json:"word"`
	Words state.List[string]  `json:"words"`
	Turn  state.List[string]  `json:"turn" weft:"turn"`
}

// remembers is a graph that adds its input to its words, after do.
func remembers(t testing.TB, kind graph.Lifetime, name string, do func(ctx context.Context, s *memo) error) *graph.Graph[memo] {
	b := graph.New[memo](name)
	b.Node("m", graph.Func(func(ctx context.Context, s *memo) error {
		s.Words.Append(s.Word.Get())
		s.Turn.Append(s.Word.Get())
		if do == nil {
			return nil
		}
		return do(ctx, s)
	}))
	b.Node("end", graph.Func(func(context.Context, *memo) error { return nil }))
	b.Edge(graph.Start, "m")
	b.Edge("m", "end")
	b.Edge("end", graph.End)
	return build(t, b, graph.Config{Nested: kind})
}

// say returns the input of a memo.
func say(word string) memo { return memo{Word: state.Of(word)} }

// memory returns the words that a child remembers of the thread and of the turn.
func memory(m memo) string {
	return strings.Join(m.Words.Slice(), "+") + "/" + strings.Join(m.Turn.Slice(), "+")
}

// callsOf is a node that calls the child with each word and logs what it remembers.
func callsOf(c *graph.Graph[memo], words ...string) graph.Node[world] {
	return graph.Func(func(ctx context.Context, s *world) error {
		for _, w := range words {
			end, err := c.Call(ctx, say(w))
			if err != nil {
				return err
			}
			s.Log.Append(memory(end))
		}
		return nil
	})
}

// Requirement: Subgraphs
func TestChild_Lifetimes(t *testing.T) {
	for kind, want := range map[graph.Lifetime]string{
		graph.PerCall:   "a/a b/b a/a b/b",
		graph.Stateless: "a/a b/b a/a b/b",
		graph.PerThread: "a/a a+b/b a+b+a/a a+b+a+b/b",
	} {
		t.Run(fmt.Sprint(kind), func(t *testing.T) {
			c := remembers(t, kind, "memo", nil)
			g := build(t, parallel(map[string]graph.Node[world]{"n": callsOf(c, "a", "b")}), stored())
			invoke(t, g, "t1", graph.Done)
			logged(t, invoke(t, g, "t1", graph.Done), want)
		})
	}
}

func TestChild_OfTheThreadNeedsAStore(t *testing.T) {
	c := remembers(t, graph.PerThread, "memo", nil)
	g := build(t, parallel(map[string]graph.Node[world]{"n": callsOf(c, "a")}), graph.Config{})
	_, err := g.Invoke(ctx, world{}, graph.RunOptions{})
	is(t, err, graph.ErrNoStore, `graph "memo"`, `node "n"`)
}

func TestChild_StatelessHasNoStaticInterrupts(t *testing.T) {
	b := graph.New[world]("b")
	line(b, "a")
	_, err := b.Compile(graph.Config{Nested: graph.Stateless, InterruptBefore: []string{"a"}})
	if err == nil || !strings.Contains(err.Error(), "Stateless") {
		t.Errorf("got %v, want a mistake", err)
	}
	if _, err := b.Compile(graph.Config{Nested: 7}); err == nil || !strings.Contains(err.Error(), "7 is no Lifetime") {
		t.Errorf("got %v, want a mistake", err)
	}
}

// Requirement: Subgraphs
func TestChild_QuestionsInEachKind(t *testing.T) {
	for kind, runs := range map[graph.Lifetime]int{graph.PerCall: 1, graph.PerThread: 1, graph.Stateless: 2} {
		t.Run(fmt.Sprint(kind), func(t *testing.T) {
			var ran counter
			b := graph.New[memo]("memo")
			b.Node("first", graph.Func(func(ctx context.Context, s *memo) error {
				ran.add("first")
				_, err := graph.Once(ctx, "effect", yields(&ran, "effect"))
				return err
			}))
			b.Node("asks", graph.Func(func(ctx context.Context, s *memo) error {
				v, err := graph.Ask[string](ctx, graph.Question{Prompt: "q"})
				s.Words.Append(v)
				return err
			}))
			b.Edge(graph.Start, "first")
			b.Edge("first", "asks")
			b.Edge("asks", graph.End)
			c := build(t, b, graph.Config{Nested: kind})
			g := build(t, parallel(map[string]graph.Node[world]{"n": callsOf(c, "a")}), stored())
			asked(t, invoke(t, g, "t1", graph.Interrupted), "q")
			logged(t, resume(t, g, graph.Reply("yes"), graph.Done), "yes/")
			ran.want(t, "first", runs)
			ran.want(t, "effect", 1)
		})
	}
}

// Requirement: Subgraphs
// Requirement: nested graphs share a thread
func TestChild_OfTheThreadInTwoTasksIsAnError(t *testing.T) {
	for name, sleep := range map[string]time.Duration{"at once": time.Second, "one after the other": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := remembers(t, graph.PerThread, "memo", func(context.Context, *memo) error { time.Sleep(sleep); return nil })
				b := graph.New[world]("b")
				b.Node("start", graph.Router(func(context.Context, *world) (graph.Command, error) {
					return graph.Send("w", "a").Send("w", "b"), nil
				}, "w"))
				b.Node("w", graph.Worker(func(ctx context.Context, s *world, word string) error {
					_, err := c.Call(ctx, say(word))
					return err
				}))
				b.Edge(graph.Start, "start")
				b.Edge("w", graph.End)
				cfg := stored()
				if sleep == 0 {
					cfg.Concurrency = 1
				}
				_, err := build(t, b, cfg).Invoke(ctx, world{}, t1)
				is(t, err, graph.ErrShared, `graph "memo"`, `of node "w" and by task`)
			})
		})
	}
}

func TestChild_ParallelCallsOfOneConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := remembers(t, graph.PerThread, "memo", func(context.Context, *memo) error { time.Sleep(time.Second); return nil })
		g := one(t, stored(), func(ctx context.Context, s *world) error {
			a, b := c.Go(ctx, say("a")), c.Go(ctx, say("b"))
			_, err1 := a.Wait(ctx)
			_, err2 := b.Wait(ctx)
			return errors.Join(err1, err2)
		})
		_, err := g.Invoke(ctx, world{}, t1)
		is(t, err, graph.ErrShared, `node "n"`)
	})
}

func TestChild_FinishedTurnsAreReused(t *testing.T) {
	var ran counter
	c := remembers(t, graph.PerThread, "memo", func(context.Context, *memo) error { ran.add("child"); return nil })
	g := one(t, stored(), func(ctx context.Context, s *world) error {
		for _, w := range []string{"a", "b", "c"} {
			end, err := c.Call(ctx, say(w))
			if err != nil {
				return err
			}
			s.Log.Append(memory(end))
			if w != "a" {
				if err := failsFirst(&ran, "after "+w, 1); err != nil {
					return err
				}
			}
		}
		return nil
	}, again(3))
	logged(t, invoke(t, g, "t1", graph.Done), "a/a a+b/b a+b+c/c")
	ran.want(t, "child", 3)
	logged(t, invoke(t, g, "t1", graph.Done), "a/a a+b/b a+b+c/c a+b+c+a/a a+b+c+a+b/b a+b+c+a+b+c/c")
}

func TestChild_AbandonedTurnIsNotContinued(t *testing.T) {
	c := remembers(t, graph.PerThread, "memo", func(ctx context.Context, s *memo) error {
		if s.Word.Get() != "quiet" {
			_, err := graph.Ask[bool](ctx, graph.Question{Prompt: s.Word.Get()})
			return err
		}
		return nil
	})
	g := one(t, stored(), func(ctx context.Context, s *world) error {
		end, err := c.Call(ctx, say(s.Name.Get()))
		s.Log.Append(memory(end))
		return err
	})
	res, err := g.Invoke(ctx, world{Name: state.Of("loud")}, t1)
	asked(t, ended(t, graph.Interrupted, res, err), "loud")
	res, err = g.Invoke(ctx, world{Name: state.Of("quiet")}, graph.RunOptions{Thread: "t1", OnOpenQuestions: graph.Discard})
	logged(t, ended(t, graph.Done, res, err), "quiet/quiet")
}

func TestChild_OnItsOwnThread(t *testing.T) {
	cfg := stored()
	b := graph.New[memo]("memo")
	b.Node("m", graph.Func(func(_ context.Context, s *memo) error { s.Words.Append(s.Word.Get()); return nil }))
	b.Edge(graph.Start, "m")
	b.Edge("m", graph.End)
	c := build(t, b, cfg)
	g := one(t, cfg, func(ctx context.Context, s *world) error {
		res, err := c.Invoke(ctx, say("a"), graph.RunOptions{Thread: "other"})
		s.Log.Append(memory(res.State))
		return err
	})
	invoke(t, g, "t1", graph.Done)
	logged(t, invoke(t, g, "t1", graph.Done), "a/ a+a/")
	if p, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "other"}); err != nil || p.Turn != 2 {
		t.Errorf("the other thread is at turn %d (%v), want 2", p.Turn, err)
	}
	if spaces, err := cfg.Store.Namespaces(ctx, "t1"); err != nil || len(spaces) != 1 {
		t.Errorf("the parent's thread has the namespaces %q (%v), want the root alone", spaces, err)
	}
}

// Requirement: Subgraphs
func TestChild_LimitHoldsInsideAParent(t *testing.T) {
	b := graph.New[world]("loop")
	b.Node("l", graph.Router(func(ctx context.Context, s *world) (graph.Command, error) {
		if s.Name.Get() == "unresponsive" {
			time.Sleep(time.Hour)
		}
		time.Sleep(time.Second)
		return graph.Goto("l"), nil
	}, "l", graph.End))
	b.Edge(graph.Start, "l")
	for name, cfg := range map[string]graph.Config{
		"steps": {MaxSteps: 5}, "time": {Timeout: 10500 * time.Millisecond}, "unresponsive": {Timeout: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := build(t, b, cfg)
				g := one(t, stored(), func(ctx context.Context, s *world) error {
					end, err := c.Call(ctx, world{Name: state.Of(name)})
					if name != "unresponsive" && end.Name.Get() != name {
						t.Errorf("the error comes with the state %v, want the state so far", end.Name)
					}
					return err
				})
				_, err := g.Invoke(ctx, world{}, t1)
				kind := graph.ErrTimeout
				if name == "steps" {
					kind = graph.ErrSteps
				}
				is(t, err, kind, `graph "loop"`, `node "n"`)
				if name == "unresponsive" {
					is(t, err, graph.ErrAbandoned)
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

func TestChild_OutsideANodeIsAnError(t *testing.T) {
	_, err := remembers(t, graph.PerCall, "memo", nil).Call(ctx, memo{})
	is(t, err, graph.ErrNoTask, `graph "memo"`)
	_, err = remembers(t, graph.PerCall, "memo", nil).Go(ctx, memo{}).Wait(ctx)
	is(t, err, graph.ErrNoTask)
}

// Requirement: Subgraphs
func TestInlineChildren_MergeThroughTheReducers(t *testing.T) {
	inline := func(name string) graph.Node[world] {
		b := graph.New[world]("in " + name)
		for i, from := range []string{graph.Start, "s0", "s1"} {
			node := fmt.Sprint("s", i)
			b.Node(node, graph.Func(func(_ context.Context, s *world) error {
				s.Log.Append(fmt.Sprint(name, i, ":", s.Log.Len()))
				s.Count.Add(1)
				s.Seen.Put(fmt.Sprint(name, i), s.Count.Get())
				s.Seen.Delete(fmt.Sprint(name, i-1))
				s.Seen.Delete("old")
				if name == "a" {
					s.Name.Set(fmt.Sprint(i))
				}
				s.Spark.Set(fmt.Sprint("spark", i))
				if i == 2 && name == "b" {
					s.Spark.Clear()
				}
				return nil
			}))
			b.Edge(from, node)
		}
		b.Edge("s2", graph.End)
		return graph.Inline(build(t, b, graph.Config{}))
	}
	b := graph.New[world]("inline")
	b.Node("first", graph.Func(func(_ context.Context, s *world) error {
		s.Log.Append("first")
		s.Seen.Put("old", 1)
		return nil
	}))
	b.Node("c", logs("c"))
	for _, n := range []string{"a", "b"} {
		b.Edge("first", n)
		b.Edge(n, graph.End)
	}
	b.Node("a", inline("a"))
	b.Node("b", graph.Func(func(_ context.Context, s *world) error { s.Log.Append("b"); return nil }))
	b.Edge("first", "c")
	b.Edge("c", graph.End)
	b.Edge(graph.Start, "first")
	res := invoke(t, build(t, b, stored()), "t1", graph.Done)
	logged(t, res, "first a0:1 a1:2 a2:3 b c")
	s := res.State
	if s.Count.Get() != 3 || s.Name.Get() != "2" || s.Spark.Get() != "spark2" || s.Seen.String() != `{"a2":3}` {
		t.Errorf("the state is %v %v %v %v", s.Count, s.Name, s.Spark, s.Seen)
	}
}

func TestInlineChild_ContinuesWhereItStopped(t *testing.T) {
	var ran counter
	b := graph.New[world]("in")
	b.Node("a", graph.Func(func(_ context.Context, s *world) error {
		ran.add("a")
		s.Log.Overwrite([]string{"new"})
		s.Log.Append("a")
		s.Count.Add(2)
		return nil
	}))
	b.Node("b", asks("b", &ran, "q"))
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", graph.End)
	top := parallel(map[string]graph.Node[world]{"n": graph.Inline(build(t, b, graph.Config{}))})
	g := build(t, top, stored())
	res, err := g.Invoke(ctx, world{Log: state.ListOf("old")}, t1)
	asked(t, ended(t, graph.Interrupted, res, err), "q")
	res = resume(t, g, graph.Reply("!"), graph.Done)
	logged(t, res, "new a b q=!")
	ran.want(t, "a", 1)
	if res.State.Count.Get() != 2 {
		t.Errorf("the count is %d, want 2", res.State.Count.Get())
	}
}

func TestInlineChildren_ThatSetOneValueConflict(t *testing.T) {
	b := graph.New[world]("in")
	b.Node("a", graph.Func(func(_ context.Context, s *world) error { s.Name.Set("x"); return nil }))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	c := build(t, b, graph.Config{})
	g := build(t, parallel(map[string]graph.Node[world]{"x": graph.Inline(c), "y": graph.Inline(c)}), stored())
	_, err := g.Invoke(ctx, world{}, t1)
	is(t, err, graph.ErrConflict, `"name"`, `"x"`, `"y"`)
}

// Requirement: Subgraphs
func TestNamespaces_DeepOnesAndTheirOrder(t *testing.T) {
	cfg := stored()
	leaf := remembers(t, graph.PerThread, "leaf", nil)
	mid := graph.New[world]("mid")
	mid.Node("m", callsOf(leaf, "x"))
	mid.Edge(graph.Start, "m")
	mid.Edge("m", graph.End)
	c := build(t, mid, graph.Config{})
	g := one(t, cfg, func(ctx context.Context, s *world) error {
		for range 2 {
			end, err := c.Call(ctx, world{})
			if err != nil {
				return err
			}
			s.Log.Append(end.Log.Slice()...)
		}
		return nil
	})
	logged(t, invoke(t, g, "t1", graph.Done), "x/x x+x/x")
	spaces, err := cfg.Store.Namespaces(ctx, "t1")
	if err != nil || len(spaces) != 4 || !slices.Contains(spaces, "n|m/leaf") {
		t.Errorf("the namespaces are %q (%v), want the root, two of mid, and n|m/leaf", spaces, err)
	}
}

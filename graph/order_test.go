package graph_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// turnstile lets tasks return in an order that the test chooses.
type turnstile map[string]chan struct{}

func (g turnstile) pass(name string) { <-g[name] }

// shuffled opens the gates one after the other, in random order.
func shuffled(names ...string) (gates turnstile, order []string) {
	gates = turnstile{}
	for _, i := range rand.Perm(len(names)) {
		gates[names[i]] = make(chan struct{})
		order = append(order, names[i])
	}
	return gates, order
}

type gatesKey struct{}

// fanIn is three nodes that log and return as the turnstile in the context lets
// them, one opening the gate of the next, and a fourth that they lead to.
func fanIn(t testing.TB, cfg graph.Config) *graph.Graph[world] {
	b := graph.New[world]("fan-in")
	for _, name := range []string{"c", "a", "b"} {
		b.Node(name, graph.Func(func(ctx context.Context, s *world) error {
			ctx.Value(gatesKey{}).(turnstile).pass(name)
			s.Log.Append(name, name+"'")
			s.Seen.Put("last", len(name))
			ctx.Value(nextKey{}).(func(string))(name)
			return nil
		}))
		b.Edge(graph.Start, name)
		b.Edge(name, "end")
	}
	b.Node("end", logs("end"))
	b.Edge("end", graph.End)
	return build(t, b, cfg)
}

type nextKey struct{}

// inOrder returns a context in which fanIn's nodes return in a random order.
func inOrder() context.Context {
	gates, order := shuffled("a", "b", "c")
	close(gates[order[0]])
	next := func(name string) {
		for i, n := range order[:2] {
			if n == name {
				close(gates[order[i+1]])
			}
		}
	}
	return context.WithValue(context.WithValue(ctx, gatesKey{}, gates), nextKey{}, next)
}

// Requirement: One order
func TestFanIn_HasOneOrderInAThousandSchedules(t *testing.T) {
	g := fanIn(t, graph.Config{})
	for range 1000 {
		res, err := g.Invoke(inOrder(), world{}, graph.RunOptions{})
		logged(t, ended(t, graph.Done, res, err), "a a' b b' c c' end")
	}
}

func TestRuns_TwoHundredOfOneGraphAtOnce(t *testing.T) {
	cfg := stored()
	g := fanIn(t, cfg)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			thread := graph.RunOptions{Thread: fmt.Sprint("thread ", i)}
			res, err := g.Invoke(inOrder(), world{Name: state.Of(fmt.Sprint(i))}, thread)
			if err != nil || strings.Join(res.State.Log.Slice(), " ") != "a a' b b' c c' end" || res.State.Name.Get() != fmt.Sprint(i) {
				t.Errorf("run %d: got %v, %q, %v", i, res.State.Log.Slice(), res.State.Name.Get(), err)
			}
		})
	}
	wg.Wait()
}

// Requirement: Private views
func TestTask_FailureLeavesNoTrace(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error": func() error { return errors.New("boom") },
		"panic": func() error { panic("boom") },
	} {
		t.Run(name, func(t *testing.T) {
			b := graph.New[world]("trace")
			b.Node("bad", graph.Func(func(_ context.Context, s *world) error {
				s.Name.Set("bad")
				s.Log.Append("bad")
				s.Seen.Put("bad", 1)
				s.Count.Overwrite(99)
				return fail()
			}))
			b.Node("good", logs("good"))
			b.Edge(graph.Start, "bad")
			b.Edge(graph.Start, "good")
			b.Edge("bad", graph.End)
			b.Edge("good", graph.End)
			res, err := build(t, b, graph.Config{}).Invoke(ctx, world{Name: state.Of("in")}, graph.RunOptions{})
			if err == nil || res.Status != graph.Failed {
				t.Fatalf("got %q, %v, want a failure", res.Status, err)
			}
			if s := &res.State; s.Name.Get() != "in" || s.Log.Len()+s.Seen.Len()+s.Count.Get() != 0 {
				t.Errorf("a failed step left %q %v %d", s.Name.Get(), s.Log.Slice(), s.Count.Get())
			}
		})
	}
}

// Requirement: Private views
func TestTask_DoesNotSeeItsSiblings(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	b := graph.New[world]("siblings")
	for _, name := range []string{"a", "b"} {
		b.Node(name, graph.Func(func(_ context.Context, s *world) error {
			s.Log.Append(name)
			s.Seen.Put(name, 1)
			s.Count.Add(1)
			both.Done()
			both.Wait() // both have written before one reads
			if s.Log.Len() != 2 || s.Log.At(1) != name || s.Seen.Len() != 1 || s.Count.Get() != 1 {
				return fmt.Errorf("%s sees %v, %d entries, %d", name, s.Log.Slice(), s.Seen.Len(), s.Count.Get())
			}
			return nil
		}))
		b.Edge(graph.Start, name)
		b.Edge(name, graph.End)
	}
	res, err := build(t, b, graph.Config{}).Invoke(ctx, world{Log: state.ListOf("in")}, graph.RunOptions{})
	logged(t, ended(t, graph.Done, res, err), "in a b")
	if res.State.Seen.Len() != 2 || res.State.Count.Get() != 2 {
		t.Errorf("got %d entries and %d, want 2 and 2", res.State.Seen.Len(), res.State.Count.Get())
	}
}

// Requirement: Branches see their own
func TestBranch_SeesItsOwnNodeAndNoSibling(t *testing.T) {
	b := graph.New[world]("branch")
	for _, name := range []string{"a", "b"} {
		b.Node(name, logs(name))
		b.Edge(graph.Start, name)
		b.Branch(name, func(_ context.Context, s *world) (graph.Command, error) {
			if s.Log.Len() != 1 || s.Log.At(0) != name {
				return graph.Command{}, fmt.Errorf("the branch after %s sees %v", name, s.Log.Slice())
			}
			return graph.Goto(graph.End), nil
		}, graph.End)
	}
	logged(t, invoke(t, build(t, b, graph.Config{}), "", graph.Done), "a b")
}

// Requirement: Private views
func TestRun_ChangesNoStateOfTheCaller(t *testing.T) {
	b := graph.New[world]("hold")
	line(b, "a", "b")
	g := build(t, b, graph.Config{})
	in := world{Log: state.ListOf("in"), Seen: state.MapOf(map[string]int{"in": 1})}
	first, _ := g.Invoke(ctx, in, graph.RunOptions{})
	copied := first.State
	copied.Log.Append("mine")
	copied.Seen.Delete("in")
	second, _ := g.Invoke(ctx, in, graph.RunOptions{})
	logged(t, first, "in a b")
	logged(t, second, "in a b")
	if in.Log.Len() != 1 || in.Seen.Len() != 1 || first.State.Seen.Len() != 1 {
		t.Errorf("the input holds %v and %d entries, the first result %d", in.Log.Slice(), in.Seen.Len(), first.State.Seen.Len())
	}
}

func TestConflict_NamesFieldAndBothNodes(t *testing.T) {
	for name, write := range map[string]func(s *world){
		"name":  func(s *world) { s.Name.Set("x") },
		"log":   func(s *world) { s.Log.Overwrite([]string{"x"}) },
		"count": func(s *world) { s.Count.Overwrite(0) },
		"seen":  func(s *world) { s.Seen.Overwrite(nil) },
		"spark": func(s *world) { s.Spark.Set("x") },
	} {
		t.Run(name, func(t *testing.T) {
			b := graph.New[world]("conflict")
			for _, node := range []string{"ann", "bob", "cy"} {
				b.Node(node, graph.Func(func(_ context.Context, s *world) error {
					s.Draft.Append(node)
					if node != "bob" {
						write(s)
					}
					return nil
				}))
				b.Edge(graph.Start, node)
				b.Edge(node, graph.End)
			}
			in := world{Name: state.Of("in"), Log: state.ListOf("in"), Count: state.SumOf(3)}
			res, err := build(t, b, graph.Config{}).Invoke(ctx, in, graph.RunOptions{})
			is(t, err, graph.ErrConflict, `"`+name+`"`, `"ann"`, `"cy"`)
			if s := &res.State; s.Name.Get() != "in" || s.Log.Len() != 1 || s.Count.Get() != 3 || s.Draft.Len() != 0 {
				t.Errorf("after a conflict the state is not that of the step's beginning: %q %v %d %v",
					s.Name.Get(), s.Log.Slice(), s.Count.Get(), s.Draft.Slice())
			}
		})
	}
}

func TestEphemeral_IsGoneAfterOneStepAndOneTurn(t *testing.T) {
	b := graph.New[world]("spark")
	see := func(next string) graph.Node[world] {
		return graph.Func(func(_ context.Context, s *world) error {
			s.Log.Append(s.Spark.Get() + ">" + next)
			if next != "" {
				s.Spark.Set(next)
			}
			return nil
		})
	}
	b.Node("a", see("1"))
	b.Node("b", see(""))
	b.Node("c", see("2"))
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", "c")
	b.Edge("c", graph.End)
	g := build(t, b, stored())
	logged(t, invoke(t, g, "t1", graph.Done), ">1 1> >2")
	res, err := g.Invoke(ctx, world{}, t1)
	logged(t, ended(t, graph.Done, res, err), ">1 1> >2 >1 1> >2")
	res, err = g.Invoke(ctx, world{Spark: state.EphemeralOf("in")}, graph.RunOptions{Thread: "t2"})
	logged(t, ended(t, graph.Done, res, err), "in>1 1> >2")
}

// A worker of the pool whose task has failed starts no other: with one worker, what comes
// after the failure in canonical order has not begun.
//
// Requirement: Siblings keep their work
func TestFailure_StartsNoMoreOfItsStep(t *testing.T) {
	for range 200 {
		var ran counter
		nodes := map[string]graph.Node[world]{"a": graph.Func(func(context.Context, *world) error { return errBoom })}
		for _, name := range []string{"b", "c"} {
			nodes[name] = graph.Func(func(context.Context, *world) error {
				ran.add(name)
				return nil
			})
		}
		_, err := build(t, parallel(nodes), graph.Config{Concurrency: 1}).Invoke(ctx, world{}, graph.RunOptions{})
		is(t, err, errBoom)
		ran.want(t, "b", 0)
		ran.want(t, "c", 0)
		if t.Failed() {
			return
		}
	}
}

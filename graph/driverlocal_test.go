package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// A graph that is driven from outside has the same states, history and runs of each node as in a
// local run.
//
// Requirement: driver: the trace is that of the local run
func TestDriver_EqualsTheLocalRun(t *testing.T) {
	for name, declare := range map[string]func(t *testing.T, ran *counter) *graph.Builder[world]{
		"a handler goes elsewhere": func(_ *testing.T, ran *counter) *graph.Builder[world] {
			return risky(fails("a", ran, errors.New("broken")), mends(ran, graph.Goto("c"), "c"))
		},
		"a handler fails": func(_ *testing.T, ran *counter) *graph.Builder[world] {
			return risky(fails("a", ran, errors.New("broken")), graph.Handler(func(context.Context, *world, *graph.NodeError) (graph.Command, error) {
				if ran.add("handler") <= 2 {
					return graph.Command{}, errors.New("the handler is broken too")
				}
				return graph.Command{}, nil
			}))
		},
		"a result survives a question": func(_ *testing.T, ran *counter) *graph.Builder[world] {
			return oneNode(graph.Func(func(ctx context.Context, s *world) error {
				paid, err := graph.Once(ctx, "pay", func(context.Context) (int, error) { return ran.add("pay"), nil })
				if err != nil {
					return err
				}
				ok, err := graph.Ask[bool](ctx, graph.Question{Prompt: "Ship?"})
				s.Log.Append(fmt.Sprint(paid, ok))
				return err
			}))
		},
		"a fallback asks": func(_ *testing.T, ran *counter) *graph.Builder[world] {
			return oneNode(graph.Fallback(fails("first", ran, errors.New("broken")), questions("second", ran)))
		},
		"sends with a join": func(_ *testing.T, ran *counter) *graph.Builder[world] {
			b := graph.New[world]("sends")
			b.Node("split", graph.Router(func(context.Context, *world) (graph.Command, error) {
				var c graph.Command
				for i := range 5 {
					c = c.Send("work", i)
				}
				return c.Send("work", 9).WithReason("one more"), nil
			}, "work"))
			b.Node("work", graph.Worker(func(_ context.Context, s *world, n int) error {
				ran.add("work")
				s.Log.Append(fmt.Sprint(n))
				s.Count.Add(n)
				return nil
			}))
			b.Node("sum", graph.Func(func(_ context.Context, s *world) error {
				s.Log.Append(fmt.Sprint("sum ", s.Count.Get()))
				s.Draft.Append("draft")
				s.Spark.Set("spark")
				return nil
			}))
			b.Defer("sum")
			b.Edge(graph.Start, "split")
			b.Edge("work", "sum")
			b.Edge("sum", graph.End)
			return b
		},
		"a child asks, pauses and remembers": func(t *testing.T, ran *counter) *graph.Builder[world] {
			child := remembers(t, graph.PerThread, "child", func(ctx context.Context, s *memo) error {
				ran.add("child")
				word, err := graph.Ask[bool](ctx, graph.Question{Prompt: "Remember " + s.Word.Get() + "?"})
				if err == nil {
					s.Words.Append(fmt.Sprint(word))
				}
				return err
			})
			return oneNode(callsOf(child, "x", "y"))
		},
		"a child fails once": func(t *testing.T, ran *counter) *graph.Builder[world] {
			child := remembers(t, graph.PerCall, "child", func(context.Context, *memo) error {
				if ran.add("child") == 1 {
					return errors.New("the child is broken")
				}
				return nil
			})
			return oneNode(callsOf(child, "x"))
		},
		"a child goes to its parent": func(t *testing.T, _ *counter) *graph.Builder[world] {
			inner := graph.New[memo]("inner")
			inner.Node("leave", graph.Router(func(context.Context, *memo) (graph.Command, error) {
				return graph.Goto("far").InParent(), nil
			}, graph.Parent))
			inner.Edge(graph.Start, "leave")
			child := build(t, inner, graph.Config{})
			b := graph.New[world]("outer")
			b.Node("near", graph.Subgraph(child, func(*world) (memo, error) { return say("x"), nil },
				func(*world, *memo) error { return nil }, "far"))
			b.Node("far", logs("far"))
			b.Edge(graph.Start, "near")
			b.Edge("far", graph.End)
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			var here, there counter
			local, driven := stored(), stored()
			local.Trace, driven.Trace = true, true
			g := build(t, declare(t, &here), local)
			d := drives(t, driven, func() *graph.Builder[world] { return declare(t, &there) })
			var open []graph.Interrupt
			var last graph.Status
			for n := range 6 {
				q := graph.PlanRequest{Run: fmt.Sprint("run-", n)}
				var res graph.Result[world]
				var err error
				if n == 0 {
					q.Input = noInput
					res, err = g.Invoke(ctx, world{}, t1)
				} else {
					for _, in := range open {
						q.Answers = q.Answers.Answer(in.ID, true)
					}
					var a graph.Answers
					for _, in := range openOf(t, local.Store) {
						a = a.Answer(in.ID, true)
					}
					res, err = g.Resume(ctx, a, t1)
				}
				p, err2 := d.drive(q)
				open = p.Interrupts
				if res.Status != p.Status || (err == nil) != (err2 == nil) || len(res.Interrupts) != len(open) {
					t.Fatalf("call %d ended %q with %v and %d questions, and locally %q with %v and %d", n, p.Status, err2, len(open), res.Status, err, len(res.Interrupts))
				}
				if got, want := traceOf(t, driven.Store), traceOf(t, local.Store); got != want {
					t.Fatalf("call %d\n got: %s\nwant: %s", n, got, want)
				}
				if last = res.Status; last == graph.Done {
					break
				}
			}
			if last != graph.Done {
				t.Errorf("the last call ended %q, want done", last)
			}
			s, _, err := g.Thread("t1").State(ctx, 0)
			if err != nil {
				t.Fatal(err)
			}
			d.log(strings.Join(s.Log.Slice(), " "))
			if got, want := fmt.Sprint(there.n), fmt.Sprint(here.n); got != want {
				t.Errorf("the nodes ran %s times, and locally %s", got, want)
			}
		})
	}
}

// oneNode is a graph of one node.
func oneNode(n graph.Node[world]) *graph.Builder[world] {
	b := graph.New[world]("one")
	b.Node("a", n)
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	return b
}

// openOf returns the open questions of t1.
func openOf(tb testing.TB, s checkpoint.Store) []graph.Interrupt {
	tb.Helper()
	p, err := graph.Inspect(ctx, s, checkpoint.Key{Thread: "t1"})
	if err != nil {
		tb.Fatal(err)
	}
	return p.Interrupts
}

// traceOf returns the history of t1 as text.
func traceOf(tb testing.TB, s checkpoint.Store) string {
	tb.Helper()
	var b strings.Builder
	for p, err := range graph.History(ctx, s, checkpoint.Key{Thread: "t1"}, checkpoint.Query{}) {
		if err != nil {
			tb.Fatal(err)
		}
		fmt.Fprintf(&b, "%d %s %s turn %d step %d next %v", p.Checkpoint, p.Source, p.Status, p.Turn, p.Step, p.Next)
		for _, r := range p.Ran {
			fmt.Fprintf(&b, " ran %+v", r)
		}
		for _, f := range p.Failures {
			fmt.Fprintf(&b, " failed %s %s %s", f.Node, f.Kind, f.Message)
		}
		fmt.Fprintf(&b, " %d finished, %d open\n", len(p.Finished), len(p.Interrupts))
	}
	return b.String()
}

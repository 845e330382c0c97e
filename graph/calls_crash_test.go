package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/racescale"
	"github.com/weftrun/weft/state"
)

// everything is a graph whose nodes use Once and Call and host children of every kind. Each effect
// is counted under the id of its task.
func everything(t testing.TB, cfg graph.Config, effects *counter) *graph.Graph[world] {
	effect := func(name string) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			effects.add(graph.ExecutionID(ctx))
			return name, nil
		}
	}
	ask := func(ctx context.Context, s *memo) error {
		_, err := graph.Once(ctx, "inside", effect("inside"))
		if err == nil && s.Word.Get() == "ask" {
			var a string
			a, err = graph.Ask[string](ctx, graph.Question{Prompt: "in a child"})
			s.Words.Append(a)
		}
		return err
	}
	kinds := map[graph.Lifetime]*graph.Graph[memo]{}
	for kind, name := range map[graph.Lifetime]string{graph.PerCall: "call", graph.PerThread: "thread", graph.Stateless: "less"} {
		kinds[kind] = remembers(t, kind, name, ask)
	}
	calls := graph.Func(func(ctx context.Context, s *world) error {
		once, err1 := graph.Once(ctx, "once", effect("once"))
		a, b := graph.Go(ctx, "par", effect("a")), graph.Go(ctx, "par", effect("b"))
		nested, err2 := graph.Call(ctx, "outer", func(ctx context.Context) (string, error) {
			in, err := graph.Call(ctx, "inner", effect("inner"))
			answer, asked := graph.Ask[string](ctx, graph.Question{Prompt: "in a call"})
			return in + answer, errors.Join(err, asked)
		})
		va, err3 := a.Wait(ctx)
		vb, err4 := b.Wait(ctx)
		s.Log.Append(once, va, vb, nested)
		return errors.Join(err1, err2, err3, err4)
	})
	hosts := graph.Func(func(ctx context.Context, s *world) error {
		for _, kind := range []graph.Lifetime{graph.PerCall, graph.PerThread, graph.Stateless} {
			for _, word := range []string{"x", "ask"} {
				end, err := kinds[kind].Call(ctx, say(word))
				if err != nil {
					return err
				}
				s.Log.Append(memory(end))
			}
		}
		return nil
	})
	in := graph.New[world]("inline")
	in.Node("i1", calls)
	in.Node("i2", logs("i2"))
	in.Edge(graph.Start, "i1")
	in.Edge("i1", "i2")
	in.Edge("i2", graph.End)
	up := leaves(t, new(counter), func(ctx context.Context) (graph.Command, error) {
		_, err := graph.Once(ctx, "up", effect("up"))
		return graph.ToParent(graph.Goto("last"), world{Log: state.ListOf("up"), Count: state.SumOf(1)}), err
	})
	b := graph.New[world]("everything")
	b.Node("calls", calls)
	b.Node("hosts", hosts)
	b.Node("inline", graph.Inline(build(t, in, graph.Config{})))
	b.Node("up", graph.Subgraph(up, func(*world) (inner, error) { return inner{}, nil }, func(*world, *inner) error { return nil }, "last"))
	b.Node("last", logs("last"))
	for _, from := range []string{"calls", "hosts", "inline"} {
		b.Edge(graph.Start, from)
	}
	b.Join("up", "calls", "hosts", "inline")
	b.Edge("last", graph.End)
	return build(t, b, cfg)
}

// lives runs everything for two turns, each with a newly compiled graph, and continues after each
// fault as another process would. It returns the state at the end.
func lives(t *testing.T, store checkpoint.Store, d graph.Durability, effects *counter) string {
	calls := 0
	compiled := func() *graph.Graph[world] {
		calls++
		id := fmt.Sprint("call ", calls)
		return everything(t, graph.Config{Store: store, NewID: func() string { return id }}, effects)
	}
	run := graph.RunOptions{Thread: "t1", Durability: d}
	for turn := 1; turn <= 2; turn++ {
		var a graph.Answers
		for at := 0; ; at++ {
			if at > 100 {
				t.Fatal("the run does not come to an end")
			}
			p, err := graph.Inspect(ctx, store, checkpoint.Key{Thread: "t1"})
			if err != nil && !errors.Is(err, graph.ErrUnknownThread) {
				t.Fatal(err)
			}
			var res graph.Result[world]
			if p.Turn < turn {
				if turn == 1 {
					calls = 0 // the ids of the tasks hold that of the first call
				}
				res, err = compiled().Invoke(ctx, world{}, run)
			} else {
				res, err = compiled().Resume(ctx, a, run)
			}
			a = graph.Answers{}
			for _, in := range res.Interrupts {
				if err != nil {
					break // no question was asked
				}
				a = a.Answer(in.ID, "!")
			}
			if err == nil && res.Status == graph.Done {
				break
			}
			if err != nil && !errors.Is(err, errFault) {
				t.Fatal(err)
			}
		}
	}
	g := compiled()
	s, _, err := g.Thread("t1").State(ctx, 0)
	data, err2 := g.EncodeState(s)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A process may die at any write, before or after it is done: the next process reaches the same
// end, and each stored effect happened once. Only an effect whose result was not stored happens
// again.
//
// Requirement: graph.Once stores a side effect by its key
// Requirement: a worker is killed
func TestOnce_HappensOnceAfterAnyCrash(t *testing.T) {
	for _, d := range []graph.Durability{graph.Sync, graph.Async, graph.Exit} {
		t.Run(d.String(), func(t *testing.T) {
			var calm counter
			whole := &faultStore{Store: new(checkpoint.Memory)}
			want := lives(t, whole, d, &calm)
			for at := 1; at <= whole.writes; at += racescale.Of(1, 2) + 2*min(int(d), 1) {
				for _, applied := range []bool{false, true} {
					var effects counter
					got := lives(t, &faultStore{Store: new(checkpoint.Memory), at: at, applied: applied}, d, &effects)
					if got != want {
						t.Fatalf("cut off at write %d of %d (applied: %v)\ngot  %s\nwant %s", at, whole.writes, applied, got, want)
					}
					again := 0
					for id, n := range effects.n {
						if again += n - 1; calm.of(id) == 0 && d == graph.Sync {
							t.Errorf("cut off at write %d: %s ran, which does not run undisturbed", at, id)
						}
					}
					if most := map[bool]int{false: 1, true: 0}[applied]; d == graph.Sync && again > most {
						t.Errorf("cut off at write %d of %d (applied: %v): %d effects happened again, want at most %d", at, whole.writes, applied, again, most)
					}
				}
			}
			t.Logf("%d writes, %d effects", whole.writes, len(calm.n))
		})
	}
}

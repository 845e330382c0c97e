package graph_test

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"testing"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

type small struct {
	Question state.Value[string] `json:"question"`
	Facts    state.List[string]  `json:"facts"`
	Rounds   state.Sum[int]      `json:"rounds"`
	Approved state.Value[bool]   `json:"approved"`
}

func addRound(_ context.Context, s *small) error {
	s.Rounds.Add(1)
	return nil
}

// BenchmarkChain1000 runs 1,000 nodes one after the other, each with one write.
func BenchmarkChain1000(b *testing.B) {
	const n = 1000
	d := graph.New[small]("chain")
	for i := range n {
		d.Node(fmt.Sprintf("n%04d", i), graph.Func(addRound))
		if i > 0 {
			d.Edge(fmt.Sprintf("n%04d", i-1), fmt.Sprintf("n%04d", i))
		}
	}
	d.Edge(graph.Start, "n0000")
	d.Edge(fmt.Sprintf("n%04d", n-1), graph.End)
	benchSteps(b, compile(b, d), n, func(s *small) bool { return s.Rounds.Get() == n })
}

// BenchmarkLoop1000 goes 1,000 times through two nodes that send each other on.
func BenchmarkLoop1000(b *testing.B) {
	const turns = 1000
	d := graph.New[small]("loop")
	d.Node("ping", graph.Func(addRound))
	d.Node("pong", graph.Router(func(_ context.Context, s *small) (graph.Command, error) {
		if s.Rounds.Get() >= turns {
			return graph.Goto(graph.End), nil
		}
		return graph.Goto("ping"), nil
	}, "ping", graph.End))
	d.Edge(graph.Start, "ping")
	d.Edge("ping", "pong")
	benchSteps(b, compile(b, d), 2*turns, func(s *small) bool { return s.Rounds.Get() == turns })
}

// BenchmarkInvoke runs a graph of one node, with a context that can end.
func BenchmarkInvoke(b *testing.B) {
	d := graph.New[small]("one")
	d.Node("add", graph.Func(func(_ context.Context, s *small) error {
		s.Rounds.Add(1)
		return nil
	}))
	d.Edge(graph.Start, "add")
	d.Edge("add", graph.End)
	g := compile(b, d)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Invoke(b.Context(), small{}, graph.RunOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFanOut10(b *testing.B)   { benchFanOut(b, 10) }
func BenchmarkFanOut100(b *testing.B)  { benchFanOut(b, 100) }
func BenchmarkFanOut1000(b *testing.B) { benchFanOut(b, 1000) }

// benchFanOut runs n nodes at once, each of which appends to one list, 20 times in one run.
func benchFanOut(b *testing.B, n int) {
	const laps = 20
	d := graph.New[small]("fan")
	d.Node("start", graph.Func(func(context.Context, *small) error { return nil }))
	d.Edge(graph.Start, "start")
	for i := range n {
		name := fmt.Sprintf("w%03d", i)
		d.Node(name, graph.Func(func(_ context.Context, s *small) error {
			s.Facts.Append(name)
			return nil
		}))
		d.Edge("start", name)
		d.Edge(name, "end")
	}
	d.Node("end", graph.Router(func(_ context.Context, s *small) (graph.Command, error) {
		s.Rounds.Add(1)
		if s.Rounds.Get() >= laps {
			return graph.Goto(graph.End), nil
		}
		return graph.Goto("start"), nil
	}, "start", graph.End))
	g := compile(b, d)
	b.ReportAllocs()
	for b.Loop() {
		res, err := g.Invoke(b.Context(), small{}, graph.RunOptions{})
		if err != nil || res.State.Facts.Len() != n*laps || res.State.Facts.At(n*laps-1) != fmt.Sprintf("w%03d", n-1) {
			b.Fatal(res.State.Facts.Len(), err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n*laps), "ns/task")
}

type wide struct {
	C00, C01, C02, C03, C04, C05, C06, C07, C08, C09 state.Value[int]
	C10, C11, C12, C13, C14, C15, C16, C17, C18, C19 state.Value[string]
	C20, C21, C22, C23, C24                          state.Sum[int]
	C25, C26, C27                                    state.List[string]
	C28, C29                                         state.Map[string, int]
}

// BenchmarkWide30 loops over one node with a state of 30 fields.
func BenchmarkWide30(b *testing.B) {
	const n = 1000
	d := graph.New[wide]("wide")
	d.Node("a", graph.Router(func(_ context.Context, s *wide) (graph.Command, error) {
		s.C20.Add(1)
		if s.C20.Get() >= n {
			return graph.Goto(graph.End), nil
		}
		return graph.Goto("a"), nil
	}, "a", graph.End))
	d.Edge(graph.Start, "a")
	benchSteps(b, compile(b, d), n, func(s *wide) bool { return s.C20.Get() == n })
}

func compile[S any](tb testing.TB, d *graph.Builder[S]) *graph.Graph[S] {
	tb.Helper()
	g, err := d.Compile(graph.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// benchSteps runs a graph of so many supersteps and checks each result.
func benchSteps[S any](b *testing.B, g *graph.Graph[S], steps int, right func(*S) bool) {
	b.ReportAllocs()
	for b.Loop() {
		var in S
		res, err := g.Invoke(ctx, in, graph.RunOptions{})
		if err != nil || res.Steps != steps || !right(&res.State) {
			b.Fatalf("got %d steps, right %v, %v; want %d", res.Steps, right(&res.State), err, steps)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(steps), "ns/step")
}

// BenchmarkReaders loops 1,000 times through two nodes while readers take the Tasks: 4,000
// events each.
func BenchmarkReaders(b *testing.B) {
	const turns = 1000
	d := graph.New[small]("loop")
	d.Node("ping", graph.Func(addRound))
	d.Node("pong", graph.Router(func(_ context.Context, s *small) (graph.Command, error) {
		if s.Rounds.Get() >= turns {
			return graph.Goto(graph.End), nil
		}
		return graph.Goto("ping"), nil
	}, "ping", graph.End))
	d.Edge(graph.Start, "ping")
	d.Edge("ping", "pong")
	g := compile(b, d)
	for _, n := range []int{0, 1, 8} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				live := g.Start(b.Context(), small{}, graph.RunOptions{Hold: true})
				var readers sync.WaitGroup
				var joined []iter.Seq2[graph.Event, error]
				for range n {
					joined = append(joined, live.Events(graph.Tasks))
				}
				for _, events := range joined {
					readers.Go(func() {
						seen := 0
						for range events {
							seen++
						}
						if seen != 4*turns+1 {
							b.Errorf("a reader saw %d events, want %d", seen, 4*turns+1)
						}
					})
				}
				if _, err := live.Wait(); err != nil {
					b.Fatal(err)
				}
				readers.Wait()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(4*turns), "ns/event")
		})
	}
}

// BenchmarkChain10 is a short run, of which a good part is what any run costs.
func BenchmarkChain10(b *testing.B) {
	const n = 10
	d := graph.New[small]("chain")
	from := graph.Start
	for i := range n {
		name := fmt.Sprintf("n%04d", i)
		d.Node(name, graph.Func(addRound))
		d.Edge(from, name)
		from = name
	}
	d.Edge(from, graph.End)
	benchSteps(b, compile(b, d), n, func(s *small) bool { return s.Rounds.Get() == n })
}

// BenchmarkFanOutOnce makes the tasks of one wide step, and runs them once.
func BenchmarkFanOutOnce(b *testing.B) {
	for _, n := range []int{10, 100} {
		d := graph.New[small]("fan")
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("w%03d", i))
			d.Node(all[i], graph.Func(func(_ context.Context, s *small) error { s.Facts.Append(all[i]); return nil }))
			d.Edge(graph.Start, all[i])
		}
		d.Node("last", graph.Func(addRound))
		d.Join("last", all...)
		d.Edge("last", graph.End)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			benchSteps(b, compile(b, d), 2, func(s *small) bool { return s.Facts.Len() == n && s.Facts.At(n-1) == all[n-1] })
		})
	}
}

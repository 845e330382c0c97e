package graph_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// logState is a state with one list.
type logState struct {
	Log state.List[string] `json:"log"`
}

// BenchmarkStoredSteps adds 1 KiB in each of 200 steps, on a new thread in memory.
func BenchmarkStoredSteps(b *testing.B) {
	const n = 200
	text := strings.Repeat("x", 1024)
	store := new(checkpoint.Memory)
	d := graph.New[logState]("steps")
	d.Node("add", graph.Router(func(_ context.Context, s *logState) (graph.Command, error) {
		s.Log.Append(text)
		if s.Log.Len() < n {
			return graph.Goto("add"), nil
		}
		return graph.Goto(graph.End), nil
	}, "add", graph.End))
	d.Edge(graph.Start, "add")
	g, err := d.Compile(graph.Config{Store: store, MaxSteps: n})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		res, err := g.Invoke(b.Context(), logState{}, graph.RunOptions{Thread: "t"})
		if err := errors.Join(err, store.Delete(b.Context(), "t")); err != nil || res.State.Log.Len() != n {
			b.Fatal(res.State.Log.Len(), err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/step")
}

// countsTo compiles a graph of one node that counts to n, a step at a time.
func countsTo(b *testing.B, store checkpoint.Store, n int) *graph.Graph[small] {
	d := graph.New[small]("count")
	d.Node("add", graph.Router(func(_ context.Context, s *small) (graph.Command, error) {
		s.Rounds.Add(1)
		if s.Rounds.Get() < n {
			return graph.Goto("add"), nil
		}
		return graph.Goto(graph.End), nil
	}, "add", graph.End))
	d.Edge(graph.Start, "add")
	g, err := d.Compile(graph.Config{Store: store, MaxSteps: n})
	if err != nil {
		b.Fatal(err)
	}
	return g
}

// BenchmarkStoredInvoke runs one node on a new thread in memory.
func BenchmarkStoredInvoke(b *testing.B) {
	store := new(checkpoint.Memory)
	g := countsTo(b, store, 1)
	b.ReportAllocs()
	for b.Loop() {
		_, err := g.Invoke(b.Context(), small{}, graph.RunOptions{Thread: "t"})
		if err := errors.Join(err, store.Delete(b.Context(), "t")); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStoredCrowd counts to 100 on 1,000 threads at once.
func BenchmarkStoredCrowd(b *testing.B) {
	const threads, n = 1000, 100
	b.ReportAllocs()
	for b.Loop() {
		g := countsTo(b, new(checkpoint.Memory), n)
		var all sync.WaitGroup
		for i := range threads {
			all.Go(func() {
				if _, err := g.Invoke(b.Context(), small{}, graph.RunOptions{Thread: strconv.Itoa(i)}); err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n*threads), "ns/step")
}

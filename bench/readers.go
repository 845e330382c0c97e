package main

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/weftrun/weft/graph"
)

// readers is a loop with n subscribers, which receive the start and the end of each task.
func readers(turns int) Workload {
	w := Workload{Name: fmt.Sprintf("stream of the tasks of a loop of %d turns", turns), Unit: "step", Units: 2 * turns}
	for _, n := range []int{0, 1, 8} {
		w.Runners = append(w.Runners, Runner{fmt.Sprintf("%s, %d readers", weft, n), func(context.Context) (Job, error) { return weftReaders(turns, n) }})
	}
	return w
}

func weftReaders(turns, n int) (Job, error) {
	g, err := loopGraph(turns)
	if err != nil {
		return Job{}, err
	}
	return job(func(ctx context.Context) error {
		live := g.Start(ctx, count{}, graph.RunOptions{Hold: true})
		seen, joined := make([]int, n), make([]iter.Seq2[graph.Event, error], n)
		for i := range joined { // all of them, before the first one lets the run begin
			joined[i] = live.Events(graph.Tasks)
		}
		var all sync.WaitGroup
		for i, events := range joined {
			all.Go(func() {
				for range events {
					seen[i]++
				}
			})
		}
		res, err := live.Wait()
		all.Wait()
		if err != nil {
			return err
		}
		for _, events := range seen {
			if err := is(events, 4*turns+1); err != nil { // begin and end of each task, and the end
				return err
			}
		}
		return is(res.State.N.Get(), turns)
	})
}

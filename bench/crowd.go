package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/weftrun/weft/graph"
)

// crowd is so many threads at once, each of which counts to steps.
func crowd(threads, steps int, g ground) Workload {
	return Workload{Name: fmt.Sprintf("%d threads at once, %d steps each, %s", threads, steps, g.name), Unit: "step", Units: threads * steps, Long: true, Runners: []Runner{
		{g.plainName, func(ctx context.Context) (Job, error) { return plainCrowd(ctx, threads, steps, g) }},
		{weft, func(ctx context.Context) (Job, error) { return weftCrowd(ctx, threads, steps, g) }},
	}}
}

// countBytes is what a commit of a step that counts takes, about.
const countBytes = 450

func plainCrowd(ctx context.Context, threads, steps int, g ground) (Job, error) {
	write, done, err := g.plain(ctx)
	if err != nil {
		return Job{}, err
	}
	data := bytes.Repeat([]byte("x"), countBytes)
	var written atomic.Int64
	return Job{
		Run: func(ctx context.Context) error {
			return together(threads, func(int) error {
				for range steps {
					if err := write(ctx, data); err != nil {
						return err
					}
					written.Add(1)
				}
				return nil
			})
		},
		Counts: func(context.Context) (Counts, error) { return Counts{written.Load(), written.Load() * countBytes}, nil },
		Close:  done,
	}, nil
}

// together calls f for each of n at once.
func together(n int, f func(i int) error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func weftCrowd(ctx context.Context, n, steps int, g ground) (Job, error) {
	opened, err := g.open(ctx)
	if err != nil {
		return Job{}, err
	}
	store := &counting{backend: opened}
	most := &highest{}
	gr, err := countTo(steps, graph.Config{Store: store}, most.look)
	if err != nil {
		return Job{}, errors.Join(err, store.Close())
	}
	used := &threads{}
	return Job{
		Run: func(ctx context.Context) error {
			before := runtime.NumGoroutine()
			defer func() { most.before, most.after = before, runtime.NumGoroutine() }()
			return together(n, func(int) error {
				res, err := gr.Invoke(ctx, count{}, graph.RunOptions{Thread: used.next()})
				if err != nil {
					return err
				}
				return is(res.State.N.Get(), steps)
			})
		},
		Counts: store.counts,
		Note:   most.String,
		Close:  func() { _ = errors.Join(used.deleteFrom(store), store.Close()) },
	}, nil
}

// countTo is a node that goes to itself until it has counted so far.
func countTo(steps int, cfg graph.Config, look func()) (*graph.Graph[count], error) {
	b := graph.New[count]("count")
	b.Node("add", graph.Router(func(_ context.Context, s *count) (graph.Command, error) {
		look()
		s.N.Add(1)
		if s.N.Get() < steps {
			return graph.Goto("add"), nil
		}
		return graph.Goto(graph.End), nil
	}, "add", graph.End))
	b.Edge(graph.Start, "add")
	return b.Compile(cfg)
}

// highest looks now and then at how many goroutines there are.
type highest struct {
	calls, most   atomic.Int64
	before, after int
}

func (h *highest) look() {
	if h.calls.Add(1)%97 == 0 {
		n := int64(runtime.NumGoroutine())
		for most := h.most.Load(); n > most && !h.most.CompareAndSwap(most, n); most = h.most.Load() {
		}
	}
}

func (h *highest) String() string {
	return fmt.Sprintf("Weft: %d goroutines before, at most %d while it ran, %d after.", h.before, h.most.Load(), h.after)
}

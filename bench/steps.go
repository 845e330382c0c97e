package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// log is the state of the workloads that keep a conversation.
type log struct {
	Log state.List[string] `json:"log"`
}

// text returns the text of a step: 1 KiB, no two alike.
func text(i int) string {
	n := fmt.Sprint(i)
	return strings.Repeat("x", 1024-len(n)) + n
}

// commitBytes is the size of a commit of such a step, with header and references. Plain writes have
// the same size: the column of stored bytes shows both.
const commitBytes = 1546

// steps adds n texts of 1 KiB to a log, one a step, with a store below.
func steps(n int, g ground) Workload {
	return Workload{Name: fmt.Sprintf("%d steps of 1 KiB, %s", n, g.name), Unit: "step", Units: n, Runners: []Runner{
		{g.plainName, func(ctx context.Context) (Job, error) { return plainSteps(ctx, n, g) }},
		{commitAlone, func(ctx context.Context) (Job, error) { return commitSteps(ctx, n, g) }},
		{weft, func(ctx context.Context) (Job, error) { return weftSteps(ctx, n, &g) }},
	}}
}

// stepsAlone is steps without a store.
func stepsAlone(n int) Workload {
	return Workload{Name: fmt.Sprintf("%d steps of 1 KiB, no store", n), Unit: "step", Units: n, Runners: []Runner{
		{floor, func(context.Context) (Job, error) { return floorSteps(n) }},
		{weft, func(ctx context.Context) (Job, error) { return weftSteps(ctx, n, nil) }},
	}}
}

func floorSteps(n int) (Job, error) {
	texts := textsOf(n)
	return job(func(context.Context) error {
		var all []string
		for i := range n {
			all = append(all, texts[i])
		}
		return is(len(all), n)
	})
}

func textsOf(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = text(i)
	}
	return texts
}

func plainSteps(ctx context.Context, n int, g ground) (Job, error) {
	write, done, err := g.plain(ctx)
	if err != nil {
		return Job{}, err
	}
	data, written := []byte(strings.Repeat("x", commitBytes)), int64(0)
	return Job{
		Run: func(ctx context.Context) error {
			for range n {
				if err := write(ctx, data); err != nil {
					return err
				}
				written++
			}
			return nil
		},
		Counts: func(context.Context) (Counts, error) { return Counts{written, written * commitBytes}, nil },
		Close:  done,
	}, nil
}

// weftSteps runs on a thread of its own each time; the threads are deleted in the end.
func weftSteps(ctx context.Context, n int, g *ground) (Job, error) {
	var store *counting
	var cfg graph.Config
	cfg.MaxSteps = n + 1
	if g != nil {
		opened, err := g.open(ctx)
		if err != nil {
			return Job{}, err
		}
		store = &counting{backend: opened}
		cfg.Store = store
	}
	texts := textsOf(n)
	gr, err := stepsGraph(cfg, func(i int) (string, bool) { return texts[i], i+1 < n })
	if err != nil {
		return Job{}, err
	}
	run := func(ctx context.Context, thread string) error {
		res, err := gr.Invoke(ctx, log{}, graph.RunOptions{Thread: thread})
		if err != nil {
			return err
		}
		return hasTexts(&res.State, texts)
	}
	if g == nil {
		return job(func(ctx context.Context) error { return run(ctx, "") })
	}
	used := &threads{}
	return Job{
		Run:    func(ctx context.Context) error { return run(ctx, used.next()) },
		Counts: store.counts,
		Close:  func() { _ = errors.Join(used.deleteFrom(store), store.Close()) },
	}, nil
}

// stepsGraph is a graph of one node, which calls next with the length of the log. The node adds
// text to the log, and runs again while more is true.
func stepsGraph(cfg graph.Config, next func(i int) (text string, more bool)) (*graph.Graph[log], error) {
	b := graph.New[log]("steps")
	b.Node("add", graph.Router(func(_ context.Context, s *log) (graph.Command, error) {
		text, more := next(s.Log.Len())
		s.Log.Append(text)
		if more {
			return graph.Goto("add"), nil
		}
		return graph.Goto(graph.End), nil
	}, "add", graph.End))
	b.Edge(graph.Start, "add")
	return b.Compile(cfg)
}

// hasTexts returns an error unless the log is these texts.
func hasTexts(s *log, want []string) error {
	if s.Log.Len() != len(want) {
		return wrong(s.Log.Len(), len(want))
	}
	for i, got := range s.Log.All() {
		if got != want[i] {
			return wrong(strings.TrimLeft(got, "x"), i)
		}
	}
	return nil
}

// threads are the names that were used.
type threads struct {
	mu    sync.Mutex
	names []string
}

func (t *threads) next() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.names = append(t.names, "bench-"+unique())
	return t.names[len(t.names)-1]
}

// deleteFrom removes all threads, so that a server that is not ours is as it was.
func (t *threads) deleteFrom(store checkpoint.Store) (err error) {
	for _, name := range t.names {
		err = errors.Join(err, store.Delete(context.Background(), name))
	}
	return err
}

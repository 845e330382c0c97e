package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// asking is a conversation of a person and a node that asks.
type asking struct {
	Log     state.List[string] `json:"log"`
	Answers state.Sum[int]     `json:"answers"`
}

// resume resumes a thread of n texts of 1 KiB, which asks again: a load, a step and a question.
func resume(n int, g ground) Workload {
	return Workload{Name: fmt.Sprintf("resume of a thread of %d steps, %s", n, g.name), Unit: "resume", Units: 1, Runners: []Runner{
		{weft, func(ctx context.Context) (Job, error) { return weftResume(ctx, n, g) }},
	}}
}

func weftResume(ctx context.Context, n int, g ground) (Job, error) {
	opened, err := g.open(ctx)
	if err != nil {
		return Job{}, err
	}
	store, thread := &counting{backend: opened}, "bench-"+unique()
	closed := func() error { return errors.Join(store.Delete(context.Background(), thread), store.Close()) }
	gr, err := askingGraph(n, store)
	if err == nil {
		err = makeLong(ctx, n, thread, store)
	}
	if err != nil {
		return Job{}, errors.Join(err, closed())
	}
	run, answered := graph.RunOptions{Thread: thread}, 0
	return Job{
		Run: func(ctx context.Context) error {
			res, err := gr.Resume(ctx, graph.Reply(1), run)
			if err != nil {
				return err
			}
			answered++
			return firstOf(is(res.Status, graph.Interrupted), is(res.State.Log.Len(), n), is(res.State.Answers.Get(), answered))
		},
		Counts: store.counts,
		Close:  func() { _ = closed() },
	}, nil
}

// makeLong runs the thread in memory up to its first question, and copies it.
func makeLong(ctx context.Context, n int, thread string, to checkpoint.Store) error {
	from := new(checkpoint.Memory)
	gr, err := askingGraph(n, from)
	if err != nil {
		return err
	}
	res, err := gr.Invoke(ctx, asking{}, graph.RunOptions{Thread: thread})
	if err != nil {
		return err
	}
	return errors.Join(is(res.Status, graph.Interrupted), checkpoint.Copy(ctx, from, thread, to, thread))
}

func askingGraph(n int, store checkpoint.Store) (*graph.Graph[asking], error) {
	texts := textsOf(n)
	b := graph.New[asking]("asking")
	b.Node("add", graph.Router(func(_ context.Context, s *asking) (graph.Command, error) {
		s.Log.Append(texts[s.Log.Len()])
		if s.Log.Len() < n {
			return graph.Goto("add"), nil
		}
		return graph.Goto("ask"), nil
	}, "add", "ask"))
	b.Node("ask", graph.Router(func(ctx context.Context, s *asking) (graph.Command, error) {
		by, err := graph.Ask[int](ctx, graph.Question{Prompt: "Go on?"})
		if err != nil {
			return graph.Command{}, err
		}
		s.Answers.Add(by)
		if by == 0 {
			return graph.Goto(graph.End), nil
		}
		return graph.Goto("ask"), nil
	}, "ask", graph.End))
	b.Edge(graph.Start, "add")
	return b.Compile(graph.Config{Store: store, MaxSteps: n + 10})
}

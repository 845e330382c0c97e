package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/message"
)

// addMessages adds n messages with ids to a conversation in one node.
func addMessages(n int) Workload {
	return Workload{Name: fmt.Sprintf("%d messages added by id, no store", n), Unit: "message", Units: n, Runners: []Runner{
		{floor, func(context.Context) (Job, error) { return floorMessages(n) }},
		{weft, func(context.Context) (Job, error) { return weftMessages(n) }},
	}}
}

func messagesOf(n int) []message.Message {
	all := make([]message.Message, n)
	for i := range all {
		all[i] = message.User(fmt.Sprint("message ", i))
		all[i].ID = fmt.Sprintf("m%06d", i)
	}
	return all
}

func floorMessages(n int) (Job, error) {
	ms := messagesOf(n)
	return job(func(context.Context) error {
		var all []message.Message
		byID := map[string]int{}
		for _, m := range ms {
			if i, ok := byID[m.ID]; ok {
				all[i] = m
				continue
			}
			byID[m.ID] = len(all)
			all = append(all, m)
		}
		return is(len(all), n)
	})
}

func weftMessages(n int) (Job, error) {
	ms := messagesOf(n)
	g, err := repeat(func(s *conversation) (bool, error) {
		for _, m := range ms {
			if err := s.Messages.Add(m); err != nil {
				return false, err
			}
		}
		return false, nil
	})
	if err != nil {
		return Job{}, err
	}
	return job(func(ctx context.Context) error {
		res, err := g.Invoke(ctx, conversation{}, graph.RunOptions{})
		if err != nil {
			return err
		}
		return is(res.State.Messages.Len(), n)
	})
}

// logSteps is a run on a conversation of length messages, with steps that add one message each. The
// input and its commit are not timed, but their allocations count. Compare the times of two
// lengths.
func logSteps(length int, g ground) Workload {
	return Workload{Name: logStepsName(length, g.name), Unit: "step", Units: addedMessages, Runners: []Runner{
		{weft, func(ctx context.Context) (Job, error) { return weftLogSteps(ctx, length, g) }},
	}}
}

// addedMessages is how many messages a run of logSteps adds.
const addedMessages = 100

func logStepsName(length int, store string) string {
	return fmt.Sprintf("a message added to %d, %s", length, store)
}

func weftLogSteps(ctx context.Context, length int, g ground) (Job, error) {
	opened, err := g.open(ctx)
	if err != nil {
		return Job{}, err
	}
	store := &counting{backend: opened}
	b := graph.New[conversation]("log")
	var began time.Time // when the first node began
	b.Node("step", graph.Router(again(func(s *conversation) (bool, error) {
		n := s.Messages.Len()
		if n == length {
			began = time.Now()
		}
		return n+1 < length+addedMessages, s.Messages.Add(message.Assistant(fmt.Sprint("message ", n)))
	}), "step", graph.End))
	b.Edge(graph.Start, "step")
	gr, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		return Job{}, errors.Join(err, store.Close())
	}
	ms := messagesOf(length)
	return Job{
		Times: func(ctx context.Context, times int) (took time.Duration, err error) {
			for range times {
				thread := "bench-" + unique()
				res, err := gr.Invoke(ctx, conversation{message.LogOf(ms...)}, graph.RunOptions{Thread: thread, MaxSteps: addedMessages})
				took += time.Since(began)
				err = firstOf(err, is(res.State.Messages.Len(), length+addedMessages), store.Delete(ctx, thread))
				if err != nil {
					return 0, err
				}
			}
			return took, nil
		},
		Counts: store.counts,
		Close:  func() { _ = store.Close() },
	}, nil
}

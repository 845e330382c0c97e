package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

// This file and suitewide.go have the workloads of LangGraph's own suite, libs/langgraph/bench in
// its repository.

// keeping is whether and how the workload of a suite is stored.
type keeping struct {
	saver      string // "none" or "memory"
	durability graph.Durability
}

var keepings = []keeping{{"none", graph.Sync}, {"memory", graph.Exit}, {"memory", graph.Sync}}

func (k keeping) String() string {
	if k.saver == "none" {
		return "no store"
	}
	return k.saver + ", " + k.durability.String()
}

// suite returns the works of the suite in all sizes and ways of keeping.
func (p *place) suite() (all []Workload) {
	for _, w := range []struct {
		name  string
		work  string
		sizes []int
		make  func(n int, k keeping) (Job, error)
	}{
		{"sequential of %d", "sequential", []int{10, 1000}, sequential},
		{"fanout_to_subgraph of %d", "fanout_to_subgraph", []int{10, 100}, fanoutToSubgraph},
		{"react_agent of %d tool calls", "react_agent", []int{10, 100}, reactAgent},
		{"wide_state of %d", "wide_state", []int{300, 600, 1200}, wideState},
		{"wide_dict of %d", "wide_dict", []int{300, 600, 1200}, wideDict},
	} {
		for _, n := range w.sizes {
			if p.short && n > 10 {
				n = 7
			}
			for _, k := range keepings {
				all = append(all, p.with(Workload{
					Name: fmt.Sprintf(w.name, n) + ", " + k.String(), Unit: "run", Units: 1,
					Runners: []Runner{{weft, func(context.Context) (Job, error) { return w.make(n, k) }}},
				}, request{Work: w.work, N: n, Saver: k.saver, Durability: k.durability.String()}))
			}
			if p.short && n == 7 {
				break
			}
		}
	}
	return all
}

// stored runs a graph with the storage of k. Each run starts with an empty store, so that earlier
// runs do not affect its time.
func stored[S any](b *graph.Builder[S], k keeping, in func() S, right func(*S) error) (Job, error) {
	cfg := graph.Config{MaxSteps: 1 << 20}
	store := &counting{backend: new(checkpoint.Memory)}
	run := graph.RunOptions{}
	if k.saver != "none" {
		cfg.Store, run = store, graph.RunOptions{Thread: "bench", Durability: k.durability}
	}
	g, err := b.Compile(cfg)
	if err != nil {
		return Job{}, err
	}
	j := Job{Run: func(ctx context.Context) error {
		res, err := g.Invoke(ctx, in(), run)
		if err != nil {
			return err
		}
		return errors.Join(right(&res.State), store.Delete(ctx, "bench"))
	}}
	if k.saver != "none" {
		j.Counts = store.counts
	}
	return j, nil
}

type conversation struct {
	Messages message.Log `json:"messages"`
}

// sequential is n nodes that do nothing with a conversation.
func sequential(n int, k keeping) (Job, error) {
	b := graph.New[conversation]("sequential")
	from := graph.Start
	for i := range n {
		b.Node(nodeName(i), graph.Func(func(context.Context, *conversation) error { return nil }))
		b.Edge(from, nodeName(i))
		from = nodeName(i)
	}
	b.Edge(from, graph.End)
	return stored(b, k, func() conversation { return conversation{} }, func(s *conversation) error { return is(s.Messages.Len(), 0) })
}

type jokes struct {
	Subjects state.Value[[]string] `json:"subjects"`
	Jokes    state.List[string]    `json:"jokes"`
}

type joke struct {
	Subject state.Value[string]   `json:"subject"`
	Jokes   state.Value[[]string] `json:"jokes"`
}

// jokeGraph writes a joke and improves it ten times.
func jokeGraph() (*graph.Graph[joke], error) {
	b := graph.New[joke]("joke")
	b.Node("edit", graph.Func(func(_ context.Context, s *joke) error { s.Subject.Set(s.Subject.Get() + " - hohoho"); return nil }))
	b.Node("generate", graph.Func(func(_ context.Context, s *joke) error {
		s.Jokes.Set([]string{"Joke about " + s.Subject.Get()})
		return nil
	}))
	b.Node("bump", graph.Func(func(_ context.Context, s *joke) error { s.Jokes.Set([]string{s.Jokes.Get()[0] + " a"}); return nil }))
	b.Edge(graph.Start, "edit")
	b.Edge("edit", "generate")
	b.Edge("generate", "bump")
	b.Branch("bump", func(_ context.Context, s *joke) (graph.Command, error) {
		if strings.HasSuffix(s.Jokes.Get()[0], strings.Repeat(" a", 10)) {
			return graph.Goto(graph.End), nil
		}
		return graph.Goto("bump"), nil
	}, "bump", graph.End)
	return b.Compile(graph.Config{})
}

// fanoutToSubgraph sends n subjects to a graph that makes a joke of each.
func fanoutToSubgraph(n int, k keeping) (Job, error) {
	child, err := jokeGraph()
	if err != nil {
		return Job{}, err
	}
	b := graph.New[jokes]("jokes")
	b.Node("split", graph.Router(func(_ context.Context, s *jokes) (c graph.Command, err error) {
		for _, subject := range s.Subjects.Get() {
			c = c.Send("generate_joke", subject)
		}
		return c, nil
	}, "generate_joke"))
	b.Node("generate_joke", graph.Worker(func(ctx context.Context, s *jokes, subject string) error {
		end, err := child.Call(ctx, joke{Subject: state.Of(subject)})
		s.Jokes.Append(end.Jokes.Get()...)
		return err
	}))
	b.Edge(graph.Start, "split")
	b.Edge("generate_joke", graph.End)
	subjects := make([]string, n)
	for i := range subjects {
		subjects[i] = strings.Repeat("s", 996) + fmt.Sprintf("%04d", i)
	}
	return stored(b, k, func() jokes { return jokes{Subjects: state.Of(subjects)} }, func(s *jokes) error {
		for i, got := range s.Jokes.All() {
			if want := "Joke about " + subjects[i] + " - hohoho" + strings.Repeat(" a", 10); got != want {
				return wrong(got, want)
			}
		}
		return is(s.Jokes.Len(), n)
	})
}

// reactAgent runs a model with scripted replies, which calls a tool n times.
func reactAgent(n int, k keeping) (Job, error) {
	replies := make([]message.Message, n+1)
	for i := range n {
		query := strings.Repeat(fmt.Sprintf("%036d", i), 100)
		arguments, err := json.Marshal(map[string]string{"query": query})
		if err != nil {
			return Job{}, err
		}
		replies[i] = message.Assistant("", message.Call{ID: fmt.Sprintf("%036d", i), Name: "ask", Arguments: arguments})
	}
	answer := strings.Repeat("answer", 100)
	replies[n] = message.Assistant(answer)
	b := graph.New[conversation]("agent")
	b.Node("agent", graph.Router(func(_ context.Context, s *conversation) (graph.Command, error) {
		said := 0
		for range s.Messages.FromRole(message.RoleAssistant) {
			said++
		}
		reply := replies[said]
		if len(reply.Calls) == 0 {
			return graph.Goto(graph.End), s.Messages.Add(reply)
		}
		return graph.Goto("tools"), s.Messages.Add(reply)
	}, "tools", graph.End))
	b.Node("tools", graph.Func(func(_ context.Context, s *conversation) error {
		last, _ := s.Messages.Last()
		for _, call := range last.Calls {
			var in struct{ Query string }
			if err := call.Decode(&in); err != nil {
				return err
			}
			result := strings.Repeat("result for query: "+in.Query, 10)
			if err := s.Messages.Add(message.Tool(message.ResultOf(call.ID, result))); err != nil {
				return err
			}
		}
		return nil
	}))
	b.Edge(graph.Start, "agent")
	b.Edge("tools", "agent")
	return stored(b, k, func() conversation { return conversation{message.LogOf(message.User("hi?"))} }, func(s *conversation) error {
		if err := is(s.Messages.Len(), 2*n+2); err != nil {
			return err
		}
		result := s.Messages.At(2).Results[0].Text()
		if want := strings.Repeat("result for query: "+strings.Repeat(fmt.Sprintf("%036d", 0), 100), 10); result != want {
			return wrong(len(result), len(want))
		}
		return is(s.Messages.At(2*n+1).Text(), answer)
	})
}

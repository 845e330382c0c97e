package main

import (
	"context"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

type flow struct {
	Topic state.Value[string] `json:"topic"`
	Count state.Sum[int]      `json:"count"`
	Log   state.List[string]  `json:"log"`
}

type chat struct {
	Messages message.Log `json:"messages"`
}

type review struct {
	Draft    state.Value[string] `json:"draft"`
	Decision state.Value[any]    `json:"decision"`
	Log      state.List[string]  `json:"log"`
}

type fan struct {
	Items   state.Value[[]int] `json:"items"`
	Results state.List[int]    `json:"results"`
}

// hooksSuite has the graphs of the tests of the hooks for React and of the chat page.
func hooksSuite(b *builder) {
	addFlow(b)
	addChat(b)
	addReviews(b)
	addFailing(b)
	addSlow(b)
	addFan(b)
	addNest(b)
	addInbox(b)
}

func addFlow(b *builder) {
	g := graph.New[flow]("flow")
	g.Node("plan", graph.Func(func(ctx context.Context, s *flow) error {
		s.Count.Add(1)
		s.Log.Append("plan")
		return graph.Emit(ctx, object{"progress": 0.5, "note": "planning " + s.Topic.Get()})
	}))
	g.Node("write", graph.Func(func(_ context.Context, s *flow) error {
		s.Count.Add(1)
		s.Log.Append("write")
		return nil
	}))
	g.Node("publish", graph.Func(func(_ context.Context, s *flow) error { s.Log.Append("publish"); return nil }))
	g.Edge(graph.Start, "plan")
	g.Edge("plan", "write")
	g.Branch("write", func(_ context.Context, s *flow) (graph.Command, error) {
		if s.Count.Get() >= 4 {
			return graph.Goto("publish"), nil
		}
		return graph.Goto("plan"), nil
	}, "plan", "publish")
	g.Edge("publish", graph.End)
	add(b, "flow", g, graph.Config{})
}

func addChat(b *builder) {
	g := graph.New[chat]("chat")
	g.Node("model", graph.Func(func(ctx context.Context, s *chat) error {
		m, err := stream(ctx, characters("Hello from Weft."), 5*time.Millisecond)
		if err != nil {
			return err
		}
		return s.Messages.Add(m)
	}))
	chain(g, "model")
	add(b, "chat", g, graph.Config{})
}

func addReviews(b *builder) {
	g := graph.New[review]("hitl")
	g.Node("compose", graph.Func(func(_ context.Context, s *review) error { s.Draft.Set("draft v1"); return nil }))
	g.Node("review", graph.Func(func(ctx context.Context, s *review) error {
		answer, err := graph.Ask[any](ctx, graph.Question{Data: object{"question": "approve?", "draft": s.Draft.Get()}})
		if err != nil {
			return err
		}
		s.Decision.Set(answer)
		return nil
	}))
	g.Node("finish", graph.Func(func(_ context.Context, s *review) error { s.Log.Append("finish"); return nil }))
	chain(g, "compose", "review", "finish")
	add(b, "hitl", g, graph.Config{})

	two := graph.New[review]("hitl2")
	for name, ask := range map[string]string{"r1": "one", "r2": "two"} {
		two.Node(name, graph.Func(func(ctx context.Context, s *review) error {
			answer, err := graph.Ask[any](ctx, graph.Question{Data: object{"ask": ask}})
			if err != nil {
				return err
			}
			text, isText := answer.(string)
			if !isText {
				text = string(encoded(answer))
			}
			s.Log.Append(name + ":" + text)
			return nil
		}))
		two.Edge(graph.Start, name)
	}
	two.Node("end", graph.Func(func(_ context.Context, s *review) error { s.Log.Append("end"); return nil }))
	two.Join("end", "r1", "r2")
	two.Edge("end", graph.End)
	add(b, "hitl2", two, graph.Config{})
}

func addFailing(b *builder) {
	g := graph.New[flow]("boom")
	g.Node("ok", graph.Func(func(_ context.Context, s *flow) error { s.Log.Append("ok"); return nil }))
	g.Node("bad", graph.Func(func(context.Context, *flow) error { return &namedError{"TypeError", "node exploded"} }))
	chain(g, "ok", "bad")
	add(b, "boom", g, graph.Config{})
}

func addSlow(b *builder) {
	g := graph.New[flow]("slow")
	for name, n := range map[string]int{"s1": 3, "s2": 20} {
		g.Node(name, graph.Func(func(ctx context.Context, s *flow) error {
			for i := range n {
				if err := graph.Emit(ctx, object{"tick": i}); err != nil {
					return err
				}
				if err := sleep(ctx, 300*time.Millisecond); err != nil {
					return err
				}
			}
			s.Log.Append(name)
			return nil
		}))
	}
	chain(g, "s1", "s2")
	add(b, "slow", g, graph.Config{})
}

func addFan(b *builder) {
	g := graph.New[fan]("fan")
	g.Node("split", graph.Router(func(_ context.Context, s *fan) (graph.Command, error) {
		var c graph.Command
		for _, item := range s.Items.Get() {
			c = c.Send("work", item)
		}
		return c, nil
	}, "work"))
	g.Node("work", graph.Worker(func(_ context.Context, s *fan, item int) error { s.Results.Append(2 * item); return nil }))
	g.Node("join", graph.Func(func(context.Context, *fan) error { return nil }))
	chain(g, "split")
	g.Edge("work", "join")
	g.Edge("join", graph.End)
	add(b, "fan", g, graph.Config{})
}

func addNest(b *builder) {
	in := graph.New[flow]("inner")
	in.Node("in1", graph.Func(func(ctx context.Context, s *flow) error {
		s.Log.Append("in1")
		return graph.Emit(ctx, object{"inner": true})
	}))
	chain(in, "in1")
	sub := child(b, in, graph.Config{})
	g := graph.New[flow]("nest")
	g.Node("outer", graph.Func(func(_ context.Context, s *flow) error { s.Log.Append("outer"); return nil }))
	g.Node("sub", graph.Subgraph(sub, func(*flow) (flow, error) { return flow{}, nil }, func(s *flow, end *flow) error {
		s.Log.Append(end.Log.Slice()...)
		return nil
	}))
	chain(g, "outer", "sub")
	add(b, "nest", g, graph.Config{})
}

type email struct {
	To string `json:"to"`
}

func addInbox(b *builder) {
	g := graph.New[chat]("inbox")
	g.Node("propose", graph.Func(func(_ context.Context, s *chat) error {
		return s.Messages.Add(said("ai-1", "", message.Call{ID: "c1", Name: "send_email", Arguments: encoded(email{"a@b.c"})}))
	}))
	g.Node("gate", graph.Func(func(ctx context.Context, s *chat) error {
		_, decided, err := graph.Approve(ctx, graph.Approval[email]{Question: graph.Question{Prompt: "Send the email?"}, Action: "send_email", Args: email{"a@b.c"}})
		if err != nil {
			return err
		}
		short := graph.Decision{Type: decided.Type, Args: decided.Args, Message: decided.Message}
		return s.Messages.Add(message.Assistant("decision: " + string(encoded(short))))
	}))
	chain(g, "propose", "gate")
	add(b, "inbox", g, graph.Config{})
}

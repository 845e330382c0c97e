package main

import (
	"context"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server"
	"github.com/weftrun/weft/server/wire"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

type agentState struct {
	Messages message.Log         `json:"messages"`
	Value    state.Value[string] `json:"value"`
	Items    state.List[string]  `json:"items"`
}

type noted struct {
	Messages message.Log         `json:"messages"`
	Note     state.Value[string] `json:"note"`
}

// pySuite has the graphs of the integration tests of the Python SDK.
func pySuite(b *builder) {
	addAgent(b)
	addTools(b)
	addDeep(b)
	addEcho(b)
}

// progress emits where a node is.
func progress(ctx context.Context, node, phase string, answer any) error {
	p := object{"name": "progress", "step": node, "phase": phase}
	if answer != nil {
		p["answer"] = answer
	}
	return graph.Emit(ctx, p)
}

// reporting returns a node that emits its start and its end.
func reporting(name string, do func(ctx context.Context, s *agentState) (answer any, err error)) graph.Node[agentState] {
	return graph.Func(func(ctx context.Context, s *agentState) error {
		if err := progress(ctx, name, "start", nil); err != nil {
			return err
		}
		answer, err := do(ctx, s)
		if err != nil {
			return err
		}
		return progress(ctx, name, "end", answer)
	})
}

var search = message.Call{ID: "tc-1", Name: "search", Arguments: encoded(object{"query": "v3"})}

const found = "result for 'v3'"

// askPause is how long the agent takes before it asks, as one with a model would.
const askPause = 250 * time.Millisecond

func addAgent(b *builder) {
	in := graph.New[noted]("subgraph")
	in.Node("sub", graph.Func(func(_ context.Context, s *noted) error {
		s.Note.Set("ran")
		return s.Messages.Add(said("sub-msg-1", "from subgraph"))
	}))
	chain(in, "sub")
	sub := child(b, in, graph.Config{})

	g := graph.New[agentState]("v3_integration_agent")
	g.Node("stream_message", reporting("stream_message", func(ctx context.Context, s *agentState) (any, error) {
		m, err := stream(ctx, []string{"Hello,", " world!"}, 0)
		if err != nil {
			return nil, err
		}
		s.Value.Set("x")
		s.Items.Append("streamed")
		return nil, s.Messages.Add(m)
	}))
	g.Node("call_tool", reporting("call_tool", func(_ context.Context, s *agentState) (any, error) {
		s.Items.Append("tool")
		return nil, s.Messages.Add(said("ai-msg-2", "", search), message.Tool(message.ResultOf("tc-1", found)))
	}))
	g.Node("ask_human", reporting("ask_human", func(ctx context.Context, s *agentState) (any, error) {
		// The readers of the client end when it sees the question on another connection. A run of
		// no time at all would end before they have read its events.
		if err := sleep(ctx, askPause); err != nil {
			return nil, err
		}
		answer, err := graph.Ask[any](ctx, graph.Question{Data: "Are we good?"})
		if err != nil {
			return nil, err
		}
		text, isText := answer.(string)
		if !isText {
			text = string(encoded(answer))
		}
		s.Items.Append("asked")
		return answer, s.Messages.Add(said("ai-msg-3", "Human said: "+text))
	}))
	g.Node("run_subgraph", graph.Subgraph(sub, func(*agentState) (noted, error) { return noted{}, nil }, func(s *agentState, end *noted) error {
		s.Items.Append("sub")
		return s.Messages.Add(end.Messages.Slice()...)
	}))
	chain(g, "stream_message", "call_tool", "ask_human", "run_subgraph")
	add(b, "agent", g, graph.Config{})
}

// loop makes a graph in which a model calls a tool once: first and last are its messages.
func loop(name string, first, last message.Message, tools graph.Node[agentState]) *graph.Builder[agentState] {
	ran := func(s *agentState) bool {
		for _, m := range s.Messages.Slice() {
			if m.Role == message.RoleTool {
				return true
			}
		}
		return false
	}
	g := graph.New[agentState](name)
	g.Node("model", graph.Func(func(_ context.Context, s *agentState) error {
		if ran(s) {
			return s.Messages.Add(last)
		}
		return s.Messages.Add(first)
	}))
	g.Node("tools", tools)
	g.Edge(graph.Start, "model")
	g.Branch("model", func(_ context.Context, s *agentState) (graph.Command, error) {
		if ran(s) {
			return graph.Goto(graph.End), nil
		}
		return graph.Goto("tools"), nil
	}, "tools", graph.End)
	g.Edge("tools", "model")
	return g
}

func addTools(b *builder) {
	g := loop("tools_agent", said("ai-tools-call", "", search), said("ai-tools-done", "done."),
		graph.Func(func(ctx context.Context, s *agentState) error {
			result := message.Tool(message.ResultOf("tc-1", found))
			result.ID = "tool-search"
			shown, err := wire.Messages([]message.Message{result})
			if err != nil {
				return err
			}
			for _, e := range []wire.ToolEvent{
				{Phase: wire.ToolStarted, CallID: "tc-1", Name: "search", Input: search.Arguments},
				{Phase: wire.ToolFinished, CallID: "tc-1", Name: "search", Output: shown[1 : len(shown)-1]},
			} {
				if err := graph.Emit(ctx, e); err != nil {
					return err
				}
			}
			return s.Messages.Add(result)
		}))
	add(b, "tools_agent", g, graph.Config{})
}

func addDeep(b *builder) {
	in := graph.New[noted]("researcher")
	in.Node("research", graph.Func(func(_ context.Context, s *noted) error {
		return s.Messages.Add(said("res-1", "v3 streaming is event-typed and thread-centric."))
	}))
	chain(in, "research")
	task := message.Call{ID: "tc-task-1", Name: "task", Arguments: encoded(object{"description": "Research v3 streaming", "subagent_type": "researcher"})}
	g := loop("deep_agent", said("sup-1", "", task), said("sup-2", "Research complete."),
		graph.Subgraph(child(b, in, graph.Config{}), func(*agentState) (noted, error) { return noted{}, nil }, func(s *agentState, end *noted) error {
			last, _ := end.Messages.Last()
			return s.Messages.Add(message.Tool(message.ResultOf("tc-task-1", last.Text())))
		}))
	add(b, "deep_agent", g, graph.Config{})
}

type echoed struct {
	Text   state.Value[string] `json:"text"`
	Access state.Value[string] `json:"access_context"`
	Runs   state.Value[bool]   `json:"is_for_execution"`
}

// addEcho adds a graph that returns what it was built for.
func addEcho(b *builder) {
	b.config.Factories["factory_agent"] = func(_ context.Context, u server.Use) (graph.Untyped, error) {
		g := graph.New[echoed]("factory_agent")
		g.Node("echo", graph.Func(func(_ context.Context, s *echoed) error {
			s.Text.Set(s.Text.Get() + " echoed")
			s.Access.Set(u.Access)
			s.Runs.Set(u.Settings.RunID != "")
			return nil
		}))
		chain(g, "echo")
		c, err := g.Compile(graph.Config{Store: b.config.Store})
		if err != nil {
			return nil, err
		}
		return c.Untyped(), nil
	}
}

package turn

import (
	"context"
	"fmt"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/agent"
)

// Node returns a node over a state S that runs do on the agent's state in it.
func Node[S any](at func(*S) *agent.State, do func(context.Context, *agent.State) error) graph.Node[S] {
	return graph.Func(func(ctx context.Context, s *S) error { return do(ctx, at(s)) })
}

// Add adds the nodes of a turn to a graph, from Start to End, and the edges between them. Each
// capability is a node with its own name. The argument at returns the agent's state in an S.
func Add[S any](b *graph.Builder[S], t *Turn, at func(*S) *agent.State) {
	b.Edge(graph.Start, ToRouter)
	b.Node(ToRouter, graph.Router(func(ctx context.Context, s *S) (graph.Command, error) { return t.Router(ctx, at(s)) }, t.targets()...))
	add := func(name string, do func(context.Context, *agent.State) error, then string) {
		b.Node(name, Node(at, do))
		b.Edge(name, then)
	}
	add(agent.ToError, t.Error, graph.End)
	if t.cfg.Work != nil {
		b.Node(ToWork, graph.Router(func(ctx context.Context, s *S) (graph.Command, error) { return t.runWork(ctx, at(s)) }, ToRouter, graph.End))
		return
	}
	add(agent.ToExtraction, t.Extraction, ToRouter)
	add(agent.ToClassifier, t.Classifier, ToRouter)
	add(agent.ToOrchestrator, t.Orchestrator, ToRouter)
	add(agent.ToApproval, t.Approval, ToRouter)
	add(agent.ToRespond, t.Respond, graph.End)
	add(agent.ToClarify, t.Clarify, graph.End)
	for _, name := range t.reg.Names() {
		b.Node(name, graph.Worker(func(ctx context.Context, s *S, i int) error { return t.Step(ctx, at(s), i) }))
		b.Edge(name, ToRouter)
	}
}

// Graph compiles an agent whose state is [agent.State]. Its error joins the mistakes in both
// configurations.
func Graph(name string, c Config, g graph.Config) (*graph.Graph[agent.State], error) {
	t, err := New(c)
	if err != nil {
		return nil, fmt.Errorf("agent %q: %w", name, err)
	}
	b := graph.New[agent.State](name)
	Add(b, t, func(s *agent.State) *agent.State { return s })
	return b.Compile(g)
}

package graph_test

import (
	"context"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

func TestPolicyChild_IsForNodesThatRunAGraph(t *testing.T) {
	b := graph.New[world]("w")
	b.Node("a", graph.Func(func(context.Context, *world) error { return nil }).With(graph.Policy{Child: true}))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	if _, err := b.Compile(graph.Config{}); err == nil || !strings.Contains(err.Error(), "Child is for a node that runs a graph") {
		t.Errorf("got %v, want that Child is refused", err)
	}
}

// A run in one process ignores Child, and one that stops for a driver has it in the plan.
func TestPolicyChild_IsInThePlan(t *testing.T) {
	inner := graph.New[world]("inner")
	inner.Node("b", graph.Func(func(context.Context, *world) error { return nil }))
	inner.Edge(graph.Start, "b")
	inner.Edge("b", graph.End)
	child, err := inner.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	b := graph.New[world]("w")
	b.Node("a", graph.Inline(child).With(graph.Policy{Child: true}))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	typed, err := b.Compile(graph.Config{Store: new(checkpoint.Memory)})
	if err != nil {
		t.Fatal(err)
	}
	g := typed.Untyped()
	if res, err := g.Invoke(t.Context(), []byte(`{}`), graph.RunOptions{Thread: "local"}); err != nil || res.Status != graph.Done {
		t.Errorf("the run in this process ended %q with %v, want done", res.Status, err)
	}
	res, err := g.Invoke(t.Context(), []byte(`{}`), graph.RunOptions{Thread: "t", StopAtTaskQueue: true})
	if err != nil || res.Status != graph.Pending {
		t.Fatalf("the run ended %q with %v, want that it stops before the step", res.Status, err)
	}
	p, err := g.Plan(t.Context(), graph.PlanRequest{Thread: "t", Run: "r"})
	if err != nil || len(p.Tasks) != 1 || !p.Tasks[0].Child {
		t.Errorf("the plan is %+v with %v, want a task that is a child", p.Tasks, err)
	}
}

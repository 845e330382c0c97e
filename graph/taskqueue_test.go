package graph_test

import (
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// queued returns a graph with a step of two tasks between others, one of which has a queue.
func queued(t *testing.T, cfg graph.Config) *graph.Graph[world] {
	b := graph.New[world]("queued")
	for _, name := range []string{"a", "beside", "last"} {
		b.Node(name, logs(name))
	}
	b.Node("gpu", logs("gpu").With(graph.Policy{TaskQueue: "gpus"}))
	for _, e := range [][2]string{{graph.Start, "a"}, {"a", "beside"}, {"a", "gpu"}, {"gpu", "last"}, {"beside", "last"}, {"last", graph.End}} {
		b.Edge(e[0], e[1])
	}
	return build(t, b, cfg)
}

// Requirement: driver: tasks with a queue of their own
func TestStopAtTaskQueue_StopsBeforeTheStep(t *testing.T) {
	g := queued(t, stored())
	o := t1
	o.StopAtTaskQueue = true
	res, err := g.Invoke(ctx, world{}, o)
	res = ended(t, graph.Pending, res, err)
	if logged(t, res, "a"); res.Drained != "" || res.Steps != 1 {
		t.Errorf("Drained = %q after %d steps, want %q after 1", res.Drained, res.Steps, "")
	}
	if res, err = g.Resume(ctx, graph.Answers{}, o); res.Status != graph.Pending || err != nil || res.Steps != 0 {
		t.Errorf("resumed to %q after %d steps, %v; want to be where it was", res.Status, res.Steps, err)
	}

	u := g.Untyped()
	plan, err := u.Plan(ctx, graph.PlanRequest{Thread: "t1", Run: "driven"})
	is(t, err, nil)
	var queues []string
	for _, task := range plan.Due() {
		queues = append(queues, task.Node+":"+task.TaskQueue)
		_, err := u.RunTask(ctx, graph.TaskRequest{Step: plan.ID, Task: task.ID})
		is(t, err, nil)
	}
	if got := strings.Join(queues, " "); got != "beside: gpu:gpus" {
		t.Errorf("the tasks and their queues are %q, want %q", got, "beside: gpu:gpus")
	}
	plan, err = u.Commit(ctx, graph.CommitRequest{Step: plan.ID})
	is(t, err, nil)
	is(t, u.Release(ctx, plan.ID), nil)
	res, err = g.Resume(ctx, graph.Answers{}, o)
	logged(t, ended(t, graph.Done, res, err), "a beside gpu last")
}

func TestTaskQueue_IsIgnoredInOneProcess(t *testing.T) {
	logged(t, invoke(t, queued(t, stored()), "t1", graph.Done), "a beside gpu last")
}

func TestTaskQueue_MustBeOneLine(t *testing.T) {
	for _, name := range []string{"two\nlines", strings.Repeat("x", 201), "\xff"} {
		b := graph.New[world]("bad")
		b.Node("a", logs("a").With(graph.Policy{TaskQueue: name}))
		b.Edge(graph.Start, "a")
		b.Edge("a", graph.End)
		if _, err := b.Compile(graph.Config{}); err == nil || !strings.Contains(err.Error(), "a task queue must be one line") {
			t.Errorf("task queue %.20q: %v, want a mistake", name, err)
		}
	}
}

func TestProgram_IsThatOfTheCommits(t *testing.T) {
	cfg := stored()
	g := queued(t, cfg)
	invoke(t, g, "t1", graph.Done)
	p, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"})
	is(t, err, nil)
	if g.Program() != p.Program || g.Untyped().Program() != p.Program {
		t.Errorf("Program = %q and %q, want %q", g.Program(), g.Untyped().Program(), p.Program)
	}
	if zero := (&graph.Graph[world]{}).Program(); zero != "" {
		t.Errorf("the zero Graph has the program %q, want none", zero)
	}
}

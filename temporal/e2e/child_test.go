package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/temporal"
)

// A child goes on inside its subgraph when the worker that has it is killed, and when all are.
func TestKill_TheChildGoesOn(t *testing.T) {
	f := newField(t, shared.Address, "", temporal.ClientConfig{})
	nest, err := nesting(f.store, f.graph)
	if err != nil {
		t.Fatal(err)
	}
	runs, err := temporal.NewClient(dial(t), nest.Untyped(), temporal.ClientConfig{Store: f.store, Queue: f.queue})
	if err != nil {
		t.Fatal(err)
	}
	f.graph, f.runs = nest, runs
	if err := os.WriteFile(f.file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.startWorker()
	f.startWorker()
	var next []time.Duration
	for round := range rounds() {
		thread := fmt.Sprint("t", round)
		h := f.runs.Start(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: thread})
		go func() { _, _ = h.Wait() }()
		most := round*steps + 1 + rand.N(steps/2)
		f.wait("a step of the child", func() bool { return len(f.lines()) >= most })
		dead := slices.Clone(f.workers)
		if round%2 == 0 { // else both
			all := f.lines()
			dead = slices.DeleteFunc(dead, func(w *exec.Cmd) bool { return fmt.Sprint(w.Process.Pid) != all[len(all)-1].process })
		}
		for _, w := range dead {
			kill(w)
		}
		killed, calls := time.Now(), len(f.lines())
		f.kill(dead...)
		if calls < (round+1)*steps {
			f.wait("the next step", func() bool { return len(f.lines()) > calls })
			next = append(next, time.Since(killed))
		}
		f.ended(thread, h)
	}
	f.calledOnce(rounds(), rounds())
	t.Logf("the next step began after %s", spread(next))
}

// A child ends with its turn, whether that is cancelled or terminated, and the thread can go on.
func TestChild_EndsWithItsTurn(t *testing.T) {
	name := fmt.Sprint("parent", queues.Add(1))
	store, c := new(checkpoint.Memory), dial(t)
	running, free := make(chan struct{}, 1), make(chan struct{})
	inner := graph.New[padded]("inner")
	inner.Node("wait", graph.Func(func(ctx context.Context, s *padded) error {
		running <- struct{}{}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-free:
			s.N.Add(1)
			return nil
		}
	}))
	inner.Edge(graph.Start, "wait")
	inner.Edge("wait", graph.End)
	child, err := inner.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	b := graph.New[padded](name)
	b.Node("child", graph.Inline(child).With(graph.Policy{Child: true}))
	b.Edge(graph.Start, "child")
	b.Edge("child", graph.End)
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	w, err := temporal.NewWorker(c, temporal.WorkerConfig{Graphs: []graph.Untyped{g.Untyped()}, Store: store, Queue: name})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	runs, err := temporal.NewClient(c, g.Untyped(), temporal.ClientConfig{Store: store, Queue: name})
	if err != nil {
		t.Fatal(err)
	}
	turn := name + "/t"
	stops := map[string]func() error{
		"cancel":    func() error { return c.CancelWorkflow(t.Context(), turn, "") },
		"terminate": func() error { return c.TerminateWorkflow(t.Context(), turn, "", "a test") },
	}
	on := graph.RunOptions{Thread: "t", Lease: checkpoint.HoldOptions{Policy: checkpoint.TakeOver}} // a turn that is terminated keeps its lease
	for _, what := range []string{"cancel", "terminate", "cancel"} {
		stop := stops[what]
		var h *graph.Handle[json.RawMessage]
		if at, err := graph.Inspect(t.Context(), store, checkpoint.Key{Thread: "t"}); errors.Is(err, graph.ErrUnknownThread) {
			h = runs.Start(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: "t"})
		} else if err != nil || at.Status == graph.Done {
			t.Fatalf("the thread is %q, %v; want that it can go on", at.Status, err)
		} else {
			h = runs.StartResume(t.Context(), graph.Answers{}, on)
		}
		<-running
		id := ""
		for it := c.GetWorkflowHistory(t.Context(), turn, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
			ev, err := it.Next()
			if err != nil {
				t.Fatal(err)
			}
			if started := ev.GetChildWorkflowExecutionStartedEventAttributes(); started != nil {
				id = started.WorkflowExecution.WorkflowId
			}
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		want := context.Canceled
		if what == "terminate" {
			want = temporal.ErrEnded
		}
		if res, err := h.Wait(); !errors.Is(err, want) {
			t.Errorf("%s: the run ended %q with %v, want %v", what, res.Status, err, want)
		}
		if err := c.GetWorkflow(t.Context(), id, "").Get(t.Context(), nil); err == nil {
			t.Errorf("%s: the child has ended without an error, want that it is cancelled", what)
		}
		d, err := c.DescribeWorkflowExecution(t.Context(), id, "")
		if got := d.GetWorkflowExecutionInfo().GetStatus(); err != nil || got != enums.WORKFLOW_EXECUTION_STATUS_CANCELED {
			t.Errorf("%s: the child %q is %v (%v), want cancelled", what, id, got, err)
		}
	}
	close(free)
	res, err := runs.Resume(t.Context(), graph.Answers{}, on)
	if err != nil || res.Status != graph.Done {
		t.Errorf("the resumed run ended %q with %v, want done", res.Status, err)
	}
}

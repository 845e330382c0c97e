package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/temporal"
)

var record = flag.Bool("record", false, "write the histories of this test into ../testdata, for the test that replays them")

// padded is a state of any size.
type padded struct {
	Pad state.Value[string] `json:"pad"`
	N   state.Sum[int]      `json:"n"`
}

func add(_ context.Context, s *padded) error {
	s.N.Add(1)
	return nil
}

// wide returns a graph of steps with fan tasks each.
func wide(t *testing.T, name string, store checkpoint.Store, steps, fan int) *graph.Graph[padded] {
	t.Helper()
	b := graph.New[padded](name)
	node := func(step, k int) string { return fmt.Sprintf("s%d.%d", step, k) }
	for i := range steps {
		for k := range fan {
			b.Node(node(i, k), graph.Func(add))
			switch {
			case i == 0:
				b.Edge(graph.Start, node(i, k))
			default:
				b.Edge(node(i-1, k), node(i, k))
			}
			if i == steps-1 {
				b.Edge(node(i, k), graph.End)
			}
		}
	}
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A superstep that is driven adds at most 2 KiB to the history, whatever the state. How many tasks
// of the workflow three results cause depends on when they come: these events, of about 300 bytes
// each, are counted only where one result comes at a time.
func TestNodes_HistoryOfAStepIsSmall(t *testing.T) {
	const steps = 20
	for _, tt := range []struct{ fan, pad, most int }{{1, 10, 2048}, {1, 3 << 20, 2048}, {3, 3 << 20, 2048}} {
		t.Run(fmt.Sprintf("fan %d, state %d", tt.fan, tt.pad), func(t *testing.T) {
			name := fmt.Sprintf("wide-%d-%d", tt.fan, tt.pad)
			store, c := new(checkpoint.Memory), dial(t)
			g := wide(t, name, store, steps, tt.fan).Untyped()
			w, err := temporal.NewWorker(c, temporal.WorkerConfig{Graphs: []graph.Untyped{g}, Store: store, Queue: name})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Start(); err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			runs, err := temporal.NewClient(c, g, temporal.ClientConfig{Store: store, Queue: name, Mode: temporal.Nodes, Heartbeat: 10 * time.Second, TaskTimeout: 10 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			input := fmt.Sprintf(`{"pad":%q}`, strings.Repeat("x", tt.pad))
			if res, err := runs.Invoke(t.Context(), json.RawMessage(input), graph.RunOptions{Thread: "t"}); err != nil || res.Steps != steps {
				t.Fatalf("the run ended after %d steps with %v, want %d", res.Steps, err, steps)
			}
			h := history(t, c, name+"/t")
			size := 0
			for _, ev := range h.Events {
				if tt.fan == 1 || !ofWorkflowTask(ev) {
					size += proto.Size(ev)
				}
			}
			t.Logf("%d events, %d bytes, %d a superstep", len(h.Events), size, size/steps)
			if size/steps > tt.most {
				t.Errorf("a superstep adds %d bytes to the history, want at most %d", size/steps, tt.most)
			}
			if *record {
				write(t, name, h)
			}
		})
	}
}

// A run in segments adds as much to the history with a thousand steps as with one.
func TestSegments_HistoryOfARunIsSmall(t *testing.T) {
	const name, steps, most = "segments-ask", 1000, 12 << 10
	store, c := new(checkpoint.Memory), dial(t)
	b := graph.New[padded](name)
	b.Node("add", graph.Router(func(ctx context.Context, s *padded) (graph.Command, error) {
		if s.N.Get() == steps/2 {
			if _, err := graph.Ask[bool](ctx, graph.Question{Prompt: "On?"}); err != nil {
				return graph.Command{}, err
			}
		}
		if s.N.Add(1); s.N.Get() == steps {
			return graph.Goto(graph.End), nil
		}
		return graph.Goto("add"), nil
	}, "add", graph.End))
	b.Edge(graph.Start, "add")
	typed, err := b.Compile(graph.Config{Store: store, MaxSteps: steps + 1})
	if err != nil {
		t.Fatal(err)
	}
	g := typed.Untyped()
	w, err := temporal.NewWorker(c, temporal.WorkerConfig{Graphs: []graph.Untyped{g}, Store: store, Queue: name})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	runs, err := temporal.NewClient(c, g, temporal.ClientConfig{Store: store, Queue: name, Heartbeat: 10 * time.Second, TaskTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	res, err := runs.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: "t"})
	if err != nil || res.Status != graph.Interrupted {
		t.Fatalf("the run ended %q with %v, want interrupted", res.Status, err)
	}
	if res, err = runs.Resume(t.Context(), graph.Answer(res.Interrupts[0].ID, true), graph.RunOptions{Thread: "t"}); err != nil || res.Status != graph.Done {
		t.Fatalf("the run ended %q with %v, want done", res.Status, err)
	}
	h := history(t, c, name+"/t")
	if size := proto.Size(h); size > most {
		t.Errorf("%d steps and an answer have a history of %d bytes, want at most %d", steps, size, most)
	} else {
		t.Logf("%d events, %d bytes for %d steps and an answer", len(h.Events), size, steps)
	}
	if *record {
		write(t, name, h)
	}
}

// ofWorkflowTask reports whether ev records that the server woke the workflow, or its answer.
func ofWorkflowTask(ev *historypb.HistoryEvent) bool {
	switch ev.EventType {
	case enums.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, enums.EVENT_TYPE_WORKFLOW_TASK_STARTED, enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
		return true
	}
	return false
}

func history(t *testing.T, c client.Client, id string) *historypb.History {
	t.Helper()
	var h historypb.History
	for it := c.GetWorkflowHistory(t.Context(), id, "", true, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		ev, err := it.Next()
		if err != nil {
			t.Fatal(err)
		}
		h.Events = append(h.Events, ev)
	}
	return &h
}

// write writes a history as the SDK's replayer reads it.
func write(t *testing.T, name string, h *historypb.History) {
	t.Helper()
	data, err := protojson.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("..", "testdata", name+".json"), append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A child has a history of its own, and its parent's has no more of it than of an activity.
func TestChild_HasAHistoryOfItsOwn(t *testing.T) {
	const name = "child"
	store, c := new(checkpoint.Memory), dial(t)
	inner := graph.New[padded]("inner")
	inner.Node("add", graph.Func(func(_ context.Context, s *padded) error { s.N.Add(1); return nil }))
	inner.Edge(graph.Start, "add")
	inner.Edge("add", graph.End)
	child, err := inner.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	b := graph.New[padded](name)
	b.Node("inner", graph.Inline(child).With(graph.Policy{Child: true}))
	b.Edge(graph.Start, "inner")
	b.Edge("inner", graph.End)
	typed, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	g := typed.Untyped()
	w, err := temporal.NewWorker(c, temporal.WorkerConfig{Graphs: []graph.Untyped{g}, Store: store, Queue: name})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	runs, err := temporal.NewClient(c, g, temporal.ClientConfig{Store: store, Queue: name, Heartbeat: 10 * time.Second, TaskTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := runs.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: "t"}); err != nil || res.Status != graph.Done {
		t.Fatalf("the run ended %q with %v, want done", res.Status, err)
	}
	h, id := history(t, c, name+"/t"), ""
	for _, ev := range h.Events {
		if started := ev.GetChildWorkflowExecutionStartedEventAttributes(); started != nil {
			id = started.WorkflowExecution.WorkflowId
		}
	}
	if id == "" {
		t.Fatal("the turn has started no child")
	}
	own := history(t, c, id)
	if kind := own.Events[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName(); kind != temporal.ChildWorkflow {
		t.Errorf("the child is of type %q, want %q", kind, temporal.ChildWorkflow)
	}
	if *record {
		write(t, "child-turn", h)
		write(t, "child", own)
	}
}

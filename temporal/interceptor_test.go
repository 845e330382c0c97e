package temporal

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// spans is an interceptor that begins a span for each activity, as one of OpenTelemetry does.
type spans struct {
	interceptor.WorkerInterceptorBase
	mu    sync.Mutex
	begun []string
}

// spanKey is the key of the span in a context.
type spanKey struct{}

func (s *spans) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	in := &spanning{spans: s}
	in.Next = next
	return in
}

type spanning struct {
	interceptor.ActivityInboundInterceptorBase
	spans *spans
}

func (i *spanning) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	name := activity.GetInfo(ctx).ActivityType.Name
	i.spans.mu.Lock()
	i.spans.begun = append(i.spans.begun, name)
	i.spans.mu.Unlock()
	return i.Next.ExecuteActivity(context.WithValue(ctx, spanKey{}, name), in)
}

// A node has the span of its activity in its context, so its own spans are below that.
func TestInterceptor_ReachesTheNodes(t *testing.T) {
	for mode, want := range map[Mode]string{Segments: segmentActivity, Nodes: taskActivity} {
		type world struct {
			Within state.Value[string] `json:"within"`
		}
		store := new(checkpoint.Memory)
		b := graph.New[world]("traced")
		b.Node("a", graph.Func(func(ctx context.Context, w *world) error {
			within, _ := ctx.Value(spanKey{}).(string)
			w.Within.Set(within)
			return nil
		}))
		b.Edge(graph.Start, "a")
		b.Edge("a", graph.End)
		g, err := b.Compile(graph.Config{Store: store})
		if err != nil {
			t.Fatal(err)
		}
		e, err := newEnvironment(WorkerConfig{Graphs: []graph.Untyped{g.Untyped()}, Store: store})
		if err != nil {
			t.Fatal(err)
		}
		s := &spans{}
		e.prepare = func(env *testsuite.TestWorkflowEnvironment) {
			env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{s}})
		}
		runs, err := newClient(g.Untyped(), ClientConfig{Store: store, Mode: mode}, e)
		if err != nil {
			t.Fatal(err)
		}
		res, err := runs.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: "t"})
		if err != nil || string(res.State) != `{"within":"`+want+`"}` || !slices.Contains(s.begun, want) {
			t.Errorf("%s: the state is %s with %v and the spans %v, want that the node ran in %s", mode, res.State, err, s.begun, want)
		}
	}
}

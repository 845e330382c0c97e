package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
	"github.com/weftrun/weft/state"
)

// tally is the state of the graphs of these tests.
type tally struct {
	N   state.Sum[int]      `json:"n"`
	Log state.List[string]  `json:"log"`
	Pad state.Value[string] `json:"pad"`
}

// counting returns a graph that counts to the number in most, and asks at ask; 0 is never.
func counting(t *testing.T, store checkpoint.Store, most, ask int) *graph.Graph[tally] {
	t.Helper()
	b := graph.New[tally]("count")
	b.Node("add", graph.Router(func(ctx context.Context, s *tally) (graph.Command, error) {
		if s.N.Get()+1 == ask {
			if _, err := graph.Ask[bool](ctx, graph.Question{Prompt: "on?"}); err != nil {
				return graph.Command{}, err
			}
		}
		s.N.Add(1)
		if s.N.Get() >= most {
			return graph.Goto(graph.End), nil
		}
		return graph.Goto("add"), nil
	}, "add", graph.End))
	b.Edge(graph.Start, "add")
	g, err := b.Compile(graph.Config{Store: store, MaxSteps: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// onEnvironment returns a client and its environment.
func onEnvironment(t *testing.T, g graph.Untyped, w WorkerConfig, c ClientConfig) (*Client, *environment) {
	t.Helper()
	w.Graphs, c.Store = append(w.Graphs, g), w.Store
	e, err := newEnvironment(w)
	if err != nil {
		t.Fatal(err)
	}
	runs, err := newClient(g, c, e)
	if err != nil {
		t.Fatal(err)
	}
	return runs, e
}

func TestNodes_LongRunsGoOnAsNewWorkflows(t *testing.T) {
	steps := 10_000
	if testing.Short() {
		steps = 600
	}
	store := new(checkpoint.Memory)
	runs, e := onEnvironment(t, counting(t, store, steps, 0).Untyped(), WorkerConfig{Store: store}, ClientConfig{Mode: Nodes})
	res, err := runs.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: "t1"})
	if err != nil || res.Status != graph.Done || res.Steps != steps {
		t.Fatalf("the run ended %q after %d steps with %v, want done after %d", res.Status, res.Steps, err, steps)
	}
	if want := steps / mostSteps; e.moves != want {
		t.Errorf("the workflow went on as a new one %d times, want %d", e.moves, want)
	}
}

// A turn whose steps are children goes on as a new workflow between two of them.
func TestChild_LongRunsGoOnAsNewWorkflows(t *testing.T) {
	const steps = mostSteps + 20
	store := new(checkpoint.Memory)
	inner := graph.New[tally]("inner")
	inner.Node("add", graph.Func(func(_ context.Context, s *tally) error { s.N.Add(1); return nil }))
	inner.Edge(graph.Start, "add")
	inner.Edge("add", graph.End)
	child, err := inner.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	b := graph.New[tally]("parent")
	b.Node("child", graph.Inline(child).With(graph.Policy{Child: true}))
	b.Edge(graph.Start, "child")
	b.Branch("child", func(_ context.Context, s *tally) (graph.Command, error) {
		if s.N.Get() == steps {
			return graph.Goto(graph.End), nil
		}
		return graph.Goto("child"), nil
	}, "child", graph.End)
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []Mode{Segments, Nodes} {
		t.Run(string(mode), func(t *testing.T) {
			runs, e := onEnvironment(t, g.Untyped(), WorkerConfig{Store: store}, ClientConfig{Mode: mode})
			res, err := runs.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: string(mode)})
			if err != nil || res.Status != graph.Done || res.Steps != steps || e.moves != 1 {
				t.Errorf("the run ended %q after %d steps and %d moves with %v, want done after %d and 1", res.Status, res.Steps, e.moves, err, steps)
			}
		})
	}
}

// What travels has the same size whatever the state.
func TestNodes_HistoryHasNoState(t *testing.T) {
	sizes := map[int]int{}
	for _, pad := range []int{10, 300_000} {
		store := new(checkpoint.Memory)
		w := WorkerConfig{Store: store}
		bytes := 0
		runs, e := onEnvironment(t, counting(t, store, 20, 0).Untyped(), w, ClientConfig{Mode: Nodes})
		e.prepare = func(env *testsuite.TestWorkflowEnvironment) {
			env.SetOnActivityCompletedListener(func(_ *activityInfo, result encoded, _ error) { bytes += sizeOf(result) })
			env.SetOnLocalActivityCompletedListener(func(_ *activityInfo, result encoded, _ error) { bytes += sizeOf(result) })
		}
		input := fmt.Sprintf(`{"pad":%q}`, strings.Repeat("x", pad))
		if _, err := runs.Invoke(t.Context(), json.RawMessage(input), graph.RunOptions{Thread: "t1"}); err != nil {
			t.Fatal(err)
		}
		sizes[pad] = bytes
	}
	if small, large := sizes[10], sizes[300_000]; large > small+100 || large/20 > 600 {
		t.Errorf("results of 20 steps have %d bytes with a small state and %d with a large one; want the same, under 600 a step", small, large)
	}
}

// update sends an update when the turn waits, and returns what became of it.
func update(env *testsuite.TestWorkflowEnvironment, after time.Duration, name string, q any) (rejected func() error, completed func() error) {
	var no, err error
	done := false
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(name, name+fmt.Sprint(after, q), &testsuite.TestUpdateCallback{
			OnReject:   func(e error) { no = e },
			OnAccept:   func() {},
			OnComplete: func(_ any, e error) { done, err = true, e },
		}, q)
	}, after)
	return func() error { return no }, func() error {
		if !done {
			return errors.New("it has not completed")
		}
		return err
	}
}

func TestUpdates_AnswerAndEdit(t *testing.T) {
	store := new(checkpoint.Memory)
	g := counting(t, store, 4, 3)
	runs, e := onEnvironment(t, g.Untyped(), WorkerConfig{Store: store}, ClientConfig{})
	ids := func() []question {
		value, err := e.current().QueryWorkflow(StatusQuery)
		var s TurnStatus
		if err == nil {
			err = value.Get(&s)
		}
		if err != nil {
			t.Error(err)
		}
		return s.Questions
	}
	var refused []func() error
	var taken []func() error
	e.prepare = func(env *testsuite.TestWorkflowEnvironment) {
		for i, q := range []any{AnswerRequest{ID: "unknown", Value: json.RawMessage("true")}, EditRequest{Fields: json.RawMessage(`[]`)}} {
			name := []string{AnswerUpdate, EditUpdate}[i]
			no, _ := update(env, time.Duration(i+1)*time.Minute, name, q)
			refused = append(refused, no)
		}
		_, ok := update(env, 3*time.Minute, EditUpdate, EditRequest{Fields: json.RawMessage(`{"log":["by hand"]}`)})
		taken = append(taken, ok)
		env.RegisterDelayedCallback(func() {
			open := ids()
			if len(open) != 1 || open[0].Type != "boolean" {
				t.Errorf("the open questions are %+v, want one for a boolean", open)
				return
			}
			no, _ := update(env, time.Minute, AnswerUpdate, AnswerRequest{ID: open[0].ID, Value: json.RawMessage(`"yes"`)})
			refused = append(refused, no)
			_, ok := update(env, 2*time.Minute, AnswerUpdate, AnswerRequest{ID: open[0].ID, Value: json.RawMessage(`true`), By: "anna"})
			taken = append(taken, ok)
		}, 4*time.Minute)
	}
	if _, err := runs.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: "t1"}); err != nil {
		t.Fatal(err)
	}
	for i, no := range refused {
		if no() == nil {
			t.Errorf("update %d was accepted, want it refused", i)
		}
	}
	for i, ok := range taken {
		if err := ok(); err != nil {
			t.Errorf("update %d: %v, want it done", i, err)
		}
	}
	s, at, err := g.Thread("t1").State(t.Context(), 0)
	if err != nil || at.Status != graph.Done || s.N.Get() != 4 || s.Log.Len() != 1 {
		t.Errorf("the thread is %q with %d and the log %v, %v; want done with 4 and one edit", at.Status, s.N.Get(), s.Log.Slice(), err)
	}
}

func TestEvents_ReachReadersInOrder(t *testing.T) {
	for _, mode := range []Mode{Segments, Nodes} {
		t.Run(string(mode), func(t *testing.T) {
			store, bus := new(checkpoint.Memory), new(topic.Local)
			runs, _ := onEnvironment(t, counting(t, store, 3, 0).Untyped(), WorkerConfig{Store: store, Bus: bus}, ClientConfig{Mode: mode, Bus: bus})
			h := runs.Start(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: "t1", Hold: true})
			var got []string
			for ev, err := range h.Join(graph.Reader{Modes: graph.Updates | graph.Values}) {
				if err != nil {
					t.Fatal(err)
				}
				data, _ := ev.State.(json.RawMessage)
				got = append(got, fmt.Sprint(ev.Mode, " ", ev.Step, " ", string(ev.Writes), string(data)))
			}
			state := func(n int) string { return fmt.Sprintf(`{"n":%d,"log":[]}`, n) }
			want := []string{"values 0 " + state(0)}
			for n := 1; n <= 3; n++ {
				want = append(want, fmt.Sprintf(`updates %d {"n":1}`, n), fmt.Sprintf("values %d %s", n, state(n)))
			}
			want = append(want, "ended 0 "+state(3))
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("the events are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			seen := 0
			last, err := eventlog.Log{Bus: bus}.Last(t.Context(), "t1")
			if err != nil {
				t.Fatal(err)
			}
			for b, err := range (eventlog.Log{Bus: bus}).Follow(t.Context(), "t1", 0) { // another reader, later
				if err != nil {
					t.Fatal(err)
				}
				if b.Run != h.ID() {
					t.Errorf("batch %d is of run %q, want %q", b.Position, b.Run, h.ID())
				}
				if seen += len(b.Events); b.Position == last {
					break
				}
			}
			if seen == 0 {
				t.Error("a reader that came later has seen nothing")
			}
		})
	}
}

func TestProgram_OfAnotherDeploymentWaits(t *testing.T) {
	store := new(checkpoint.Memory)
	g := counting(t, store, 2, 0).Untyped()
	other := graph.New[tally]("other")
	other.Node("a", graph.Func(func(context.Context, *tally) error { return nil }))
	other.Edge(graph.Start, "a")
	other.Edge("a", graph.End)
	o, err := other.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	a, err := newActivities(WorkerConfig{Graphs: []graph.Untyped{o.Untyped()}, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(a.segment)
	_, err = env.ExecuteActivity(a.segment, segmentRequest{Graph: g.Name(), Job: job{Step: stepRef{Program: g.Program()}}})
	if err == nil || !strings.Contains(err.Error(), ErrNotDeployed.Error()) {
		t.Errorf("the error is %v, want %q", err, ErrNotDeployed)
	}
}

func TestConfig_IsChecked(t *testing.T) {
	if _, err := NewWorker(nil, WorkerConfig{}); !errors.Is(err, ErrConfig) {
		t.Errorf("a worker without graphs: %v, want ErrConfig", err)
	}
	var c client.Client
	if _, err := NewClient(c, nil, ClientConfig{Mode: "both", Wait: -1}); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "Mode must be") {
		t.Errorf("a client with a bad mode: %v, want ErrConfig", err)
	}
}

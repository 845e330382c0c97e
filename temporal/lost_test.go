package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// replace registers an activity in place of another.
func replace(env *testsuite.TestWorkflowEnvironment, name string, do any) {
	env.RegisterActivityWithOptions(do, activity.RegisterOptions{Name: name, DisableAlreadyRegisteredCheck: true})
}

// before calls do before each call of the activity of a task or a commit, and fails the call with
// its error.
func (e *environment) before(name string, do func(context.Context) error) {
	e.prepare = func(env *testsuite.TestWorkflowEnvironment) {
		switch name {
		case taskActivity:
			replace(env, name, func(ctx context.Context, q taskRequest) (*taskResult, error) {
				if err := do(ctx); err != nil {
					return nil, err
				}
				return e.activities.task(ctx, q)
			})
		case commitActivity:
			replace(env, name, func(ctx context.Context, q commitRequest) (*plan, error) {
				if err := do(ctx); err != nil {
					return nil, err
				}
				return e.activities.commit(ctx, q)
			})
		}
	}
}

// losing returns an activity whose first replies are lost: its worker dies when it has done its
// work.
func losing[Q, R any](replies int32, do func(context.Context, Q) (R, error)) func(context.Context, Q) (R, error) {
	var n atomic.Int32
	return func(ctx context.Context, q Q) (R, error) {
		res, err := do(ctx, q)
		if n.Add(1) <= replies {
			var none R
			return none, errors.New("the reply was lost")
		}
		return res, err
	}
}

// An edit that an attempt before has made is not made again.
func TestEdit_IsMadeOnceThoughRepliesAreLost(t *testing.T) {
	store := new(checkpoint.Memory)
	g := counting(t, store, 4, 3)
	runs, e := onEnvironment(t, g.Untyped(), WorkerConfig{Store: store}, ClientConfig{})
	var taken []func() error
	e.prepare = func(env *testsuite.TestWorkflowEnvironment) {
		replace(env, editActivity, losing(3, e.activities.edit))
		for i, text := range []string{"first", "second"} { // each is an edit of its own
			_, ok := update(env, time.Duration(i+1)*time.Hour, EditUpdate, EditRequest{Fields: json.RawMessage(`{"log":["` + text + `"]}`)})
			taken = append(taken, ok)
		}
	}
	if _, err := runs.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: "t1"}); err != nil {
		t.Fatal(err)
	}
	for _, ok := range taken {
		if err := ok(); err != nil {
			t.Error(err)
		}
	}
	s, _, err := g.Thread("t1").State(t.Context(), 0)
	if err != nil || s.Log.Len() != 2 {
		t.Errorf("the log is %q (%v), want each edit once", s.Log.Slice(), err)
	}
}

// queued returns a graph of three nodes, of which the second has a task queue of its own.
func queued(t *testing.T, store checkpoint.Store) *graph.Graph[wrote] {
	t.Helper()
	b := graph.New[wrote]("queued")
	from := graph.Start
	for _, name := range []string{"a", "b", "c"} {
		n := graph.Func(func(_ context.Context, s *wrote) error { s.Log.Append(name); return nil })
		if name == "b" {
			n = n.With(graph.Policy{TaskQueue: DefaultQueue})
		}
		b.Node(name, n)
		b.Edge(from, name)
		from = name
	}
	b.Edge(from, graph.End)
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// wantDone checks that a run of queued has run each node once.
func wantDone(t *testing.T, g *graph.Graph[wrote], res graph.Result[json.RawMessage], err error) {
	t.Helper()
	if err != nil || res.Status != graph.Done || res.Steps != 3 {
		t.Fatalf("the run ended %q after %d steps with %v, want done after 3", res.Status, res.Steps, err)
	}
	if s, _, err := g.Thread("t1").State(t.Context(), 0); err != nil || s.Log.Len() != 3 {
		t.Errorf("the log is %q (%v), want that of three nodes", s.Log.Slice(), err)
	}
}

// A segment that stops before a task queue has the lease of what follows. The next attempt takes it
// over, and the run goes on.
func TestStretch_GoesOnThoughItsPlanIsLost(t *testing.T) {
	store := new(checkpoint.Memory)
	g := queued(t, store)
	runs, e := onEnvironment(t, g.Untyped(), WorkerConfig{Store: store}, ClientConfig{})
	e.prepare = func(env *testsuite.TestWorkflowEnvironment) {
		replace(env, segmentActivity, losing(2, e.activities.segment))
	}
	res, err := runs.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: "t1"})
	wantDone(t, g, res, err)
}

// A lease may run out while a task waits for a worker. If another process has the thread meanwhile,
// as the waker for a reminder, the run goes on after it.
func TestStretch_GoesOnWithoutItsLease(t *testing.T) {
	for _, mode := range []Mode{Segments, Nodes} {
		for _, name := range []string{taskActivity, commitActivity} {
			t.Run(string(mode)+" "+name, func(t *testing.T) {
				store := new(checkpoint.Memory)
				g := queued(t, store)
				runs, e := onEnvironment(t, g.Untyped(), WorkerConfig{Store: store}, ClientConfig{Mode: mode})
				var calls atomic.Int32
				other := func(ctx context.Context) error {
					if calls.Add(1) > 1 {
						return nil
					}
					held, err := checkpoint.Hold(ctx, store, "t1", checkpoint.HoldOptions{Policy: checkpoint.TakeOver})
					if err != nil {
						return err
					}
					return held.Release(ctx)
				}
				e.before(name, other)
				res, err := runs.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: "t1"})
				wantDone(t, g, res, err)
			})
		}
	}
}

// A run goes on with a step whose task of a queue has ended, and another has not.
func TestStretch_GoesOnWithAnUnfinishedStep(t *testing.T) {
	store := new(checkpoint.Memory)
	ended := make(chan struct{})
	var calls atomic.Int32
	b := graph.New[wrote]("g")
	b.Node("here", graph.Func(func(_ context.Context, s *wrote) error {
		<-ended
		if calls.Add(1) == 1 {
			return errors.New("bad")
		}
		s.Log.Append("here")
		return nil
	}))
	b.Node("there", graph.Func(func(_ context.Context, s *wrote) error { s.Log.Append("there"); return nil }).With(graph.Policy{TaskQueue: DefaultQueue}))
	for _, name := range []string{"here", "there"} {
		b.Edge(graph.Start, name)
		b.Edge(name, graph.End)
	}
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	runs, e := onEnvironment(t, g.Untyped(), WorkerConfig{Store: store}, ClientConfig{})
	var once sync.Once
	e.prepare = func(env *testsuite.TestWorkflowEnvironment) {
		env.SetOnActivityCompletedListener(func(info *activityInfo, _ encoded, _ error) {
			if info.ActivityType.Name == taskActivity {
				once.Do(func() { close(ended) }) // the first is that of there
			}
		})
	}
	if _, err := runs.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: "t1"}); err == nil {
		t.Fatal("the run has not failed")
	}
	e.prepare = func(env *testsuite.TestWorkflowEnvironment) {
		var segments atomic.Int32
		replace(env, segmentActivity, func(ctx context.Context, q segmentRequest) (*segmentResult, error) {
			if segments.Add(1) > 10 {
				return nil, sdk.NewNonRetryableApplicationError("the run does not go on", "endless", nil)
			}
			return e.activities.segment(ctx, q)
		})
	}
	res, err := runs.Resume(t.Context(), graph.Answers{}, graph.RunOptions{Thread: "t1"})
	s, _, stateErr := g.Thread("t1").State(t.Context(), 0)
	if err != nil || res.Status != graph.Done || stateErr != nil || s.Log.Len() != 2 {
		t.Errorf("the run ended %q with %v, and the log is %q (%v); want done with both nodes", res.Status, err, s.Log.Slice(), stateErr)
	}
}

// An attempt before, which was slow, may take the thread over for a moment.
func TestSegment_GoesOnWithoutItsLease(t *testing.T) {
	store := new(checkpoint.Memory)
	calls := 0
	b := graph.New[wrote]("g")
	b.Node("a", graph.Func(func(ctx context.Context, s *wrote) error {
		s.Log.Append("a")
		if calls++; calls > 1 {
			return nil
		}
		held, err := checkpoint.Hold(ctx, store, "t1", checkpoint.HoldOptions{Policy: checkpoint.TakeOver})
		if err != nil {
			return err
		}
		return held.Release(ctx)
	}))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	runs, _ := onEnvironment(t, g.Untyped(), WorkerConfig{Store: store}, ClientConfig{})
	res, err := runs.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: "t1"})
	if err != nil || res.Status != graph.Done || calls != 2 {
		t.Errorf("the run ended %q with %v after %d calls of its node, want done after 2", res.Status, err, calls)
	}
}

// An activity that was cancelled is not tried again: its worker may die, or the store be away. The
// run does what the activity was cancelled for.
func TestSegment_ThatFailsWhileItIsStopped(t *testing.T) {
	for name, c := range map[string]struct {
		stop  stopKind
		err   error
		fails bool
	}{
		"an edit": {stop: stopEdit, err: errors.New("the store is away")}, "a drain": {stop: stopDrain, err: errors.New("the store is away")},
		"nothing":  {err: errors.New("the store is away"), fails: true},
		"for good": {stop: stopEdit, err: sdk.NewNonRetryableApplicationError("no options", typeOptions, nil), fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			var suite testsuite.WorkflowTestSuite
			env := patient(&suite)
			runs := func(ctx workflow.Context) error {
				on := &turn{now: &job{Step: stepRef{Run: "r"}}, stop: stopReply{Kind: c.stop}, in: turnInput{Longest: time.Minute, Heartbeat: time.Minute}}
				_, err := on.segment(ctx)
				return err
			}
			env.RegisterWorkflow(runs)
			replace(env, segmentActivity, func(context.Context, segmentRequest) (*segmentResult, error) { return nil, c.err })
			env.ExecuteWorkflow(runs)
			if err := env.GetWorkflowError(); (err != nil) != c.fails {
				t.Errorf("the segment ended with %v; does it fail the run: want %v", err, c.fails)
			}
		})
	}
}

// Steps that an attempt has done whose reply was lost are steps of the run.
func TestSegment_CountsStepsOfLostReplies(t *testing.T) {
	for name, most := range map[string]int{"with a limit": 3, "without one": 0} {
		t.Run(name, func(t *testing.T) {
			store := new(checkpoint.Memory)
			g := counting(t, store, 5, 0)
			runs, e := onEnvironment(t, g.Untyped(), WorkerConfig{Store: store}, ClientConfig{})
			e.prepare = func(env *testsuite.TestWorkflowEnvironment) {
				replace(env, segmentActivity, losing(2, e.activities.segment))
			}
			res, err := runs.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: "t1", MaxSteps: most})
			want := max(most, 5*(1-min(most, 1)))
			s, _, stateErr := g.Thread("t1").State(t.Context(), 0)
			if res.Steps != want || errors.Is(err, graph.ErrSteps) != (most > 0) || stateErr != nil || s.N.Get() != want {
				t.Errorf("the run ended %q after %d steps with %v, and has counted to %d (%v); want %d", res.Status, res.Steps, err, s.N.Get(), stateErr, want)
			}
		})
	}
}

// A run that is drained task by task reports the steps that it has done.
func TestDrain_ReportsDrivenSteps(t *testing.T) {
	store := new(checkpoint.Memory)
	var e *environment
	b := graph.New[tally]("g")
	b.Node("add", graph.Router(func(_ context.Context, s *tally) (graph.Command, error) {
		if s.N.Add(1); s.N.Get() == 3 {
			e.current().SignalWorkflow(DrainSignal, StopRequest{Reason: "enough"})
		}
		return graph.Goto("add"), nil
	}, "add", graph.End))
	b.Edge(graph.Start, "add")
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	runs, on := onEnvironment(t, g.Untyped(), WorkerConfig{Store: store}, ClientConfig{Mode: Nodes})
	e = on
	res, err := runs.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: "t1"})
	s, _, stateErr := g.Thread("t1").State(t.Context(), 0)
	if err != nil || res.Drained != "enough" || stateErr != nil || res.Steps != s.N.Get() || res.Steps < 3 {
		t.Errorf("the run ended %q after %d steps, drained %q, with %v, and has counted to %d (%v); want the steps that it counted",
			res.Status, res.Steps, res.Drained, err, s.N.Get(), stateErr)
	}
}

// A run that is drained after its last commit reports the step of that commit.
func TestDrain_ReportsTheStepThatWouldHaveEndedTheRun(t *testing.T) {
	store := new(checkpoint.Memory)
	runs, e := onEnvironment(t, counting(t, store, 3, 0).Untyped(), WorkerConfig{Store: store}, ClientConfig{Mode: Nodes})
	e.prepare = func(env *testsuite.TestWorkflowEnvironment) {
		replace(env, commitActivity, func(ctx context.Context, q commitRequest) (*plan, error) {
			p, err := e.activities.commit(ctx, q)
			if err == nil && p.End != nil {
				env.SignalWorkflow(DrainSignal, StopRequest{Reason: "enough"})
			}
			return p, err
		})
	}
	res, err := runs.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: "t1"})
	if err != nil || res.Drained != "enough" || res.Steps != 3 {
		t.Errorf("the run ended %q after %d steps, drained %q, with %v; want drained after 3", res.Status, res.Steps, res.Drained, err)
	}
}

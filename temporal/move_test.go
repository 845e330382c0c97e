package temporal

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// A run that goes on as a new workflow keeps the steps that it has driven, also where it ends
// before the next plan.
func TestNodes_StepsMoveToTheNewWorkflow(t *testing.T) {
	store := new(checkpoint.Memory)
	g := counting(t, store, 600, 0)
	runs, e := onEnvironment(t, g.Untyped(), WorkerConfig{Store: store}, ClientConfig{Mode: Nodes})
	e.prepare = func(env *testsuite.TestWorkflowEnvironment) {
		if e.moves == 1 {
			env.RegisterDelayedCallback(func() { env.SignalWorkflow(DrainSignal, StopRequest{Reason: "enough"}) }, 0)
		}
	}
	res, err := runs.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: "t1"})
	s, _, stateErr := g.Thread("t1").State(t.Context(), 0)
	if err != nil || res.Drained != "enough" || stateErr != nil || res.Steps != s.N.Get() || res.Steps < mostSteps-1 {
		t.Errorf("the run ended %q after %d steps, drained %q, with %v, and has counted to %d (%v); want the steps that it counted",
			res.Status, res.Steps, res.Drained, err, s.N.Get(), stateErr)
	}
}

// A turn that goes on as a new workflow while it waits ends when it would have ended, and keeps
// requests for runs that have not come.
func TestTurn_ThatMovesWhileItWaits(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := patient(&suite)
	var began time.Time
	waits := func(ctx workflow.Context) error {
		began = workflow.Now(ctx)
		on := &turn{ends: map[string]*end{}, in: turnInput{Wait: time.Hour}, early: map[string]stopReply{"late": {Kind: stopCancel}}}
		workflow.Go(ctx, func(ctx workflow.Context) {
			_ = workflow.Sleep(ctx, time.Minute)
			on.updates = mostUpdates
		})
		on.next(ctx)
		return on.again(ctx)
	}
	env.RegisterWorkflow(waits)
	env.ExecuteWorkflow(waits)
	var again *workflow.ContinueAsNewError
	var in turnInput
	if err := env.GetWorkflowError(); !errors.As(err, &again) {
		t.Fatalf("the workflow ended with %v, want that it goes on as a new one", err)
	}
	if err := converter.GetDefaultDataConverter().FromPayloads(again.Input, &in); err != nil {
		t.Fatal(err)
	}
	if !in.Until.Equal(began.Add(time.Hour)) || in.Early["late"].Kind != stopCancel {
		t.Errorf("it waits until %v with %v, want until %v with the cancellation", in.Until, in.Early, began.Add(time.Hour))
	}
	next := patient(&suite)
	var waited time.Duration
	rest := func(ctx workflow.Context, in turnInput) error {
		on, from := &turn{ends: map[string]*end{}, in: in}, workflow.Now(ctx)
		on.next(ctx)
		waited = workflow.Now(ctx).Sub(from)
		return nil
	}
	next.SetStartTime(began.Add(time.Minute))
	next.RegisterWorkflow(rest)
	next.ExecuteWorkflow(rest, in)
	if err := next.GetWorkflowError(); err != nil || waited != time.Hour-time.Minute {
		t.Errorf("the new workflow waited %v (%v), want an hour less a minute", waited, err)
	}
}

package temporal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/temporal/internal/scenarios"
)

// environment is the port to Temporal's test environment. Each job has a workflow of its own: the
// environment skips the time in which a turn waits.
type environment struct {
	suite      testsuite.WorkflowTestSuite
	activities *activities
	prepare    func(*testsuite.TestWorkflowEnvironment) // nil: nothing to prepare

	mu    sync.Mutex
	now   *testsuite.TestWorkflowEnvironment // under way
	moves int                                // how often a workflow went on as a new one
}

// patient returns an environment in which a workflow may take a minute, as on a busy machine.
func patient(suite *testsuite.WorkflowTestSuite) *testsuite.TestWorkflowEnvironment {
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute})
	return env
}

func newEnvironment(cfg WorkerConfig) (*environment, error) {
	a, err := newActivities(cfg)
	if err != nil {
		return nil, err
	}
	e := &environment{activities: a}
	e.suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	a.stopOf = func(context.Context, string, string) (r stopReply, err error) {
		value, err := e.current().QueryWorkflow(stopQuery)
		if err == nil {
			err = value.Get(&r)
		}
		return r, err
	}
	return e, nil
}

func (e *environment) polled(context.Context) (bool, error) { return true, nil }

func (e *environment) current() *testsuite.TestWorkflowEnvironment {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.now
}

func (e *environment) run(ctx context.Context, in turnInput, j job, accepted func()) (*end, error) {
	for first := true; ; first = false {
		env := patient(&e.suite)
		env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: workflowID(in.Graph, in.Thread), TaskQueue: DefaultQueue})
		e.activities.register(env)
		if e.prepare != nil {
			e.prepare(env)
		}
		var ended *end
		var failed error
		if first {
			env.RegisterDelayedCallback(func() {
				env.UpdateWorkflow(runUpdate, j.Step.Run, &testsuite.TestUpdateCallback{
					OnReject: func(err error) { failed = err },
					OnAccept: accepted,
					OnComplete: func(v any, err error) {
						if failed = err; err == nil {
							ended = v.(*end)
						}
					},
				}, j)
			}, 0)
		}
		e.mu.Lock()
		e.now = env
		e.mu.Unlock()
		env.ExecuteWorkflow(TurnWorkflow, in)
		err := env.GetWorkflowError()
		var again *workflow.ContinueAsNewError
		switch {
		case errors.As(err, &again):
			in = turnInput{}
			if err := converter.GetDefaultDataConverter().FromPayloads(again.Input, &in); err != nil {
				return nil, err
			}
			e.moves++
			continue
		case failed != nil:
			return nil, failed
		case ended != nil && !ended.Moved:
			return ended, nil
		case err != nil:
			return nil, err
		}
		if err := env.GetWorkflowResult(&ended); err != nil {
			return nil, err
		}
		if ended == nil {
			return nil, fmt.Errorf("the workflow has ended without a run")
		}
		return ended, nil
	}
}

func (e *environment) await(context.Context, string, string, func()) (*end, error) {
	return nil, errors.New("run has waited")
}

func (e *environment) signal(_ context.Context, _, name string, q StopRequest) error {
	e.current().SignalWorkflow(name, q)
	return nil
}

// environmentDriver is the driver of scenarios in the test environment.
func environmentDriver(mode Mode) scenarios.Driver {
	return func(t *testing.T, g graph.Untyped, store checkpoint.Store) graph.Untyped {
		docs := new(document.Map)
		e, err := newEnvironment(WorkerConfig{Graphs: []graph.Untyped{g}, Store: store, Documents: docs, Settings: scenarios.Settings})
		if err != nil {
			t.Fatal(err)
		}
		c, err := newClient(g, ClientConfig{Store: store, Documents: docs, Mode: mode, Heartbeat: time.Minute}, e) // a busy machine may be slow
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

func TestScenarios(t *testing.T) {
	t.Run("local", func(t *testing.T) {
		scenarios.Run(t, func(_ *testing.T, g graph.Untyped, _ checkpoint.Store) graph.Untyped { return g })
	})
	t.Run("segment", func(t *testing.T) { // the environment does not wait for an activity that is cancelled
		scenarios.Run(t, environmentDriver(Segments), "cancel", "drain")
	})
	t.Run("node", func(t *testing.T) { scenarios.Run(t, environmentDriver(Nodes)) })
}

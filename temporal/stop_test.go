package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/temporal/internal/scenarios"
)

// slowPort is a port whose workflow has a job when taken is called, and ends it at a signal.
type slowPort struct {
	begun   chan struct{} // closed when the job is on its way
	take    chan struct{} // closed to have the workflow take the job
	stopped chan struct{} // closed at the first signal

	mu      sync.Mutex
	signals []string
}

func newSlowPort() *slowPort {
	return &slowPort{begun: make(chan struct{}), take: make(chan struct{}), stopped: make(chan struct{})}
}

func (p *slowPort) run(ctx context.Context, _ turnInput, j job, accepted func()) (*end, error) {
	close(p.begun)
	select {
	case <-p.take:
		accepted()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case <-p.stopped:
		return &end{Run: j.Step.Run, Status: graph.Failed, Failure: &failure{Message: "it was cancelled", Codes: []string{"cancelled"}}}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (p *slowPort) await(context.Context, string, string, func()) (*end, error) {
	return nil, errors.New("the port must not be asked to wait")
}

func (p *slowPort) signal(_ context.Context, _, name string, q StopRequest) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.signals = append(p.signals, name+": "+q.Reason)
	if len(p.signals) == 1 {
		close(p.stopped)
	}
	return nil
}

func (p *slowPort) polled(context.Context) (bool, error) { return true, nil }

func (p *slowPort) sent() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.signals)
}

// A signal to a workflow that does not have the run yet would be lost, and the run would go on.
func TestStop_WaitsUntilTheWorkflowHasTheRun(t *testing.T) {
	errEnough := errors.New("enough")
	for name, stop := range map[string]func(*graph.Handle[json.RawMessage], context.CancelCauseFunc){
		"context": func(_ *graph.Handle[json.RawMessage], cancel context.CancelCauseFunc) { cancel(errEnough) },
		"Cancel":  func(h *graph.Handle[json.RawMessage], _ context.CancelCauseFunc) { h.Cancel(errEnough) },
		"Drain":   func(h *graph.Handle[json.RawMessage], _ context.CancelCauseFunc) { h.Drain("enough") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := new(checkpoint.Memory)
				p := newSlowPort()
				c, err := newClient(counting(t, store, 3, 0).Untyped(), ClientConfig{Store: store}, p)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				h := c.Start(ctx, json.RawMessage(`{}`), graph.RunOptions{Thread: "t"})
				<-p.begun
				stop(h, cancel)
				synctest.Wait()
				if early := p.sent(); len(early) > 0 {
					t.Errorf("signals before the workflow had the run: %q, want none", early)
				}
				close(p.take)
				_, err = h.Wait()
				want := []string{CancelSignal + ": enough"}
				if name == "Drain" {
					want = []string{DrainSignal + ": enough"}
				}
				if got := p.sent(); !slices.Equal(got, want) {
					t.Errorf("signals = %q, want %q", got, want)
				}
				if name == "context" && !errors.Is(err, errEnough) {
					t.Errorf("the run ended with %v, want the cause of its context", err)
				}
			})
		})
	}
}

// The workflow of a run that no worker has taken gets the signal before its caller leaves.
func TestStop_OfARunThatNoWorkerHas(t *testing.T) {
	errEnough := errors.New("enough")
	synctest.Test(t, func(t *testing.T) {
		store := new(checkpoint.Memory)
		p := newSlowPort()
		c, err := newClient(counting(t, store, 3, 0).Untyped(), ClientConfig{Store: store, CancelTimeout: time.Second}, p)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		h := c.Start(ctx, json.RawMessage(`{}`), graph.RunOptions{Thread: "t"})
		<-p.begun
		cancel(errEnough)
		if _, err := h.Wait(); !errors.Is(err, errEnough) {
			t.Errorf("the run ended with %v, want the cause of its context", err)
		}
		if got := p.sent(); !slices.Equal(got, []string{CancelSignal + ": enough"}) {
			t.Errorf("signals = %q, want one that cancels the run", got)
		}
	})
}

// The stronger of the signals that come before a run is what the run begins with.
func TestStop_WaitsForItsRun(t *testing.T) {
	for _, kinds := range [][]stopKind{{stopCancel}, {stopDrain, stopCancel}, {stopCancel, stopDrain}} {
		var suite testsuite.WorkflowTestSuite
		env := patient(&suite)
		begins := func(ctx workflow.Context) ([]stopKind, error) {
			on := &turn{ends: map[string]*end{}, early: map[string]stopReply{}, in: turnInput{Wait: time.Second}}
			for _, kind := range kinds {
				on.onStop(StopRequest{Run: "r1", Reason: "enough"}, kind)
			}
			var got []stopKind
			on.jobs = []job{{Step: stepRef{Run: "r1"}}, {Step: stepRef{Run: "r2"}}}
			for range 2 {
				on.next(ctx)
				got = append(got, on.stop.Kind)
				on.now = nil
			}
			return got, nil
		}
		env.RegisterWorkflow(begins)
		env.ExecuteWorkflow(begins)
		var got []stopKind
		if err := env.GetWorkflowResult(&got); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, []stopKind{stopCancel, ""}) {
			t.Errorf("after the signals %q the runs begin with the stops %q, want that the first is cancelled", kinds, got)
		}
	}
}

// A signal for a run that has not begun ends it, and frees the thread. One for another run does
// not.
func TestStop_OfARunThatHasNotBegun(t *testing.T) {
	for run, want := range map[string]graph.Status{"r1": graph.Failed, "r2": graph.Done} {
		for _, mode := range []Mode{Segments, Nodes} {
			store := new(checkpoint.Memory)
			c, e := onEnvironment(t, counting(t, store, 3, 0).Untyped(), WorkerConfig{Store: store}, ClientConfig{Mode: mode})
			e.prepare = func(env *testsuite.TestWorkflowEnvironment) {
				env.RegisterDelayedCallback(func() { env.SignalWorkflow(CancelSignal, StopRequest{Run: run, Reason: "enough"}) }, 0)
			}
			res, err := c.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: "t", ID: "r1"})
			if res.Status != want || errors.Is(err, context.Canceled) != (want == graph.Failed) || (res.Steps == 3) != (want == graph.Done) {
				t.Errorf("%s, a signal for %s: the run ended %s after %d steps with %v, want %s", mode, run, res.Status, res.Steps, err, want)
			}
			held, err := checkpoint.Hold(t.Context(), store, "t", checkpoint.HoldOptions{TTL: time.Second})
			if err != nil {
				t.Fatalf("%s, a signal for %s: after the run %v, want that the thread is free", mode, run, err)
			}
			if err := held.Release(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

// A run that is cancelled before Temporal has it reaches no workflow, and reports the cause.
func TestStop_BeforeTheWorkflowBegins(t *testing.T) {
	errEnough := errors.New("enough")
	store := new(checkpoint.Memory)
	p := newSlowPort()
	c, err := newClient(counting(t, store, 3, 0).Untyped(), ClientConfig{Store: store}, p)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errEnough)
	_, err = c.Invoke(ctx, json.RawMessage(`{}`), graph.RunOptions{Thread: "t"})
	if !errors.Is(err, errEnough) {
		t.Errorf("the run ended with %v, want the cause of its context", err)
	}
	select {
	case <-p.begun:
		t.Error("a workflow was begun for a run that was cancelled before")
	default:
	}
}

// A turn that goes on as a new workflow still knows what the run under way was asked for.
func TestStop_SurvivesContinueAsNew(t *testing.T) {
	for kind, want := range map[stopKind]stopKind{stopCancel: stopCancel, stopDrain: stopDrain, stopEdit: "", "": ""} {
		var suite testsuite.WorkflowTestSuite
		env := patient(&suite)
		moves := func(ctx workflow.Context) error {
			return (&turn{now: &job{}, stop: stopReply{Kind: kind, Reason: "enough"}}).again(ctx)
		}
		env.RegisterWorkflow(moves)
		env.ExecuteWorkflow(moves)
		var again *workflow.ContinueAsNewError
		if err := env.GetWorkflowError(); !errors.As(err, &again) {
			t.Fatalf("the workflow ended with %v, want that it goes on as a new one", err)
		}
		var in turnInput
		if err := converter.GetDefaultDataConverter().FromPayloads(again.Input, &in); err != nil {
			t.Fatal(err)
		}
		var got stopKind
		if in.Stop != nil {
			got = in.Stop.Kind
		}
		if got != want {
			t.Errorf("the turn after one that was asked to stop with %q has the stop %q, want %q", kind, got, want)
		}
	}
}

// The turn after one that was cancelled at its last moment ends the run.
func TestStop_IsObeyedByTheNextTurn(t *testing.T) {
	store := new(checkpoint.Memory)
	_, e := onEnvironment(t, counting(t, store, 3, 0).Untyped(), WorkerConfig{Store: store}, ClientConfig{Store: store})
	env := patient(&e.suite)
	e.activities.register(env)
	e.now = env
	env.ExecuteWorkflow(TurnWorkflow, turnInput{Graph: "count", Thread: "t", Now: &job{Step: stepRef{Run: "r"}},
		Stop: &stopReply{Kind: stopCancel, Reason: "enough"}})
	var ended end
	if err := env.GetWorkflowResult(&ended); err != nil {
		t.Fatal(err)
	}
	if ended.Run != "r" || ended.Failure == nil || !slices.Contains(ended.Failure.Codes, "cancelled") {
		t.Errorf("the run ended as %+v, want that it was cancelled", ended)
	}
}

// leavingDocs are documents whose caller leaves the run while it stores there.
type leavingDocs struct {
	document.Store
	leave context.CancelCauseFunc
}

func (d leavingDocs) Set(ctx context.Context, _ document.Place, _ document.Change) (document.Doc, error) {
	d.leave(graph.ErrDetached)
	return document.Doc{}, ctx.Err()
}

// rejoinable is an environment that knows no run yet.
type rejoinable struct{ *environment }

func (rejoinable) await(context.Context, string, string, func()) (*end, error) {
	return nil, ErrEnded
}

// A caller may leave a run after it was planned and before the workflow has it. The next one begins
// the same run.
func TestDetached_RunIsBegunByTheNextCaller(t *testing.T) {
	store, docs := new(checkpoint.Memory), new(document.Map)
	g := counting(t, store, 3, 0).Untyped()
	worker := WorkerConfig{Store: store, Documents: docs, Settings: scenarios.Settings}
	o := graph.RunOptions{Thread: "t1", ID: "r1", Settings: map[string]any{}}
	ctx, leave := context.WithCancelCause(t.Context())
	first, e := onEnvironment(t, g, worker, ClientConfig{Documents: leavingDocs{docs, leave}})
	if _, err := first.Invoke(ctx, json.RawMessage(`{}`), o); !errors.Is(err, graph.ErrDetached) {
		t.Fatalf("the caller that leaves gets %v, want an ErrDetached", err)
	}
	next, err := newClient(g, ClientConfig{Store: store, Documents: docs}, rejoinable{e})
	if err != nil {
		t.Fatal(err)
	}
	res, err := next.Rejoin().Invoke(t.Context(), json.RawMessage(`{}`), o)
	if err != nil || res.Status != graph.Done || res.Steps != 3 {
		t.Errorf("the run ended %q after %d steps with %v, want done after 3", res.Status, res.Steps, err)
	}
}

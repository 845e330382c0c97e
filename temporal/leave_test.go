package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// endlessPort is a port whose runs do not end, to a server that does not answer signals.
type endlessPort struct {
	accepts bool          // the workflow has the run
	begun   chan struct{} // closed when the run is on its way
}

func (p endlessPort) run(ctx context.Context, _ turnInput, _ job, accepted func()) (*end, error) {
	if p.accepts {
		accepted()
	}
	close(p.begun)
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func (p endlessPort) await(context.Context, string, string, func()) (*end, error) {
	return nil, errors.New("the port must not be asked to wait")
}

func (p endlessPort) signal(ctx context.Context, _, _ string, _ StopRequest) error {
	<-ctx.Done()
	return ctx.Err()
}

func (p endlessPort) polled(context.Context) (bool, error) { return true, nil }

func TestCancelTimeout_BoundsTheWait(t *testing.T) {
	errEnough := errors.New("enough")
	for name, accepts := range map[string]bool{"a worker has the run": true, "no worker has it": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := new(checkpoint.Memory)
				p := endlessPort{accepts: accepts, begun: make(chan struct{})}
				c, err := newClient(counting(t, store, 3, 0).Untyped(), ClientConfig{Store: store, CancelTimeout: time.Second}, p)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				h := c.Start(ctx, json.RawMessage(`{}`), graph.RunOptions{Thread: "t"})
				<-p.begun
				h.Drain("finish the step") // never answered
				synctest.Wait()
				cancel(errEnough)
				began := time.Now() // of the bubble
				if _, err = h.Wait(); !errors.Is(err, errEnough) {
					t.Errorf("the caller got %v, want the cause of its context", err)
				}
				if waited := time.Since(began); waited != time.Second {
					t.Errorf("the caller waited %v, want the CancelTimeout of 1s", waited)
				}
				_, err = store.Acquire(t.Context(), checkpoint.LeaseRequest{Thread: "t", TTL: time.Second, Owner: "another"})
				if busy := errors.Is(err, checkpoint.ErrOwned); busy != accepts {
					t.Errorf("the thread is owned: %t (%v), want %t", busy, err, accepts)
				}
			})
		})
	}
}

// idlePort is a port to a task queue that has as many workers as workers returns at each call.
type idlePort struct {
	endlessPort
	workers func(call int) (int, error)
	calls   *int
}

func (p idlePort) polled(ctx context.Context) (bool, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		return false, errors.New("the call must have a deadline")
	}
	*p.calls++
	n, err := p.workers(*p.calls)
	return n > 0, err
}

func TestNoWorkers_IsCalledOnceWhileNoWorkerPolls(t *testing.T) {
	busy := errors.New("busy")
	for name, c := range map[string]struct {
		accepts bool
		workers func(call int) (int, error)
		calls   int // of polled
		noted   int
	}{
		"no worker":                        {workers: func(int) (int, error) { return 0, nil }, calls: 1, noted: 1},
		"a worker that is busy, then none": {workers: func(call int) (int, error) { return 2 - call, nil }, calls: 2, noted: 1},
		"the server is busy at first":      {workers: func(call int) (int, error) { return 0, map[int]error{1: busy}[call] }, calls: 2, noted: 1},
		"a worker":                         {workers: func(int) (int, error) { return 1, nil }, calls: 4},
		"the run was taken":                {accepts: true, workers: func(int) (int, error) { return 0, nil }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := new(checkpoint.Memory)
				calls, noted := 0, 0
				p := idlePort{endlessPort{c.accepts, make(chan struct{})}, c.workers, &calls}
				runs, err := newClient(counting(t, store, 3, 0).Untyped(), ClientConfig{Store: store, NoWorkers: func() { noted++ }, CancelTimeout: time.Second}, p)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				h := runs.Start(ctx, json.RawMessage(`{}`), graph.RunOptions{Thread: "t"})
				<-p.begun
				time.Sleep(time.Minute) // of the bubble: asked after 3, 9, 21 and 45 seconds
				cancel()
				_, _ = h.Wait() // its error is that of the context
				if calls != c.calls || noted != c.noted {
					t.Errorf("polled was called %d times and NoWorkers %d times, want %d and %d", calls, noted, c.calls, c.noted)
				}
			})
		})
	}
}

// The caller of a run that another has taken over learns that, in each way in which the run ends.
func TestSuperseded_TravelsTyped(t *testing.T) {
	store := new(checkpoint.Memory)
	p := endPort{}
	for name, f := range map[string]*failure{
		"by the workflow": {Message: "cancelled", Codes: []string{"cancelled"}},
		"in a node":       {Message: "cancelled", Codes: []string{"cancelled"}, Node: &nodeFailure{Node: "add", Cancelled: true}},
	} {
		on := &turn{now: &job{Step: stepRef{Run: "r"}}, ends: map[string]*end{}}
		on.ask(stopReply{Kind: stopCancel, Superseded: true})
		p.end = &end{Status: graph.Failed, Failure: f}
		on.finish(nil, p.end)
		c, err := newClient(counting(t, store, 3, 0).Untyped(), ClientConfig{Store: store}, p)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: name})
		if !errors.Is(err, ErrSuperseded) || !errors.Is(err, checkpoint.ErrFenced) {
			t.Errorf("%s: got %v, want ErrSuperseded and checkpoint.ErrFenced", name, err)
		}
	}
}

func TestStores_DifferentOnesAreNamed(t *testing.T) {
	store := new(checkpoint.Memory)
	g := counting(t, store, 3, 0).Untyped()
	e, err := newEnvironment(WorkerConfig{Graphs: []graph.Untyped{counting(t, new(checkpoint.Memory), 3, 0).Untyped()}, Store: new(checkpoint.Memory)})
	if err != nil {
		t.Fatal(err)
	}
	c, err := newClient(g, ClientConfig{Store: store}, e)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: "t"}); !errors.Is(err, ErrStores) {
		t.Errorf("the run ended with %v, want ErrStores", err)
	}
}

// endPort is a port whose runs have an end.
type endPort struct {
	endlessPort
	end *end
}

func (p endPort) run(_ context.Context, _ turnInput, j job, accepted func()) (*end, error) {
	accepted()
	p.end.Run = j.Step.Run
	return p.end, nil
}

// An activity that ends with its worker is tried again, and does not end the run.
func TestAbort_ActivitiesAreTriedAgain(t *testing.T) {
	var a activities
	for _, cause := range []error{ErrAborted, worker.ErrWorkerShutdown} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		var app *sdk.ApplicationError
		if err := a.again(ctx, context.Canceled); !errors.As(err, &app) || app.NonRetryable() {
			t.Errorf("%v: the activity ended with %v, want an error that is tried again", cause, err)
		}
		if err := a.again(ctx, nil); err != nil {
			t.Errorf("%v: an activity that has succeeded ended with %v", cause, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errCancelled)
	if err := a.again(ctx, context.Canceled); err != nil {
		t.Errorf("a run that was cancelled is tried again: %v", err)
	}
}

package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/weftrun/weft/checkpoint/document"
)

// Worker runs tasks. Do must return when its context ends.
type Worker interface {
	Do(ctx context.Context, t Task) (Outcome, error)
}

// WorkerFunc is a Worker from a function.
type WorkerFunc func(ctx context.Context, t Task) (Outcome, error)

// Do implements Worker.
func (f WorkerFunc) Do(ctx context.Context, t Task) (Outcome, error) { return f(ctx, t) }

// Outcome is the result of a worker.
type Outcome struct {
	Status   Status          `json:"status,omitempty"`   // Completed, Waiting, Review or Failed; "" means Completed
	Result   json.RawMessage `json:"result,omitempty"`   // of Completed and Review
	Question json.RawMessage `json:"question,omitempty"` // of Waiting
	Reason   string          `json:"reason,omitempty"`   // of Failed
}

// errStopped is the cause of a context that ends because another caller ended the task.
var errStopped = errors.New("tasks: the task was ended by another caller")

// Run runs a pending task with a worker, and returns the task afterwards. If the worker fails, the
// status of the task is Failed and the error is nil. An error means that the task could not be run
// or stored: an ErrTransition if it was not pending, or if another caller ended it meanwhile. Once
// the task is in progress, a call that fails because the store is away is repeated for 30 seconds,
// also if ctx has ended.
func (b *Board) Run(ctx context.Context, id string, w Worker) (Task, error) {
	return b.work(ctx, id, w, func(t *Task) error {
		if t.Status != Pending {
			return &TransitionError{t.ID, t.Status, InProgress}
		}
		return nil
	})
}

// Resume is Run for a waiting or reviewed task, with an answer.
func (b *Board) Resume(ctx context.Context, id string, answer json.RawMessage, w Worker) (Task, error) {
	if !json.Valid(answer) {
		return Task{}, fmt.Errorf("%w: %.200q: the answer is not JSON", ErrTask, id)
	}
	return b.work(ctx, id, w, func(t *Task) error {
		if t.Status != Waiting && t.Status != Review {
			return &TransitionError{t.ID, t.Status, InProgress}
		}
		t.Answer = answer
		return nil
	})
}

func (b *Board) work(ctx context.Context, id string, w Worker, may func(*Task) error) (Task, error) {
	before, t, err := b.begin(ctx, id, may)
	if err != nil {
		return t, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer b.register(id, cancel)()
	uncancelled := context.WithoutCancel(ctx)
	// A caller that ends the task from now on finds the worker. This read finds an earlier end.
	now, err := again(func() (Task, error) { return b.Get(uncancelled, id) })
	switch {
	case err == nil && !t.sameWork(now):
		return now, &TransitionError{now.ID, now.Status, Completed}
	case errors.Is(err, ErrNotFound):
		return now, err
	case err != nil:
		return b.undo(uncancelled, before, t, err)
	}
	unwatch := b.watch(ctx, t, cancel)
	out := do(ctx, t, w)
	unwatch()
	done, err := b.settle(uncancelled, t, out)
	if errors.Is(err, document.ErrTooLarge) || errors.Is(err, document.ErrValue) {
		return b.settle(uncancelled, t, Outcome{Status: Failed, Reason: fmt.Sprintf("the outcome cannot be stored: %v", err)})
	}
	return done, err
}

// watch stops a worker when another process ended its task, until the returned function is called.
// A failed read is repeated at the next tick.
func (b *Board) watch(ctx context.Context, t Task, stop context.CancelCauseFunc) (unwatch func()) {
	if b.Watch < 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		look := time.NewTicker(cmp.Or(b.Watch, 2*time.Second))
		defer look.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-look.C:
			}
			if now, err := b.Get(ctx, t.ID); err == nil && !t.sameWork(now) || errors.Is(err, ErrNotFound) {
				stop(errStopped)
				return
			}
		}
	})
	return func() { cancel(); wg.Wait() }
}

// register makes a worker known to stop, until the returned function is called.
func (b *Board) register(id string, cancel context.CancelCauseFunc) (unregister func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := &cancel
	b.running[id] = own
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.running[id] == own { // not the worker of a later attempt
			delete(b.running, id)
		}
	}
}

// do calls a worker, and returns a valid outcome.
func do(ctx context.Context, t Task, w Worker) (out Outcome) {
	if t.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, t.Timeout, fmt.Errorf("the timeout of %v has passed", t.Timeout))
		defer stop()
	}
	out, err := called(ctx, t, w)
	switch {
	case err != nil && ctx.Err() != nil:
		return Outcome{Status: Failed, Reason: fmt.Sprintf("%v: %v", context.Cause(ctx), err)}
	case err != nil:
		return Outcome{Status: Failed, Reason: err.Error()}
	}
	return out.checked()
}

// errGoexit is the error of a worker that calls runtime.Goexit.
var errGoexit = errors.New("the worker called runtime.Goexit")

// called calls a worker on a new goroutine, which the worker may end.
func called(ctx context.Context, t Task, w Worker) (out Outcome, err error) {
	err = errGoexit
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				out, err = Outcome{Status: Failed, Reason: fmt.Sprintf("the worker panicked: %v", r)}, nil
			}
		}()
		out, err = w.Do(ctx, t)
	}()
	<-done
	return out, err
}

// checked returns the outcome, or a failure if it is invalid.
func (o Outcome) checked() Outcome {
	why := ""
	switch o.Status {
	case "":
		o.Status = Completed
	case Completed, Waiting, Review, Failed:
	default:
		why = fmt.Sprintf("the worker returned the status %.32q", o.Status)
	}
	for what, v := range map[string]json.RawMessage{"result": o.Result, "question": o.Question} {
		if v != nil && (!json.Valid(v) || !utf8.Valid(v)) {
			why = "the worker's " + what + " is not JSON in UTF-8"
		}
	}
	if why != "" {
		return Outcome{Status: Failed, Reason: why}
	}
	return o
}

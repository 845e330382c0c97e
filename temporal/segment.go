package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
)

// segment goes on with a thread up to the next question, limit or end, or to a step that is to be
// driven.
func (a *activities) segment(ctx context.Context, q segmentRequest) (*segmentResult, error) {
	info := activity.GetInfo(ctx)
	thread, run := threadOf(info.WorkflowExecution.ID, q.Graph), q.Job.Step.Run
	g, err := a.graph(ctx, q.Graph, q.Job.Step.Program)
	if err != nil {
		return nil, err
	}
	b := a.watch(ctx, thread, run, q.Job.Attempt-1+int(info.Attempt))
	over := false
	defer func() { b.close(over) }()
	at, ended, err := a.inspect(b.ctx, thread, q.Job.Step, q.Job.Turn) // ctx ends for an edit, too
	if b.isGivenUp(err) {
		return &segmentResult{}, nil
	}
	if err != nil {
		if again := a.again(b.ctx, err); again != nil {
			return nil, again
		}
		ended = endOf(graph.Result[json.RawMessage]{}, err)
	}
	if ended != nil {
		over = true
		return &segmentResult{End: ended}, nil
	}
	stored, err := a.options(b.ctx, thread, q.Job.Step)
	if err != nil {
		return nil, err
	}
	done := stepsAt(at, q.Job.Step)
	o := with(stored, graph.RunOptions{ID: run, Thread: thread, Durability: q.Job.Durability, StopAtTaskQueue: true, Grace: a.cfg.Grace, Drain: &b.drain})
	if most := q.Job.Step.MaxSteps; most > 0 {
		o.MaxSteps = max(1, most-done)
		if most <= done && (at.Status == graph.Pending || at.Status == graph.Failed) {
			over = true
			err := fmt.Errorf("graph %q: thread %q: step %d: %w: %d steps did not finish the run", q.Graph, thread, at.Step, graph.ErrSteps, most)
			return &segmentResult{Steps: done - q.Job.Steps, End: endOf(graph.Result[json.RawMessage]{Checkpoint: at.Checkpoint}, err)}, nil
		}
	}
	res, err := a.resume(b, g, run, o)
	res.Steps += done - q.Job.Steps
	switch {
	case b.stop().Kind == stopCancel && ctx.Err() != nil && err != nil:
		over = true
		return &segmentResult{Steps: res.Steps, End: endOf(res, fmt.Errorf("%w: %w", context.Canceled, err))}, nil
	case b.isGivenUp(err): // the workflow knows why
		return a.goesOn(b.ctx, thread, q.Job, res.Steps), nil
	case err != nil:
		if again := a.again(b.ctx, err); again != nil {
			return nil, again
		}
		if graph.IsStoreFailure(err) && errors.Is(err, checkpoint.ErrFenced) { // by an attempt before, which was slow, or another run
			return nil, sdk.NewApplicationError(cut(err.Error()), typeBusy)
		}
	case res.Drained != "" && b.stop().Kind != stopDrain: // for an edit, or since this worker stops
		return a.goesOn(b.ctx, thread, q.Job, res.Steps), nil
	case res.Status == graph.Pending && res.Drained == "": // a step with a task queue is due
		return a.planAfter(b, g, thread, q, res)
	}
	over = true
	return &segmentResult{Steps: res.Steps, End: endOf(res, err)}, nil
}

// stepsAt returns how many steps a run has committed, where at is the newest commit. The replies of
// activities that made some of them may be lost.
func stepsAt(at graph.CommitInfo, s stepRef) int { return max(0, at.Step-s.First) }

// goesOn returns the result of a segment after which the run goes on. steps has the step at which
// the segment stopped. If that is not committed, it counts when it has run again.
func (a *activities) goesOn(ctx context.Context, thread string, j job, steps int) *segmentResult {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if at, err := graph.Inspect(ctx, a.cfg.Store, checkpoint.Key{Thread: thread}); err == nil { // else the next segment corrects it
		steps = min(steps, stepsAt(at, j.Step)-j.Steps)
	}
	return &segmentResult{Steps: steps}
}

// inspect returns the newest commit of a thread. If another run has begun a turn since that of the
// run of a step, it also returns how this run has ended: as done if its own last commit ended its
// turn, as the reply that reported this was lost, else as superseded.
func (a *activities) inspect(ctx context.Context, thread string, of stepRef, turn int) (at graph.CommitInfo, ended *end, err error) {
	key := checkpoint.Key{Thread: thread}
	at, err = graph.Inspect(ctx, a.cfg.Store, key)
	if err != nil || turn == 0 || at.Turn <= turn || of.Drains {
		return at, nil, err
	}
	for c, err := range graph.History(ctx, a.cfg.Store, key, checkpoint.Query{Where: map[string]string{"turn": strconv.Itoa(turn)}}) {
		switch {
		case err != nil:
			return at, nil, err
		case rootRun(c.Run) != rootRun(of.Run):
		case c.Status == graph.Done:
			return at, &end{Status: graph.Done, Checkpoint: c.Checkpoint}, nil
		default:
			return at, superseded(thread), nil
		}
	}
	return at, superseded(thread), nil
}

// superseded returns the end of a run whose thread another run has taken over. Its one code is not
// that of a lost lease, with which a run that is driven would be planned again.
func superseded(thread string) *end {
	return &end{Status: graph.Failed, Failure: &failure{Message: fmt.Sprintf("thread %q: %v", thread, ErrSuperseded), Codes: []string{"superseded"}}}
}

// resume runs the thread in this process.
func (a *activities) resume(b *beat, g graph.Untyped, run string, o graph.RunOptions) (res graph.Result[json.RawMessage], err error) {
	err = a.hold(run, func(lease checkpoint.HoldOptions) (err error) {
		o.Lease = lease
		if b.writer == nil {
			res, err = g.Resume(b.ctx, graph.Answers{}, o)
			return err
		}
		o.Hold = true
		h := g.StartResume(b.ctx, graph.Answers{}, o)
		write := afterRestore(b.writer.Write)
		for ev, err := range h.Join(eventlog.Reader()) {
			if err == nil {
				write(ev)
			}
		}
		res, err = h.Wait()
		return err
	})
	return res, err
}

// planAfter plans the step at which a segment has stopped.
func (a *activities) planAfter(b *beat, g graph.Untyped, thread string, q segmentRequest, res graph.Result[json.RawMessage]) (*segmentResult, error) {
	next := q.Job
	next.Driven++
	next.Steps += res.Steps
	step := next.driven()
	step.Fence, step.Program = "", ""
	p, err := a.planStep(b.ctx, g, thread, planRequest{Graph: q.Graph, Step: step}, b, &res.Checkpoint)
	if err != nil {
		return nil, err
	}
	return &segmentResult{Steps: res.Steps, Plan: p}, nil
}

// beat is what an activity has beside its work: heartbeats, requests to stop, events.
type beat struct {
	a      *activities
	ctx    context.Context // for the work: it ends when the activity is cancelled, and not when it is drained
	cancel context.CancelCauseFunc
	drain  graph.Drain
	thread string
	writer *eventlog.Writer // nil where there is no bus
	left   chan struct{}    // closed when the work is over
	done   chan struct{}    // closed when the goroutine has returned

	mu    sync.Mutex
	asked stopReply
}

// errCancelled is the cause with which the work of a cancelled activity ends.
var errCancelled = errors.New("the run was cancelled")

// errUnasked is the cause with which the work of a segment ends that is given up: it was cancelled,
// and the workflow did not ask for that, or does not answer.
var errUnasked = errors.New("the activity was cancelled")

// isOfWorker reports whether the context of an activity has ended since its worker ends. Another
// worker goes on with it.
func isOfWorker(cause error) bool {
	return errors.Is(cause, ErrAborted) || errors.Is(cause, worker.ErrWorkerShutdown)
}

// watch begins the heartbeats of an activity, before it calls the store, which may be slow. The
// caller must close it. An activity without a run has no events.
func (a *activities) watch(ctx context.Context, thread, run string, attempt int) *beat {
	b := &beat{a: a, thread: thread, left: make(chan struct{}), done: make(chan struct{})}
	b.ctx, b.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	if a.cfg.Bus != nil && run != "" {
		b.writer = eventlog.Log{Bus: a.cfg.Bus}.Writer(thread, run, attempt)
	}
	info := activity.GetInfo(ctx)
	if info.IsLocalActivity {
		close(b.done)
		return b
	}
	go b.watch(ctx, info)
	return b
}

// watch sends heartbeats until the work is over, and passes on requests to stop.
func (b *beat) watch(ctx context.Context, info activity.Info) {
	defer close(b.done)
	every := info.HeartbeatTimeout / 3
	if every <= 0 {
		every = time.Second
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	ended, stopping := ctx.Done(), activity.GetWorkerStopChannel(ctx)
	alive := context.WithoutCancel(ctx)
	for { // no heartbeat at once: most tasks end before the first, and each is a write of the server
		select {
		case <-b.left:
			return
		case <-ticker.C:
			activity.RecordHeartbeat(alive)
		case <-stopping:
			stopping = nil
			b.drain.Request("the worker stops")
		case <-ended:
			ended = nil
			if cause := context.Cause(ctx); isOfWorker(cause) {
				b.cancel(cause)
				continue
			}
			b.stopWork(alive, info)
		}
	}
}

// stopWork asks why the activity was cancelled, and stops the work accordingly.
func (b *beat) stopWork(ctx context.Context, info activity.Info) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	r, err := stopReply{Kind: stopCancel}, error(nil)
	if info.ActivityType.Name == segmentActivity && b.a.stopOf != nil {
		r, err = b.a.stopOf(ctx, info.WorkflowExecution.ID, info.WorkflowExecution.RunID)
	}
	if err != nil || r.Kind == "" {
		b.cancel(errUnasked)
		return
	}
	b.mu.Lock()
	b.asked = r
	b.mu.Unlock()
	if r.Kind == stopCancel {
		b.cancel(errCancelled)
		return
	}
	reason := r.Reason
	if reason == "" {
		reason = string(r.Kind)
	}
	b.drain.Request(reason)
}

// stop returns what the activity was asked for.
func (b *beat) stop() stopReply {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked
}

// isGivenUp reports whether the work ended with an error since it was given up.
func (b *beat) isGivenUp(err error) bool {
	return err != nil && errors.Is(context.Cause(b.ctx), errUnasked)
}

// events returns the function that passes an event on to readers in other processes; nil where
// there is no bus.
func (b *beat) events() func(graph.Event) {
	if b.writer == nil {
		return nil
	}
	return b.writer.Write
}

// afterRestore returns write without the state that a run is restored with: it is in the log as the
// end of the step before.
func afterRestore(write func(graph.Event)) func(graph.Event) {
	if write == nil {
		return nil
	}
	restored := false
	return func(ev graph.Event) {
		if restored = restored || ev.Mode != graph.Values || ev.Namespace != ""; restored {
			write(ev)
		}
	}
}

// closeTime bounds the wait for the last events of a call.
const closeTime = 5 * time.Second

// close ends the heartbeats. end is true where the run has ended.
func (b *beat) close(end bool) {
	close(b.left)
	<-b.done
	b.cancel(nil)
	if b.writer == nil {
		return
	}
	if end {
		b.writer.End()
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	b.a.report(b.thread, b.writer.Close(ctx))
}

package temporal

import (
	"errors"
	"fmt"
	"slices"
	"time"

	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/weftrun/weft/graph"
)

// The bounds of one history. Beyond them a turn goes on as a new one.
const (
	mostSteps   = 250  // supersteps that are driven, and segments
	mostUpdates = 1500 // Temporal refuses the 2,000th
)

// turn is the state of a workflow: a thread's runs, one after the other.
type turn struct {
	in     turnInput
	jobs   []job           // that have not begun
	now    *job            // under way; nil if there is none
	plan   *plan           // of now, while it is driven
	driven int             // the steps of the stretch under way
	last   *end            // of the newest run that has ended
	ends   map[string]*end // by run, those of this history

	early   map[string]stopReply // by run, what those that have not come are asked for
	stop    stopReply            // what the run under way is asked for
	halt    workflow.CancelFunc  // cancels its segment or plan; nil outside of one
	abort   workflow.CancelFunc  // cancels its tasks; nil while none run
	edits   int                  // edits that wait or are made
	barrier bool                 // the run waits for them
	moving  bool                 // the turn goes on as a new workflow, or ends
	steps   int                  // of this history
	updates int                  // of this history
}

// turnWorkflow is the workflow TurnWorkflow.
func turnWorkflow(ctx workflow.Context, in turnInput) (*end, error) {
	t := &turn{in: in, jobs: in.Next, now: in.Now, driven: in.Driven, last: in.Last, ends: map[string]*end{}, early: in.Early}
	if t.early == nil {
		t.early = map[string]stopReply{}
	}
	if t.last != nil {
		t.ends[t.last.Run] = t.last
	}
	if in.Stop != nil {
		t.stop = *in.Stop
	}
	if err := t.serve(ctx); err != nil {
		return nil, err
	}
	work, _ := workflow.NewDisconnectedContext(ctx) // a run that is cancelled still has to end
	for t.next(ctx) {
		if t.now == nil {
			return nil, t.again(work)
		}
		t.index(work)
		if moved := t.work(work); moved {
			return nil, t.again(work)
		}
		t.index(work)
		if ctx.Err() != nil || t.last.Status != graph.Interrupted && len(t.jobs) == 0 {
			break
		}
	}
	t.moving = true
	if err := workflow.Await(work, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return nil, err
	}
	if len(t.jobs) > 0 { // one has come in the meantime
		return nil, t.again(work)
	}
	return t.last, ctx.Err()
}

// moveWaiting is the change by which a turn that waits goes on as a new workflow.
const moveWaiting = "move while waiting"

// next makes the next job the one under way. It returns false when none has come in time. There is
// none under way if it returns true because the history has had too many updates meanwhile.
func (t *turn) next(ctx workflow.Context) bool {
	if t.now != nil {
		return true
	}
	full := func() bool {
		return t.updates >= mostUpdates && workflow.GetVersion(ctx, moveWaiting, workflow.DefaultVersion, 1) == 1
	}
	wait := t.in.Wait
	if t.in.Until.IsZero() {
		t.in.Until = workflow.Now(ctx).Add(wait)
	} else { // it has waited as the workflow before
		wait = max(0, t.in.Until.Sub(workflow.Now(ctx)))
	}
	came, err := workflow.AwaitWithTimeout(ctx, wait, func() bool { return t.edits == 0 && (len(t.jobs) > 0 || full()) })
	if err != nil || !came || len(t.jobs) == 0 {
		return err == nil && came
	}
	t.now, t.jobs, t.plan = &t.jobs[0], slices.Clone(t.jobs[1:]), nil
	t.stop, t.in.Until = t.early[t.now.Step.Run], time.Time{}
	delete(t.early, t.now.Step.Run)
	return true
}

// again returns the error with which the turn goes on as a new workflow.
func (t *turn) again(ctx workflow.Context) error {
	t.moving = true
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return err
	}
	in := t.in
	in.Now, in.Driven, in.Stop, in.Last, in.Next, in.Early = t.now, t.driven, nil, t.last, t.jobs, t.early
	if t.now != nil && (t.stop.Kind == stopDrain || t.stop.Kind == stopCancel) {
		in.Stop = &t.stop
	}
	return workflow.NewContinueAsNewError(ctx, TurnWorkflow, in)
}

// full reports whether the history is long enough.
func (t *turn) full(ctx workflow.Context) bool {
	return t.steps >= mostSteps || t.updates >= mostUpdates || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
}

// work carries on the run under way until it has ended, or the turn has to move.
func (t *turn) work(ctx workflow.Context) (moved bool) {
	for {
		switch {
		case t.edits > 0:
			t.waitForEdits(ctx)
			continue
		case t.stop.Kind == stopDrain:
			t.finish(ctx, t.release(ctx, &end{Status: graph.Pending, Drained: t.stop.Reason, Checkpoint: t.now.Step.Checkpoint}))
			return false
		case t.stop.Kind == stopCancel:
			t.finish(ctx, t.release(ctx, t.cancelled()))
			return false
		case t.full(ctx):
			return true
		}
		one := t.segment
		if t.in.Mode == Nodes || t.now.Planned {
			one = t.drive
		}
		e, err := one(ctx)
		t.steps++
		if err != nil {
			e = &end{Status: graph.Failed, Failure: failureOf(reason(err))}
		}
		if e != nil {
			t.finish(ctx, e)
			return false
		}
	}
}

// reason returns the error of an activity without what Temporal has put around it.
func reason(err error) error {
	var app *sdk.ApplicationError
	switch {
	case !errors.As(err, &app):
		return err
	case app.Type() == typeOptions:
		return &remoteError{app.Message(), []error{ErrOptions}}
	}
	return errors.New(app.Message())
}

// cancelled is the end of the run under way, which was cancelled.
func (t *turn) cancelled() *end { return t.cancelledAt(*t.now, t.stop.Reason) }

func (t *turn) cancelledAt(j job, text string) *end {
	if text == "" {
		text = "context canceled"
	}
	return &end{Status: graph.Failed, Checkpoint: j.Step.Checkpoint,
		Failure: &failure{Message: fmt.Sprintf("graph %q: thread %q: the run was cancelled: %s", t.in.Graph, t.in.Thread, cut(text)), Codes: []string{"cancelled"}}}
}

// finish notes how the run under way has ended.
func (t *turn) finish(ctx workflow.Context, e *end) {
	if j := t.now; j.Step.Options {
		local := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
			ScheduleToCloseTimeout: 2 * time.Second, RetryPolicy: &sdk.RetryPolicy{MaximumAttempts: 2},
		})
		request := commitRequest{Graph: t.in.Graph, Step: j.Step}
		if err := workflow.ExecuteLocalActivity(local, forgetActivity, request).Get(ctx, nil); err != nil {
			workflow.GetLogger(ctx).Warn("weft: the options of the run stay until the next one", "error", err)
		}
	}
	e.Run = t.now.Step.Run
	if t.stop.Superseded && e.Failure != nil {
		e.Failure.supersede()
	}
	if e.Steps == 0 {
		e.Steps = t.now.Steps + t.driven
	}
	t.last, t.ends[e.Run], t.now, t.plan, t.driven, t.stop = e, e, nil, nil, 0, stopReply{}
}

// waitForEdits lets the edits happen that wait for the end of a step.
func (t *turn) waitForEdits(ctx workflow.Context) {
	t.barrier = true
	_ = workflow.Await(ctx, func() bool { return t.edits == 0 })
	t.barrier = false
	if t.stop.Kind == stopEdit {
		t.stop = stopReply{}
	}
	if t.plan != nil || t.now.Planned { // an edit has taken over the lease
		t.nextStretch()
	}
}

// status returns the reply to StatusQuery.
func (t *turn) status() TurnStatus {
	s := TurnStatus{Graph: t.in.Graph, Thread: t.in.Thread, Status: graph.Pending}
	switch {
	case t.now != nil:
		s.Run, s.Steps = t.now.Step.Run, t.now.Steps
	case t.last != nil:
		s.Run, s.Steps, s.Status, s.Questions = t.last.Run, t.last.Steps, t.last.Status, t.last.Questions
	}
	return s
}

// The search attributes of a turn. A server must have them before a client sets
// ClientConfig.SearchAttributes.
var (
	GraphAttribute       = sdk.NewSearchAttributeKeyKeyword("WeftGraph")
	StatusAttribute      = sdk.NewSearchAttributeKeyKeyword("WeftStatus")
	InterruptedAttribute = sdk.NewSearchAttributeKeyBool("WeftInterrupted")
	OwnerAttribute       = sdk.NewSearchAttributeKeyKeyword("WeftOwner")
)

// index sets the search attributes.
func (t *turn) index(ctx workflow.Context) {
	if !t.in.Search {
		return
	}
	s := t.status()
	err := workflow.UpsertTypedSearchAttributes(ctx, GraphAttribute.ValueSet(t.in.Graph), StatusAttribute.ValueSet(string(s.Status)),
		InterruptedAttribute.ValueSet(s.Status == graph.Interrupted), OwnerAttribute.ValueSet(t.in.By))
	if err != nil {
		workflow.GetLogger(ctx).Warn("weft: the search attributes cannot be set", "error", err)
	}
}

// activity returns the context of an activity with an explicit id: a replay compares it, and not
// the arguments. longest bounds all of an attempt; 0 is the bound of the turn.
func (t *turn) activity(ctx workflow.Context, id string, longest time.Duration) workflow.Context {
	if longest <= 0 {
		longest = t.in.Longest
	}
	return withActivity(ctx, id, longest, t.in.Heartbeat)
}

// withActivity returns the context of an activity.
func withActivity(ctx workflow.Context, id string, longest, heartbeat time.Duration) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID: id, StartToCloseTimeout: longest, HeartbeatTimeout: heartbeat, WaitForCancellation: true,
		RetryPolicy: &sdk.RetryPolicy{InitialInterval: 100 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 5 * time.Second},
	})
}

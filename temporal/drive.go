package temporal

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/weftrun/weft/graph"
)

// mostTasks limits the activities of a step in flight. A server accepts fewer than 2,000.
const mostTasks = 200

// segment runs the thread in one activity, up to the next question, limit or end, or to a step that
// must run task by task.
func (t *turn) segment(ctx workflow.Context) (*end, error) {
	j := t.now
	j.Attempt++
	var res segmentResult
	held, halt := workflow.WithCancel(t.activity(ctx, fmt.Sprintf("segment/%s/%d", j.Step.Run, j.Attempt), 0))
	t.halt = halt
	err := workflow.ExecuteActivity(held, segmentActivity, segmentRequest{t.in.Graph, *j}).Get(ctx, &res)
	t.halt = nil
	switch {
	case sdk.IsCanceledError(err):
		return nil, nil // cancelled before a worker started it; turn.work handles the stop
	case t.isStopped(err) && workflow.GetVersion(ctx, stopSegments, workflow.DefaultVersion, 1) == 1:
		return nil, nil // turn.work handles the stop
	case err != nil:
		return nil, err
	}
	j.Steps += res.Steps
	if res.End != nil {
		if res.End.Steps = j.Steps; t.stop.Kind == stopCancel && res.End.Status == graph.Failed {
			res.End.Failure = t.cancelled().Failure
		}
		return res.End, nil
	}
	if res.Plan != nil {
		t.setPlan(res.Plan)
		j.Planned = true
		j.Driven++
	}
	return nil, nil
}

// stopSegments is the change ID of this change: a segment that was asked to stop and failed does
// not end the run.
const stopSegments = "stop a segment that fails"

// isStopped reports whether an activity failed with a retryable error after the run was asked to
// stop.
func (t *turn) isStopped(err error) bool {
	var app *sdk.ApplicationError
	return err != nil && t.stop.Kind != "" && !(errors.As(err, &app) && app.NonRetryable())
}

// drive runs one step, task by task, and commits it.
func (t *turn) drive(ctx workflow.Context) (*end, error) {
	j := t.now
	if t.plan == nil {
		p, err := t.planStep(ctx)
		if err != nil || p == nil {
			return nil, err
		}
		t.setPlan(p)
	}
	p := t.plan
	if p.isFenced() && workflow.GetVersion(ctx, planFenced, workflow.DefaultVersion, 1) == 1 {
		t.nextStretch()
		return nil, nil
	}
	if p.End != nil {
		p.End.Steps = j.Steps + max(p.Steps, t.driven)
		return t.release(ctx, p.End), nil
	}
	if t.in.Mode != Nodes && !p.needsDriving() { // the next segment takes over the lease
		j.Steps, j.Planned = j.Steps+p.Steps, false
		t.plan, t.driven = nil, 0
		return nil, nil
	}
	ended, done := t.runTasks(ctx, p)
	switch {
	case t.stop.Kind == stopCancel:
		return nil, nil // turn.work ends the run
	case ended != nil:
		ended.Steps = j.Steps + p.Steps
		return t.release(ctx, ended), nil
	case !done:
		t.plan = nil
		return nil, nil
	}
	next, err := t.commit(ctx, p)
	if err != nil {
		return nil, err
	}
	t.setPlan(next)
	return nil, nil
}

// setPlan sets the current plan, and updates the number of driven steps. nil removes the plan.
func (t *turn) setPlan(p *plan) {
	switch t.plan = p; {
	case p == nil:
	case p.End == nil:
		t.driven = p.Steps
	default: // a stop may still end the run before
		t.driven = max(t.driven, p.Done)
	}
}

// planFenced is the change ID of this change: a run that has lost its lease is planned again.
const planFenced = "plan again without the lease"

// isFenced reports whether a plan only reports that the run has lost its lease: the lease expired
// while a task waited for a worker, or an activity whose reply was lost has taken it. The next
// stretch gets a new lease when the thread is free.
func (p *plan) isFenced() bool {
	return p.End != nil && p.End.Failure != nil && p.End.Failure.Node == nil && slices.Contains(p.End.Failure.Codes, "fenced")
}

// nextStretch starts another stretch of the run, without the current plan and lease. A stretch is a
// sequence of driven steps, which the core sees as one run.
func (t *turn) nextStretch() {
	t.now.Steps += t.driven
	t.now.Driven++
	t.plan, t.driven = nil, 0
}

// needsDriving reports whether a task of the step has a task queue of its own, or is a child
// workflow, even if that task has ended. A segment stops before such a step.
func (p *plan) needsDriving() bool {
	if p.Elsewhere {
		return true
	}
	for _, g := range p.Tasks {
		if g.Queue != "" || g.Child {
			return true
		}
	}
	return false
}

// driven returns the step of a run as the core knows it. There, a stretch that follows a segment,
// an edit or another stretch is a run with an id of its own. MaxSteps is the number of steps left.
func (j *job) driven() stepRef {
	s := j.Step
	if s.MaxSteps > 0 {
		s.MaxSteps = max(1, s.MaxSteps-j.Steps)
	}
	if j.Driven > 0 {
		s.Run = j.Step.Run + "." + strconv.FormatInt(int64(j.Driven), 36) // base 36, since the id of a run has at most 40 bytes
	}
	return s
}

// stopPlans is the change ID of this change: a stop cancels a plan, since it may be that no worker
// has the graph.
const stopPlans = "stop a plan"

// planStep plans the step that is due. It returns nil if the run was stopped meanwhile.
func (t *turn) planStep(ctx workflow.Context) (*plan, error) {
	var p plan
	j := t.now
	j.Planned = true
	j.Attempt++
	id := fmt.Sprintf("plan/%s/%d", j.Step.Run, j.Attempt)
	held, halt := workflow.WithCancel(t.activity(ctx, id, 0))
	halted := false
	t.halt = func() {
		if workflow.GetVersion(ctx, stopPlans, workflow.DefaultVersion, 1) == 1 {
			halted = true
			halt()
		}
	}
	err := workflow.ExecuteActivity(held, planActivity, planRequest{Graph: t.in.Graph, Step: j.driven(), Turn: j.Turn}).Get(ctx, &p)
	t.halt = nil
	if halted && (err != nil || p.End != nil && p.End.Status == graph.Failed) {
		return nil, nil // turn.work handles the stop
	}
	return &p, err
}

// runTasks runs the due tasks of a step. done is false if the run was cancelled, the step is no
// longer due, an activity failed, or a task cannot be run. Only the last of these sets ended.
func (t *turn) runTasks(ctx workflow.Context, p *plan) (ended *end, done bool) {
	held, abort := workflow.WithCancel(ctx)
	defer abort()
	t.abort = abort
	defer func() { t.abort = nil }()
	if t.stop.Kind == stopCancel {
		abort()
	}
	selector, inFlight, stale, failed := workflow.NewSelector(ctx), 0, false, false
	running := make([]int, len(p.Tasks)) // number of tasks of each node in flight
	started := make([]int, len(p.Tasks))
	start := func() bool {
		for g, group := range p.Tasks {
			if started[g] == len(group.IDs) || group.Parallel > 0 && running[g] == group.Parallel {
				continue
			}
			id := group.IDs[started[g]]
			started[g]++
			running[g]++
			inFlight++
			selector.AddFuture(t.task(held, p, group, id), func(f workflow.Future) {
				running[g]--
				inFlight--
				var res taskResult // a new one: decoding leaves the fields that are absent
				err := f.Get(ctx, &res)
				if res.Failure != nil && ended == nil {
					ended = &end{Status: graph.Failed, Checkpoint: p.Step.Checkpoint, Failure: res.Failure}
				}
				if stale = stale || res.Stale || err != nil && !failed; err != nil || res.End == graph.TaskFailed || res.Failure != nil {
					failed = true
					abort() // the others
				}
				stale = stale && t.stop.Kind != stopCancel
			})
			return true
		}
		return false
	}
	for {
		for inFlight < mostTasks && held.Err() == nil && start() {
		}
		if inFlight == 0 {
			break
		}
		selector.Select(ctx)
	}
	return ended, ended == nil && t.stop.Kind != stopCancel && !stale
}

// task starts a task of a step: as an activity, or in a workflow of its own.
func (t *turn) task(ctx workflow.Context, p *plan, group tasks, id string) workflow.Future {
	name := taskActivityID(p.Number, id, t.now.Driven+t.now.Attempt)
	if group.Child {
		return t.child(ctx, childInput{Task: name, Node: group.Node, Queue: group.Queue, Longest: group.Longest,
			Do: taskRequest{Graph: t.in.Graph, Thread: t.in.Thread, Step: p.Step}})
	}
	ctx = t.activity(ctx, name, group.Longest)
	if group.Queue != "" {
		ctx = workflow.WithTaskQueue(ctx, group.Queue)
	}
	return workflow.ExecuteActivity(ctx, taskActivity, taskRequest{Graph: shortGraph(t.in.Graph, t.in.Thread), Step: p.Step})
}

// commit commits a step, and returns the plan of the next one. It is a local activity unless
// commits are slow.
func (t *turn) commit(ctx workflow.Context, p *plan) (*plan, error) {
	request := commitRequest{Graph: t.in.Graph, Step: p.Step}
	var next plan
	err := t.quick(ctx, fmt.Sprintf("%d/commit/%d", p.Number, t.now.Driven+t.now.Attempt), p.Slow, commitActivity, request, &next)
	var app *sdk.ApplicationError
	if errors.As(err, &app) && app.Type() == typeStale {
		return t.planStep(ctx)
	}
	return &next, err
}

// quick runs an activity that takes milliseconds. It is a local activity, or an ordinary one if
// slow is true, or the local one fails with a retryable error or finds no such graph on its worker.
func (t *turn) quick(ctx workflow.Context, id string, slow bool, name string, request, result any) error {
	if !slow {
		local := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
			StartToCloseTimeout: 2 * time.Second, ScheduleToCloseTimeout: 5 * time.Second,
			RetryPolicy: &sdk.RetryPolicy{InitialInterval: 20 * time.Millisecond, BackoffCoefficient: 2, MaximumAttempts: 2},
		})
		err := workflow.ExecuteLocalActivity(local, name, request).Get(ctx, result)
		var app *sdk.ApplicationError
		if err == nil || errors.As(err, &app) && app.NonRetryable() && app.Type() != typeNotDeployed {
			return err
		}
	}
	return workflow.ExecuteActivity(t.activity(ctx, id, 0), name, request).Get(ctx, result)
}

// release releases the lease of the run, and returns e.
func (t *turn) release(ctx workflow.Context, e *end) *end {
	j := t.now
	request := commitRequest{Graph: t.in.Graph, Step: j.driven(), End: true}
	if t.plan != nil {
		request.Step = t.plan.Step
	}
	id := fmt.Sprintf("release/%s/%d", j.Step.Run, j.Attempt)
	if err := t.quick(ctx, id, false, releaseActivity, request, nil); err != nil {
		workflow.GetLogger(ctx).Warn("weft: the lease of the thread is not released; it will expire", "error", err)
	}
	return e
}

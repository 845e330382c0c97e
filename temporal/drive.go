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

// mostTasks is how many activities of a step are in flight: a server refuses 2,000.
const mostTasks = 200

// segment runs the thread up to the next question, limit or end, or to a step that is to be driven.
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
		return nil, nil // before a worker had it; work does what it was cancelled for
	case t.isStopped(err) && workflow.GetVersion(ctx, stopSegments, workflow.DefaultVersion, 1) == 1:
		return nil, nil // the same
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

// stopSegments is the change by which a segment that is asked to stop and fails does not end the
// run.
const stopSegments = "stop a segment that fails"

// isStopped reports whether an activity failed with an error after which Temporal tries again, but
// did not since the run was asked to stop.
func (t *turn) isStopped(err error) bool {
	var app *sdk.ApplicationError
	return err != nil && t.stop.Kind != "" && !(errors.As(err, &app) && app.NonRetryable())
}

// drive runs one step, task by task, and commits it.
func (t *turn) drive(ctx workflow.Context) (*end, error) {
	j := t.now
	if t.plan == nil {
		p, err := t.planned(ctx)
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
	if t.in.Mode != Nodes && !p.isElsewhere() { // the segment that goes on takes over the lease
		j.Steps, j.Planned = j.Steps+p.Steps, false
		t.plan, t.driven = nil, 0
		return nil, nil
	}
	ended, done := t.runTasks(ctx, p)
	switch {
	case t.stop.Kind == stopCancel:
		return nil, nil // work ends the run
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

// setPlan takes a plan, nil if there is none.
func (t *turn) setPlan(p *plan) {
	switch t.plan = p; {
	case p == nil:
	case p.End == nil:
		t.driven = p.Steps
	default: // the run may be stopped before it ends so
		t.driven = max(t.driven, p.Done)
	}
}

// planFenced is the change by which a run that has lost its lease is planned again.
const planFenced = "plan again without the lease"

// isFenced reports whether a plan is only that the run has lost its lease. It ran out while a task
// waited for a worker, or an activity took it over whose reply was lost. Another stretch gets a
// lease of its own when the thread is free.
func (p *plan) isFenced() bool {
	return p.End != nil && p.End.Failure != nil && p.End.Failure.Node == nil && slices.Contains(p.End.Failure.Codes, "fenced")
}

// nextStretch lets the run go on as another stretch, without its plan and its lease.
func (t *turn) nextStretch() {
	t.now.Steps += t.driven
	t.now.Driven++
	t.plan, t.driven = nil, 0
}

// isElsewhere reports whether a task of the step names its queue, or is a child. A segment stops
// before such a step, also if that task has ended.
func (p *plan) isElsewhere() bool {
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

// driven returns the step of a run with the id that it has for the driver of the core: a stretch
// that is driven after segments or an edit is a run of its own there, with what is left of the
// steps.
func (j *job) driven() stepRef {
	s := j.Step
	if s.MaxSteps > 0 {
		s.MaxSteps = max(1, s.MaxSteps-j.Steps)
	}
	if j.Driven > 0 {
		s.Run = j.Step.Run + "." + strconv.FormatInt(int64(j.Driven), 36) // short: a run has 40 bytes at most
	}
	return s
}

// stopPlans is the change by which a stop cancels a plan: no worker may have the graph.
const stopPlans = "stop a plan"

// planned plans the step that is due. It returns no plan if the run was stopped meanwhile.
func (t *turn) planned(ctx workflow.Context) (*plan, error) {
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
		return nil, nil // work does what it was stopped for
	}
	return &p, err
}

// runTasks runs the due tasks of a step. done is false if the step was cancelled, is not due, or
// has a task that cannot be run: then the run has ended.
func (t *turn) runTasks(ctx workflow.Context, p *plan) (ended *end, done bool) {
	held, abort := workflow.WithCancel(ctx)
	defer abort()
	t.abort = abort
	defer func() { t.abort = nil }()
	if t.stop.Kind == stopCancel {
		abort()
	}
	selector, flying, stale, failed := workflow.NewSelector(ctx), 0, false, false
	of := make([]int, len(p.Tasks)) // how many tasks of each node are in flight
	at := make([]int, len(p.Tasks)) // how many were begun
	begin := func() bool {
		for g, group := range p.Tasks {
			if at[g] == len(group.IDs) || group.Parallel > 0 && of[g] == group.Parallel {
				continue
			}
			id := group.IDs[at[g]]
			at[g]++
			of[g]++
			flying++
			selector.AddFuture(t.task(held, p, group, id), func(f workflow.Future) {
				of[g]--
				flying--
				var res taskResult // decoding adds to what a value has, so each is a new one
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
		for flying < mostTasks && held.Err() == nil && begin() {
		}
		if flying == 0 {
			break
		}
		selector.Select(ctx)
	}
	return ended, ended == nil && t.stop.Kind != stopCancel && !stale
}

// task begins a task of a step: as an activity, or in a workflow of its own.
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

// commit commits a step, and returns the next one. It is a local activity unless commits are slow.
func (t *turn) commit(ctx workflow.Context, p *plan) (*plan, error) {
	request := commitRequest{Graph: t.in.Graph, Step: p.Step}
	var next plan
	err := t.quick(ctx, fmt.Sprintf("%d/commit/%d", p.Number, t.now.Driven+t.now.Attempt), p.Slow, commitActivity, request, &next)
	var app *sdk.ApplicationError
	if errors.As(err, &app) && app.Type() == typeStale {
		return t.planned(ctx)
	}
	return &next, err
}

// quick runs an activity that takes milliseconds: as a local one, or as an ordinary one where that
// fails, or slow is true.
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

// release releases the lease of a run that was driven, and returns its end.
func (t *turn) release(ctx workflow.Context, e *end) *end {
	j := t.now
	request := commitRequest{Graph: t.in.Graph, Step: j.driven(), End: true}
	if t.plan != nil {
		request.Step = t.plan.Step
	}
	id := fmt.Sprintf("release/%s/%d", j.Step.Run, j.Attempt)
	if err := t.quick(ctx, id, false, releaseActivity, request, nil); err != nil {
		workflow.GetLogger(ctx).Warn("weft: the lease of the thread runs out by itself", "error", err)
	}
	return e
}

package temporal

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/temporal"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
)

// The types of errors with which activities end. Temporal tries again unless they are final.
const (
	typeNotDeployed = "not deployed"
	typeBusy        = "busy"    // another owner has the thread, or the store is not available
	typeStale       = "stale"   // final: the step is not due, so plan again
	typeOptions     = "options" // final: the options of the run cannot be had
)

// activities are the functions of a worker.
type activities struct {
	cfg    WorkerConfig
	graphs map[string][]graph.Untyped // by name
	cache  optionsCache
	stopOf func(ctx context.Context, workflow, run string) (stopReply, error)
}

// slow is how long a commit takes that is not made as a local activity.
const slow = 500 * time.Millisecond

// graph returns the graph for a program. A graph with another program is taken when the others
// have had their time.
func (a *activities) graph(ctx context.Context, name, program string) (graph.Untyped, error) {
	all := a.graphs[name]
	for _, g := range all {
		if g.Program() == program || program == "" {
			return g, nil
		}
	}
	info := activity.GetInfo(ctx)
	waited := time.Since(info.ScheduledTime)
	if len(all) > 0 && !info.IsLocalActivity && waited >= a.cfg.TakeOver {
		return all[len(all)-1], nil
	}
	return nil, a.notDeployed(ctx, fmt.Errorf("graph %q has no program %s on this worker", name, program))
}

// notDeployed returns an ErrNotDeployed that is tried again, soon at first. A local activity is
// final: an ordinary one follows, which other workers may take.
func (a *activities) notDeployed(ctx context.Context, cause error) error {
	info := activity.GetInfo(ctx)
	if info.IsLocalActivity {
		return sdk.NewNonRetryableApplicationError(ErrNotDeployed.Error()+": "+cut(cause.Error()), typeNotDeployed, nil)
	}
	return sdk.NewApplicationErrorWithOptions(ErrNotDeployed.Error()+": "+cut(cause.Error()), typeNotDeployed,
		sdk.ApplicationErrorOptions{NextRetryDelay: min(time.Second*time.Duration(info.Attempt), 10*time.Second)})
}

// again returns the error with which Temporal tries the activity again, if err is one that passes;
// else nil.
func (a *activities) again(ctx context.Context, err error) error {
	var busy *checkpoint.BusyError
	var node *graph.NodeError
	switch {
	case err != nil && isOfWorker(context.Cause(ctx)):
		return sdk.NewApplicationError("the worker has ended", typeBusy)
	case graph.StoreWasAway(err): // also where a node was stopped for it
		return sdk.NewApplicationError(cut(err.Error()), typeBusy)
	case errors.As(err, &node) && !node.Cancelled && !graph.IsStoreFailure(err) && !errors.Is(err, graph.ErrProgram):
		return nil // the node may have worked on another thread, which is busy
	case errors.As(err, &busy):
		return sdk.NewApplicationErrorWithOptions(cut(err.Error()), typeBusy,
			sdk.ApplicationErrorOptions{NextRetryDelay: min(max(busy.Remaining, 20*time.Millisecond), time.Second)})
	case errors.Is(err, checkpoint.ErrLeaseLost):
		return sdk.NewApplicationError(cut(err.Error()), typeBusy)
	case node != nil && !errors.Is(err, graph.ErrProgram):
		return nil
	case errors.Is(err, graph.ErrProgram):
		return a.notDeployed(ctx, err)
	case errors.Is(err, checkpoint.ErrClosed), errors.Is(err, checkpoint.ErrConflict) && !errors.Is(err, graph.ErrStale):
		return sdk.NewApplicationError(cut(err.Error()), typeBusy)
	}
	return nil
}

// ownerOf is the owner of the leases of a run. The worker that goes on with the run takes the
// thread over from it, and from no other.
func ownerOf(run string) string { return "weft.Turn " + run }

// hold calls do with the lease that a run is to acquire. If the run has the thread already, through
// a worker before, do is called again to take it over.
func (a *activities) hold(run string, do func(checkpoint.HoldOptions) error) error {
	o := checkpoint.HoldOptions{TTL: a.cfg.LeaseTTL, Owner: ownerOf(run)}
	err := do(o)
	var busy *checkpoint.BusyError
	if errors.As(err, &busy) && ownsLease(busy.Owner, run) {
		o.Policy = checkpoint.TakeOver
		err = do(o)
	}
	return err
}

// ownsLease reports whether an owner is that of a run: its name alone, with a part of a driven
// stretch, or with the machine and the process.
func ownsLease(owner, run string) bool {
	rest, ok := cutPrefix(owner, ownerOf(run))
	return ok && (rest == "" || rest[0] == ' ' || rest[0] == '.')
}

func cutPrefix(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || s[:len(prefix)] != prefix {
		return "", false
	}
	return s[len(prefix):], true
}

// endOf returns how a run ended.
func endOf[S any](res graph.Result[S], err error) *end {
	e := &end{Status: res.Status, Checkpoint: res.Checkpoint, Steps: res.Steps, Starved: res.Starved, Drained: res.Drained}
	if err != nil {
		e.Status, e.Failure = graph.Failed, failureOf(err)
	}
	e.Questions = questionsOf(res.Interrupts)
	for _, in := range res.Interrupts {
		if !in.IsQuestion() {
			e.Pauses = append(e.Pauses, pause{in.Kind, in.Namespace, in.Node, in.Task})
		}
	}
	return e
}

// questionsOf returns the first open questions as a workflow knows them.
func questionsOf(open []graph.Interrupt) (all []question) {
	for _, in := range open {
		if !in.IsQuestion() || len(all) == mostQuestions {
			continue
		}
		var schema struct {
			Type any `json:"type"`
		}
		q := question{ID: in.ID}
		if in.Action == nil && json.Unmarshal(in.Schema, &schema) == nil {
			q.Type, _ = schema.Type.(string)
		}
		all = append(all, q)
	}
	return all
}

// planOf returns a plan as it travels, for the run of a step. err is the error beside it.
func (a *activities) planOf(ctx context.Context, of stepRef, p graph.Plan, err error) (*plan, error) {
	switch again := a.again(ctx, err); {
	case err == nil:
	case again != nil:
		return nil, again
	case errors.Is(err, graph.ErrStale), errors.Is(err, graph.ErrUnfinished), errors.Is(err, graph.ErrUnknownTask):
		return nil, sdk.NewNonRetryableApplicationError(cut(err.Error()), typeStale, nil)
	}
	out := &plan{Step: refOf(p.ID), Turn: p.Turn, Number: p.Step, Steps: p.Steps}
	out.Step.Options = of.Options
	if p.Status != graph.Pending || err != nil {
		committed := p.Step - p.ID.First
		if len(p.Tasks) > 0 { // of a step that is not
			committed--
		}
		out.Done = max(0, min(committed, p.Steps))
		out.End = endOf(graph.Result[struct{}]{Status: p.Status, Checkpoint: p.ID.Checkpoint, Steps: p.Steps, Starved: p.Starved, Interrupts: p.Interrupts}, err)
		return out, nil
	}
	out.Elsewhere = slices.ContainsFunc(p.Tasks, func(t graph.PlannedTask) bool { return t.TaskQueue != "" || t.Child })
	for _, t := range p.Due() {
		n := slices.IndexFunc(out.Tasks, func(g tasks) bool { return g.Node == t.Node })
		if n < 0 {
			g := tasks{Node: t.Node, Queue: t.TaskQueue, Child: t.Child, Parallel: t.Parallel}
			if t.Timeout > 0 { // the core keeps to it; this bounds what goes wrong around it
				g.Longest = time.Duration(max(1, t.Attempts))*(t.Timeout+2*time.Minute) + a.cfg.Grace
			}
			out.Tasks, n = append(out.Tasks, g), len(out.Tasks)
		}
		out.Tasks[n].IDs = append(out.Tasks[n].IDs, t.ID)
	}
	return out, nil
}

// plan plans the step that is due. With answers it stores them.
func (a *activities) plan(ctx context.Context, q planRequest) (*plan, error) {
	thread := threadOf(activity.GetInfo(ctx).WorkflowExecution.ID, q.Graph)
	g, err := a.graph(ctx, q.Graph, q.Step.Program)
	if err != nil {
		return nil, err
	}
	b := a.watch(ctx, thread, rootRun(q.Step.Run), 1)
	defer b.close(false)
	if q.Turn == 0 || q.Step.Drains {
		return a.planStep(b.ctx, g, thread, q, b, nil)
	}
	_, ended, err := a.inspect(b.ctx, thread, q.Step, q.Turn)
	switch again := a.again(b.ctx, err); {
	case again != nil:
		return nil, again
	case ended != nil:
		return &plan{Step: q.Step, End: ended}, nil
	}
	p, err := a.planStep(b.ctx, g, thread, q, b, nil)
	if err == nil && p.Turn > q.Turn { // it was begun meanwhile
		return nil, sdk.NewApplicationError("another run has begun a turn", typeBusy)
	}
	return p, err
}

// planStep plans a step in the lease of its run. at, if it is not nil, is the commit that the
// thread must be at.
func (a *activities) planStep(ctx context.Context, g graph.Untyped, thread string, q planRequest, b *beat, at *uint64) (*plan, error) {
	options, err := a.options(ctx, thread, q.Step)
	if err != nil {
		return nil, err
	}
	request := graph.PlanRequest{Thread: thread, Run: q.Step.Run, MaxSteps: q.Step.MaxSteps, If: at, By: q.By, Options: options, Events: b.events(), Reader: eventlog.Reader()}
	if q.Answers != nil {
		request.Answers = *q.Answers
	} else {
		request.Events = afterRestore(request.Events)
	}
	var p graph.Plan
	err = a.hold(rootRun(q.Step.Run), func(o checkpoint.HoldOptions) (err error) {
		request.Lease = o
		p, err = g.Plan(ctx, request)
		return err
	})
	out, retry := a.planOf(ctx, q.Step, p, err)
	if q.Answers != nil && out != nil && out.End != nil {
		_ = g.Release(ctx, p.ID) // no workflow has it
	}
	return out, retry
}

// rootRun returns the run of a stretch that is driven.
func rootRun(run string) string {
	root, _, _ := strings.Cut(run, ".")
	return root
}

// task runs a task.
func (a *activities) task(ctx context.Context, q taskRequest) (*taskResult, error) {
	info := activity.GetInfo(ctx)
	if q.Graph == "" {
		q.Graph, _, _ = strings.Cut(info.WorkflowExecution.ID, "/")
	}
	thread := cmp.Or(q.Thread, threadOf(info.WorkflowExecution.ID, q.Graph))
	g, err := a.graph(ctx, q.Graph, q.Step.Program)
	if err != nil {
		return nil, err
	}
	b := a.watch(ctx, thread, rootRun(q.Step.Run), int(info.Attempt))
	defer b.close(false)
	options, err := a.options(ctx, thread, q.Step)
	if err != nil {
		return nil, err
	}
	res, err := g.RunTask(graph.WithGrace(b.ctx, a.cfg.Grace), graph.TaskRequest{Step: q.Step.step(thread), Task: taskOf(info.ActivityID),
		Options: options, Events: b.events(), Reader: eventlog.Reader()})
	switch again := a.again(ctx, err); {
	case err == nil:
		return &taskResult{End: res.End}, nil
	case ctx.Err() != nil && !isOfWorker(context.Cause(ctx)):
		return nil, ctx.Err()
	case again != nil:
		return nil, again
	case errors.Is(err, graph.ErrStale), errors.Is(err, graph.ErrUnknownTask), errors.Is(err, checkpoint.ErrFenced):
		return &taskResult{Stale: true}, nil
	}
	return &taskResult{Failure: failureOf(err)}, nil
}

// commit commits a step and returns the next plan.
func (a *activities) commit(ctx context.Context, q commitRequest) (*plan, error) {
	thread := threadOf(activity.GetInfo(ctx).WorkflowExecution.ID, q.Graph)
	g, err := a.graph(ctx, q.Graph, q.Step.Program)
	if err != nil {
		return nil, err
	}
	b := a.watch(ctx, thread, rootRun(q.Step.Run), 1)
	defer b.close(false)
	options, err := a.options(ctx, thread, q.Step)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	p, err := g.Commit(b.ctx, graph.CommitRequest{Step: q.Step.step(thread), Options: options, Events: b.events(), Reader: eventlog.Reader()})
	out, err := a.planOf(ctx, q.Step, p, err)
	if err == nil {
		out.Slow = time.Since(began) > slow
	}
	return out, err
}

// release releases the lease of a run that has ended. It does not need the graph: a run that is
// stopped because no worker has its graph leaves the thread too.
func (a *activities) release(ctx context.Context, q commitRequest) error {
	thread := threadOf(activity.GetInfo(ctx).WorkflowExecution.ID, q.Graph)
	b := a.watch(ctx, thread, "", 1)
	defer b.close(false)
	if leaser, ok := a.cfg.Store.(checkpoint.Leaser); ok {
		id := q.Step.step(thread)
		if err := leaser.Release(ctx, thread, cmp.Or(id.Fence, graph.LeaseID(thread, id.Run))); err != nil {
			return fmt.Errorf("release the lease of thread %q: %w", thread, err)
		}
	}
	if a.cfg.Bus != nil && q.End {
		a.report(thread, eventlog.Log{Bus: a.cfg.Bus}.Publish(ctx, thread, eventlog.Batch{Run: rootRun(q.Step.Run), End: true}))
	}
	return nil
}

// edit writes fields of a thread.
func (a *activities) edit(ctx context.Context, q editRequest) (*editResult, error) {
	info := activity.GetInfo(ctx)
	thread := threadOf(info.WorkflowExecution.ID, q.Graph)
	g, err := a.graph(ctx, q.Graph, "")
	if err != nil {
		return nil, err
	}
	b := a.watch(ctx, thread, "", 1)
	defer b.close(false)
	res, err := a.patch(b.ctx, g, thread, info, q)
	if again := a.again(ctx, err); again != nil {
		return nil, again
	}
	if err != nil {
		return &editResult{Failure: failureOf(err)}, nil
	}
	return &editResult{Checkpoint: res.Checkpoint}, nil
}

// editID returns the id of the commit's run of an edit: the same each time the activity is tried.
func editID(info activity.Info) string {
	sum := sha256.Sum256([]byte(info.WorkflowExecution.RunID + "/" + info.ActivityID))
	return fmt.Sprintf("edit-%x", sum[:16])
}

// patch makes an edit unless an attempt before has made it, whose reply was lost.
func (a *activities) patch(ctx context.Context, g graph.Untyped, thread string, info activity.Info, q editRequest) (res graph.Result[json.RawMessage], err error) {
	key, id := checkpoint.Key{Thread: thread}, editID(info)
	for mayBeMade := info.Attempt > 1; ; mayBeMade = true {
		at, err := graph.Inspect(ctx, a.cfg.Store, key)
		if err != nil {
			return res, err
		}
		if mayBeMade {
			for made, err := range graph.History(ctx, a.cfg.Store, key, checkpoint.Query{Where: map[string]string{"run": id}, Limit: 1}) {
				return graph.Result[json.RawMessage]{Checkpoint: made.Checkpoint}, err
			}
		}
		err = a.hold(q.Run, func(o checkpoint.HoldOptions) (err error) {
			res, err = g.Patch(ctx, q.Fields, graph.RunOptions{ID: id, Thread: thread, By: q.By, Lease: o, If: &at.Checkpoint})
			return err
		})
		if !errors.Is(err, graph.ErrMoved) { // perhaps by such an attempt, which was slow
			return res, err
		}
	}
}

// report logs an error of the bus.
func (a *activities) report(thread string, err error) {
	if err != nil {
		a.cfg.Logger.Warn("weft: events are lost", "thread", thread, "error", err)
	}
}

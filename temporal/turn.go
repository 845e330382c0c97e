package temporal

import (
	"bytes"
	"encoding/json"
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
	in   turnInput
	jobs []job           // that have not begun
	now  *job            // under way; nil if there is none
	plan *plan           // of now, while it is driven
	last *end            // of the newest run that has ended
	ends map[string]*end // by run, those of this history

	stop    stopReply           // what the run under way is asked for
	halt    workflow.CancelFunc // cancels its segment; nil outside of one
	abort   workflow.CancelFunc // cancels its tasks; nil while none run
	edits   int                 // edits that wait or are made
	barrier bool                // the run waits for them
	moving  bool                // the turn goes on as a new workflow, or ends
	steps   int                 // of this history
	updates int                 // of this history
}

// turnWorkflow is the workflow TurnWorkflow.
func turnWorkflow(ctx workflow.Context, in turnInput) (*end, error) {
	t := &turn{in: in, jobs: in.Next, now: in.Now, last: in.Last, ends: map[string]*end{}}
	if t.last != nil {
		t.ends[t.last.Run] = t.last
	}
	if err := t.serve(ctx); err != nil {
		return nil, err
	}
	work, _ := workflow.NewDisconnectedContext(ctx) // a run that is cancelled still has to end
	for t.next(ctx) {
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

// next makes the next job the one under way. It returns false when none has come in time.
func (t *turn) next(ctx workflow.Context) bool {
	if t.now != nil {
		return true
	}
	came, err := workflow.AwaitWithTimeout(ctx, t.in.Wait, func() bool { return len(t.jobs) > 0 && t.edits == 0 })
	if err != nil || !came {
		return false
	}
	t.now, t.jobs, t.stop, t.plan = &t.jobs[0], slices.Clone(t.jobs[1:]), stopReply{}, nil
	return true
}

// again returns the error with which the turn goes on as a new workflow.
func (t *turn) again(ctx workflow.Context) error {
	t.moving = true
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return err
	}
	in := t.in
	in.Now, in.Last, in.Next = t.now, t.last, t.jobs
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
			t.finish(t.release(ctx, &end{Status: graph.Pending, Drained: t.stop.Reason, Checkpoint: t.now.Step.Checkpoint}))
			return false
		case t.stop.Kind == stopCancel:
			t.finish(t.release(ctx, t.cancelled()))
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
			t.finish(e)
			return false
		}
	}
}

// reason returns the error of an activity without what Temporal has put around it.
func reason(err error) error {
	var app *sdk.ApplicationError
	if errors.As(err, &app) {
		return errors.New(app.Message())
	}
	return err
}

// cancelled is the end of a run that was cancelled.
func (t *turn) cancelled() *end {
	text := t.stop.Reason
	if text == "" {
		text = "context canceled"
	}
	return &end{Status: graph.Failed, Checkpoint: t.now.Step.Checkpoint,
		Failure: &failure{Message: fmt.Sprintf("graph %q: thread %q: the run was cancelled: %s", t.in.Graph, t.in.Thread, cut(text)), Codes: []string{"cancelled"}}}
}

// finish notes how the run under way has ended.
func (t *turn) finish(e *end) {
	e.Run = t.now.Step.Run
	if e.Steps == 0 {
		e.Steps = t.now.Steps
	}
	t.last, t.ends[e.Run], t.now, t.plan, t.stop = e, e, nil, nil, stopReply{}
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
		t.plan = nil
		t.now.Driven++
	}
}

// serve sets the handlers of updates, signals and queries.
func (t *turn) serve(ctx workflow.Context) error {
	status := func() (TurnStatus, error) { return t.status(), nil }
	return errors.Join(
		workflow.SetUpdateHandlerWithOptions(ctx, runUpdate, t.onRun, workflow.UpdateHandlerOptions{Description: "Run what a client has planned."}),
		workflow.SetUpdateHandlerWithOptions(ctx, awaitUpdate, t.onAwait, workflow.UpdateHandlerOptions{
			Validator: t.checkAwait, Description: "Wait for the end of a run."}),
		workflow.SetUpdateHandlerWithOptions(ctx, AnswerUpdate, t.onAnswer, workflow.UpdateHandlerOptions{
			Validator: t.checkAnswer, Description: "Answer an open question."}),
		workflow.SetUpdateHandlerWithOptions(ctx, EditUpdate, t.onEdit, workflow.UpdateHandlerOptions{
			Validator: t.checkEdit, Description: "Write fields of the thread."}),
		workflow.SetQueryHandler(ctx, StatusQuery, status),
		workflow.SetQueryHandler(ctx, stopQuery, func() (stopReply, error) { return t.stop, nil }),
		t.listen(ctx),
	)
}

// listen receives the signals, and the cancellation of the workflow.
func (t *turn) listen(ctx workflow.Context) error {
	signals := func(name string, kind stopKind) {
		workflow.Go(ctx, func(ctx workflow.Context) {
			c := workflow.GetSignalChannel(ctx, name)
			for {
				var q StopRequest
				if !c.Receive(ctx, &q) {
					return
				}
				t.onStop(q, kind)
			}
		})
	}
	signals(DrainSignal, stopDrain)
	signals(CancelSignal, stopCancel)
	workflow.Go(ctx, func(ctx workflow.Context) {
		ctx.Done().Receive(ctx, nil)
		t.onStop(StopRequest{Reason: "the workflow was cancelled"}, stopCancel)
	})
	return nil
}

// onStop asks the run to stop.
func (t *turn) onStop(q StopRequest, kind stopKind) {
	for i, j := range t.jobs {
		if q.Run == j.Step.Run { // it has not begun
			t.jobs = slices.Delete(t.jobs, i, i+1)
			t.ends[q.Run] = &end{Run: q.Run, Status: graph.Pending, Drained: q.Reason}
			return
		}
	}
	if t.now != nil && (q.Run == "" || q.Run == t.now.Step.Run) {
		t.ask(stopReply{kind, cut(q.Reason)})
	}
}

// ask asks the run under way to stop, unless it is asked for more.
func (t *turn) ask(r stopReply) {
	order := []stopKind{"", stopEdit, stopDrain, stopCancel}
	if slices.Index(order, r.Kind) <= slices.Index(order, t.stop.Kind) {
		return
	}
	t.stop = r
	if t.halt != nil {
		t.halt()
	}
	if t.abort != nil && r.Kind == stopCancel {
		t.abort()
	}
}

// onRun takes a job, and waits for its end.
func (t *turn) onRun(ctx workflow.Context, j job) (*end, error) {
	t.updates++
	run := j.Step.Run
	isNew := t.ends[run] == nil && (t.now == nil || t.now.Step.Run != run) && !slices.ContainsFunc(t.jobs, func(o job) bool { return o.Step.Run == run })
	if isNew {
		t.jobs = append(t.jobs, j)
		if t.now != nil { // the job has the thread's lease
			t.ask(stopReply{stopCancel, "another run has taken the thread over"})
		}
	}
	return t.await(ctx, run)
}

func (t *turn) onAwait(ctx workflow.Context, run string) (*end, error) {
	t.updates++
	return t.await(ctx, run)
}

func (t *turn) checkAwait(run string) error {
	if t.ends[run] == nil && (t.now == nil || t.now.Step.Run != run) && !slices.ContainsFunc(t.jobs, func(o job) bool { return o.Step.Run == run }) {
		return fmt.Errorf("run must be one of this turn (got %q)", run)
	}
	return nil
}

// await waits until a run has ended, or the turn moves.
func (t *turn) await(ctx workflow.Context, run string) (*end, error) {
	if err := workflow.Await(ctx, func() bool { return t.moving || t.ends[run] != nil }); err != nil {
		return nil, err
	}
	if e := t.ends[run]; e != nil {
		return e, nil
	}
	return &end{Run: run, Moved: true}, nil
}

// checkAnswer refuses answers to questions that are not open, and of the wrong type.
func (t *turn) checkAnswer(q AnswerRequest) error {
	if t.now != nil || len(t.jobs) > 0 || t.last == nil || t.last.Status != graph.Interrupted {
		return errors.New("the turn must wait for answers")
	}
	open := t.last.Questions
	i := slices.IndexFunc(open, func(o question) bool { return o.ID == q.ID })
	switch {
	case i < 0 && len(open) < mostQuestions:
		return fmt.Errorf("id must be that of an open question (got %.100q)", q.ID)
	case !json.Valid(q.Value):
		return fmt.Errorf("value must be JSON (got %.100q)", q.Value)
	case i >= 0 && !hasType(q.Value, open[i].Type):
		return fmt.Errorf("value must be of type %s (got %.100s)", open[i].Type, q.Value)
	}
	return nil
}

// hasType reports whether a JSON value has a type of JSON Schema.
func hasType(value json.RawMessage, want string) bool {
	value = bytes.TrimSpace(value)
	switch want {
	case "boolean":
		return value[0] == 't' || value[0] == 'f'
	case "string":
		return value[0] == '"'
	case "object":
		return value[0] == '{'
	case "array":
		return value[0] == '['
	case "number", "integer":
		return value[0] == '-' || value[0] >= '0' && value[0] <= '9'
	case "null":
		return value[0] == 'n'
	}
	return true
}

// onAnswer stores an answer, and goes on with the turn.
func (t *turn) onAnswer(ctx workflow.Context, q AnswerRequest) (*end, error) {
	t.updates++
	var run string
	if err := workflow.SideEffect(ctx, func(workflow.Context) any { return newRun() }).Get(&run); err != nil {
		return nil, err
	}
	given := graph.Answer(q.ID, q.Value)
	var p plan
	request := planRequest{Graph: t.in.Graph, Step: stepRef{Run: run}, Answers: &given, By: q.By}
	if err := workflow.ExecuteActivity(t.activity(ctx, "answer/"+run, 0), planActivity, request).Get(ctx, &p); err != nil {
		return nil, err
	}
	if p.End != nil {
		if p.End.Failure != nil {
			return nil, sdk.NewNonRetryableApplicationError(p.End.Failure.Message, "answer", nil)
		}
		p.End.Run = run
		t.last, t.ends[run] = p.End, p.End
		return p.End, nil
	}
	t.jobs = append(t.jobs, job{Step: p.Step, Turn: p.Turn})
	return &end{Run: run, Status: graph.Pending, Moved: true}, nil
}

func (t *turn) checkEdit(q EditRequest) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(q.Fields, &fields); err != nil || len(fields) == 0 {
		return fmt.Errorf("fields must be an object with at least one field (got %.100q)", q.Fields)
	}
	if t.moving {
		return errors.New("the turn must not be ending; send the edit again")
	}
	return nil
}

// onEdit writes fields between two steps.
func (t *turn) onEdit(ctx workflow.Context, q EditRequest) (*editResult, error) {
	t.updates++
	t.edits++
	defer func() { t.edits-- }()
	request := editRequest{Graph: t.in.Graph, Fields: q.Fields, By: q.By}
	if t.now != nil {
		request.Run = t.now.Step.Run
		t.ask(stopReply{Kind: stopEdit})
		if err := workflow.Await(ctx, func() bool { return t.barrier || t.now == nil }); err != nil {
			return nil, err
		}
	}
	var res editResult
	id := fmt.Sprintf("edit/%d", t.updates)
	if err := workflow.ExecuteActivity(t.activity(ctx, id, 0), editActivity, request).Get(ctx, &res); err != nil {
		return nil, err
	}
	if res.Failure != nil {
		return nil, sdk.NewNonRetryableApplicationError(res.Failure.Message, "edit", nil)
	}
	return &res, nil
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
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID: id, StartToCloseTimeout: longest, HeartbeatTimeout: t.in.Heartbeat, WaitForCancellation: true,
		RetryPolicy: &sdk.RetryPolicy{InitialInterval: 100 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 5 * time.Second},
	})
}

package temporal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/weftrun/weft/graph"
)

// serve sets the handlers of updates, signals and queries.
func (t *turn) serve(ctx workflow.Context) error {
	status := func() (TurnStatus, error) { return t.status(), nil }
	return errors.Join(
		workflow.SetUpdateHandlerWithOptions(ctx, runUpdate, t.onRun, workflow.UpdateHandlerOptions{Description: "Run a job that a client has planned."}),
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
		if q.Run == j.Step.Run { // the run still waits
			t.jobs = slices.Delete(t.jobs, i, i+1)
			e := &end{Status: graph.Pending, Drained: q.Reason}
			if kind == stopCancel {
				e = t.cancelledAt(j, q.Reason)
			}
			e.Run, t.ends[q.Run] = q.Run, e
			return
		}
	}
	request := stopReply{Kind: kind, Reason: cut(q.Reason)}
	switch {
	case t.now != nil && (q.Run == "" || q.Run == t.now.Step.Run):
		t.ask(request)
	case q.Run != "" && t.ends[q.Run] == nil && t.early[q.Run].Kind != stopCancel: // the run is not here yet
		t.early[q.Run] = request
	}
}

// ask asks the current run to stop, unless it was asked for as much before, or for more.
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

// onRun adds a job, and waits for the end of its run.
func (t *turn) onRun(ctx workflow.Context, j job) (*end, error) {
	t.updates++
	run := j.Step.Run
	isNew := t.ends[run] == nil && (t.now == nil || t.now.Step.Run != run) && !slices.ContainsFunc(t.jobs, func(o job) bool { return o.Step.Run == run })
	if isNew {
		t.jobs = append(t.jobs, j)
		if t.now != nil { // the client of the new job has taken the lease of the thread
			t.ask(stopReply{Kind: stopCancel, Reason: "another run has taken the thread over", Superseded: true})
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
		return fmt.Errorf("run must be the id of a run of this workflow (got %q)", run)
	}
	return nil
}

// awaitCancelled is the change ID of this change: if the workflow is cancelled, a caller still
// waits for the end of the run.
const awaitCancelled = "await a cancelled run"

// await waits until a run has ended, or the workflow ends or continues as new.
func (t *turn) await(ctx workflow.Context, run string) (*end, error) {
	ended := func() bool { return t.moving || t.ends[run] != nil }
	err := workflow.Await(ctx, ended)
	if sdk.IsCanceledError(err) && workflow.GetVersion(ctx, awaitCancelled, workflow.DefaultVersion, 1) == 1 {
		rest, _ := workflow.NewDisconnectedContext(ctx) // the run that is cancelled still has to end
		err = workflow.Await(rest, ended)
	}
	if err != nil {
		return nil, err
	}
	if e := t.ends[run]; e != nil {
		return e, nil
	}
	return &end{Run: run, Moved: true}, nil
}

// checkAnswer rejects an answer to a question that is not open, or of the wrong type. If the
// workflow stores mostQuestions, it accepts any id; the plan of the answer rejects an unknown one.
func (t *turn) checkAnswer(q AnswerRequest) error {
	switch {
	case t.now != nil || len(t.jobs) > 0:
		return errors.New("a run has not ended yet; send the answer again when it waits for answers")
	case t.last == nil || t.last.Status != graph.Interrupted:
		return errors.New("no question is open")
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
		return errors.New("the workflow is ending or continues as new; send the edit again")
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

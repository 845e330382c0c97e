package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
)

// Host knows what the requests of runs mean. It is safe for concurrent use.
type Host interface {
	// Job returns how to run r. An error is the failure of the run.
	Job(ctx context.Context, r queue.Run) (Job, error)
	// Ended is called when a run has ended, before its document has the end. After an error that is
	// temporary it is called again. After another the run is begun again, and may end differently.
	Ended(ctx context.Context, r queue.Run, o Outcome) error
}

// Job is how to run a run. With an Edit it is StartUpdateAndResume of the graph, with an Input
// Start, and else StartResume.
type Job struct {
	Graph   graph.Untyped
	Options graph.RunOptions // the worker sets ID, Thread, Lease, Hold and Drain
	Input   json.RawMessage
	Edit    *graph.UntypedEdit
	Answers graph.Answers

	// Request, unless it is nil, replaces that of the run before it begins: what was found out then
	// holds for later attempts.
	Request json.RawMessage

	// Start is how the log shows the run; nil leaves it out of the log. Step and Head are as in
	// wire.RecorderOptions.
	Start *wire.RunStart
	Step  int
	Head  uint64
	// StepOf returns the Step of a run that goes on from a commit; nil if no client sees steps.
	StepOf func(info graph.CommitInfo) int
}

// start starts the job, or goes on with it where an attempt before has committed something.
func (j *Job) start(ctx context.Context, o graph.RunOptions, resume bool) *graph.Handle[json.RawMessage] {
	switch {
	case resume:
		o.At, o.Namespace, o.If = 0, "", nil
		if _, remote := j.Graph.(Engine); remote && j.Edit != nil { // the edit may be committed without the answers
			return j.Graph.StartResume(ctx, j.Answers, o)
		}
		return j.Graph.StartResume(ctx, graph.Answers{}, o)
	case j.Edit != nil:
		return j.Graph.StartUpdateAndResume(ctx, *j.Edit, j.Answers, o)
	case j.Input != nil:
		return j.Graph.Start(ctx, j.Input, o)
	}
	return j.Graph.StartResume(ctx, j.Answers, o)
}

// Outcome is how an attempt of a run ended.
type Outcome struct {
	// Status is that of the run; Pending if another attempt follows.
	Status queue.Status
	Result graph.Result[json.RawMessage]
	Err    error // why it failed; nil for a run that was cancelled
}

// note returns what is noted of the end of an attempt. maxSteps is the limit that the run had.
func (o Outcome) note(maxSteps int) note {
	res := o.Result
	n := note{End: &wire.RunEnd{Status: wire.RunStatus(o.Status), Waiting: res.Status == graph.Interrupted,
		Error: wire.RunErrorOf(o.Err, maxSteps), Handed: o.Status == queue.Pending}}
	if o.Err == nil && res.Status != "" && res.Status != graph.Failed {
		n.Ended = &graph.Event{Mode: graph.Ended, Status: res.Status, Interrupts: res.Interrupts, Drained: res.Drained, Starved: res.Starved,
			Steps: res.Steps, Checkpoint: res.Checkpoint}
		if len(res.State) <= eventlog.MaxState {
			n.Ended.State = res.State
		}
	}
	return n
}

// errCancelled is the cause with which a worker cancels a run.
var errCancelled = errors.New("work: the run was cancelled")

// errDrained is the cause with which a worker that stops cancels a run that did not.
var errDrained = errors.New("work: the worker stops, and the run did not in time")

// outcomeOf returns how a run ended whose call has returned.
func outcomeOf(res graph.Result[json.RawMessage], err error) Outcome {
	o := Outcome{Status: queue.Success, Result: res, Err: err}
	var node *graph.NodeError
	switch {
	case errors.Is(err, errCancelled):
		o.Status, o.Err = queue.Interrupted, nil
	case errors.Is(err, errDrained), errors.Is(err, errLeft):
		o.Status, o.Err = queue.Pending, nil
	case errors.Is(err, graph.ErrTimeout) && !errors.As(err, &node):
		o.Status = queue.TimedOut
	case err != nil:
		o.Status = queue.Failed
	case res.Drained != "" && res.Status == graph.Pending:
		o.Status = queue.Pending
	}
	return o
}

// end returns the end of the run for its document. maxSteps is the limit that the run had.
func (o Outcome) end(maxSteps int) queue.End {
	e := queue.End{Status: o.Status}
	if why := wire.RunErrorOf(o.Err, maxSteps); why != nil {
		e.Error = &queue.Failure{Name: why.Error, Message: why.Message}
	}
	if o.Result.Status == graph.Interrupted {
		e.Result = json.RawMessage(`{"waiting":true}`)
	}
	return e
}

// jobError is the failure of a run that did not begin, such as one of which the host could not make
// a job.
type jobError struct {
	run queue.Run
	err error
}

func (e *jobError) Error() string {
	return fmt.Sprintf("run %.100q of thread %.100q: %v", e.run.ID, e.run.Thread, e.err)
}

func (e *jobError) Unwrap() error { return e.err }

package temporal

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
	"github.com/weftrun/weft/temporal/internal/pollers"
)

// ClientConfig is how a client has its runs carried out.
type ClientConfig struct {
	// Store is that of the graph and of the workers.
	Store checkpoint.Store
	// Queue is the task queue of the workers; "" means DefaultQueue.
	Queue string
	// Mode is what an activity is; "" means Segments.
	Mode Mode
	// Documents are those of the store. They carry RunOptions.Settings, InterruptBefore and
	// InterruptAfter to the workers, and the Metadata of a Resume; nil refuses runs that have them.
	Documents document.Store
	// Bus carries the events from the workers; nil means that a reader gets the last one alone.
	Bus topic.Bus
	// Wait is how long a workflow waits for answers; 0 means 7 days. After that it ends, and the
	// thread stays as it is: an answer starts another workflow.
	Wait time.Duration
	// Heartbeat is how long an activity may go without a sign of life before another worker goes
	// on with it; 0 means 1.5 seconds. A longer time spares busy machines, and adds to each
	// recovery.
	Heartbeat time.Duration
	// Longest bounds one activity, and so one segment; 0 means 7 days.
	Longest time.Duration
	// TaskTimeout is how long a workflow waits for a worker that died while it decided on the next
	// activity; 0 means 1.5 seconds.
	TaskTimeout time.Duration
	// CancelTimeout is how long the caller of a run that it has cancelled waits for the end of the
	// run; 0 means 30 seconds. The workers end it in any case.
	CancelTimeout time.Duration
	// NoWorkers is called at most once for a run that no worker has taken after some seconds, if
	// no worker polls the task queue. Several goroutines may call it at once; nil asks nothing.
	NoWorkers func()
	// SearchAttributes sets GraphAttribute, StatusAttribute, InterruptedAttribute and
	// OwnerAttribute. The namespace must have them.
	SearchAttributes bool
}

// Client is a graph whose runs are carried out by workers. What reads a thread, and Patch, goes to
// the store at once. It is safe for concurrent use.
type Client struct {
	graph.Untyped
	cfg    ClientConfig
	rejoin bool // runs may have begun before
	port
}

// port is what a Client needs of Temporal.
type port interface {
	// run has a job carried out and returns how it ended; the workflow is begun if there is none.
	// It calls accepted when the workflow has the job.
	run(ctx context.Context, in turnInput, j job, accepted func()) (*end, error)
	// await waits for the end of a run that moved. It calls accepted when the workflow has it.
	await(ctx context.Context, id, run string, accepted func()) (*end, error)
	signal(ctx context.Context, id, name string, q StopRequest) error
	// polled reports whether a worker polls the task queue of the workflows.
	polled(ctx context.Context) (bool, error)
}

// NewClient returns a client for a graph.
func NewClient(c client.Client, g graph.Untyped, cfg ClientConfig) (*Client, error) {
	return newClient(g, cfg, &server{c, cfg})
}

func newClient(g graph.Untyped, cfg ClientConfig, p port) (*Client, error) {
	var errs []error
	if g == nil || g.Name() == "" {
		errs = append(errs, fmt.Errorf("%w: the graph must be compiled (got %v)", ErrConfig, g))
	}
	if cfg.Store == nil {
		errs = append(errs, fmt.Errorf("%w: Store must be that of the graph (got nil)", ErrConfig))
	}
	if cfg.Mode != "" && cfg.Mode != Segments && cfg.Mode != Nodes {
		errs = append(errs, fmt.Errorf("%w: Mode must be %q or %q (got %q)", ErrConfig, Segments, Nodes, cfg.Mode))
	}
	if cfg.Wait < 0 || cfg.Heartbeat < 0 || cfg.Longest < 0 || cfg.TaskTimeout < 0 || cfg.CancelTimeout < 0 {
		errs = append(errs, fmt.Errorf("%w: times must not be negative (got %v, %v, %v, %v, %v)", ErrConfig, cfg.Wait, cfg.Heartbeat, cfg.Longest, cfg.TaskTimeout, cfg.CancelTimeout))
	}
	return &Client{Untyped: g, cfg: cfg, port: p}, errors.Join(errs...)
}

// newRun returns an id of a run. It is short, since each activity carries it.
func newRun() string { return strings.ToLower(rand.Text()[:20]) }

// Rejoin implements work.Engine of package server/work: Start, StartResume, Invoke and Resume of
// the graph that it returns wait for the run with RunOptions.ID if its workflow knows it.
func (c *Client) Rejoin() graph.Untyped {
	again := *c
	again.rejoin = true
	return &again
}

// input returns the argument of the workflow of a thread.
func (c *Client) input(thread, by string) turnInput {
	const week = 7 * 24 * time.Hour
	return turnInput{Graph: c.Name(), Thread: thread, Mode: c.cfg.Mode, Wait: cmp.Or(c.cfg.Wait, week), By: by,
		Heartbeat: cmp.Or(c.cfg.Heartbeat, 1500*time.Millisecond), Longest: cmp.Or(c.cfg.Longest, week), Search: c.cfg.SearchAttributes}
}

// Invoke implements [graph.Untyped]. The run goes on if this process dies, or ctx ends with the
// cause [graph.ErrDetached].
func (c *Client) Invoke(ctx context.Context, input json.RawMessage, o graph.RunOptions) (graph.Result[json.RawMessage], error) {
	return c.begin(ctx, input, graph.Answers{}, o).perform()
}

// Resume implements [graph.Untyped].
func (c *Client) Resume(ctx context.Context, a graph.Answers, o graph.RunOptions) (graph.Result[json.RawMessage], error) {
	return c.begin(ctx, nil, a, o).perform()
}

// Start implements [graph.Untyped].
func (c *Client) Start(ctx context.Context, input json.RawMessage, o graph.RunOptions) *graph.Handle[json.RawMessage] {
	return c.begin(ctx, input, graph.Answers{}, o).start()
}

// StartResume implements [graph.Untyped].
func (c *Client) StartResume(ctx context.Context, a graph.Answers, o graph.RunOptions) *graph.Handle[json.RawMessage] {
	return c.begin(ctx, nil, a, o).start()
}

// UpdateAndResume implements [graph.Untyped]. The edit is a commit of its own.
func (c *Client) UpdateAndResume(ctx context.Context, e graph.UntypedEdit, a graph.Answers, o graph.RunOptions) (graph.Result[json.RawMessage], error) {
	return c.edited(ctx, e, a, o).perform()
}

// StartUpdateAndResume implements [graph.Untyped]. The edit is a commit of its own.
func (c *Client) StartUpdateAndResume(ctx context.Context, e graph.UntypedEdit, a graph.Answers, o graph.RunOptions) *graph.Handle[json.RawMessage] {
	return c.edited(ctx, e, a, o).start()
}

// edited returns a run that begins with an edit.
func (c *Client) edited(ctx context.Context, e graph.UntypedEdit, a graph.Answers, o graph.RunOptions) *run {
	r := c.begin(ctx, nil, a, o)
	r.edit = &e
	return r
}

// begin returns a run that has not begun. A nil input goes on with the thread.
func (c *Client) begin(ctx context.Context, input json.RawMessage, a graph.Answers, o graph.RunOptions) *run {
	r := &run{client: c, id: cmp.Or(o.ID, newRun()), ctx: ctx, o: o, finished: make(chan struct{}),
		accepted: make(chan struct{}), asked: make(chan struct{}, 1)}
	r.request = graph.PlanRequest{Thread: o.Thread, Run: r.id, Input: input, Answers: a, Namespace: o.Namespace, At: o.At, If: o.If,
		OnOpenQuestions: o.OnOpenQuestions, MaxSteps: o.MaxSteps, By: o.By, Via: o.Via, Lease: o.Lease,
		Options: graph.StepOptions{InterruptBefore: o.InterruptBefore, InterruptAfter: o.InterruptAfter, Metadata: o.Metadata, Settings: o.Settings}}
	r.request.Lease.Owner = ownerOf(r.id)
	return r
}

// Configure completes an input as [graph.Config].Configure does. Servers and schedules assert it.
func (c *Client) Configure(input json.RawMessage, context, configurable map[string]json.RawMessage) (json.RawMessage, error) {
	takes, ok := c.Untyped.(interface {
		Configure(input json.RawMessage, context, configurable map[string]json.RawMessage) (json.RawMessage, error)
	})
	if !ok {
		return input, nil
	}
	return takes.Configure(input, context, configurable)
}

// Logged implements [eventlog.Logged]: with a Bus, workers write the log of the runs.
func (c *Client) Logged() bool { return c.cfg.Bus != nil }

var _ eventlog.Logged = (*Client)(nil)

// log returns the event logs; its Bus is nil where there is none.
func (c *Client) log() eventlog.Log { return eventlog.Log{Bus: c.cfg.Bus} }

// server is the port to a Temporal server.
type server struct {
	client client.Client
	cfg    ClientConfig
}

// mostTries is how often a run is offered to a workflow that ends in this moment.
const mostTries = 20

func (s *server) run(ctx context.Context, in turnInput, j job, accepted func()) (*end, error) {
	id, known := workflowID(in.Graph, in.Thread), false
	for try, offers := 1, 1; ; try++ {
		start := s.client.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
			ID: id, TaskQueue: cmp.Or(s.cfg.Queue, DefaultQueue),
			WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
			WorkflowTaskTimeout:      cmp.Or(s.cfg.TaskTimeout, 1500*time.Millisecond),
		}, TurnWorkflow, in)
		h, err := s.client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
			StartWorkflowOperation: start,
			UpdateOptions: client.UpdateWorkflowOptions{UpdateID: j.Step.Run, WorkflowID: id, UpdateName: runUpdate,
				WaitForStage: client.WorkflowUpdateStageAccepted, Args: []any{j}},
		})
		var e *end
		if err == nil {
			known = true
			accepted()
			err = h.Get(ctx, &e)
		}
		switch {
		case err == nil:
			return e, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case passes(err):
		case !ends(err) || offers == mostTries:
			return nil, fmt.Errorf("temporal: workflow %q: %w", id, err)
		default:
			offers++
		}
		switch e, err := s.result(ctx, id, j.Step.Run); {
		case err == nil:
			return e, nil // it has run, and the reply was lost
		case known && errors.Is(err, errStopped):
			return nil, fmt.Errorf("%w: workflow %q: %w", ErrEnded, id, err)
		}
		if err := backOff(ctx, try); err != nil {
			return nil, err
		}
	}
}

// errStopped is the error of a workflow that was terminated, has timed out, or has failed.
var errStopped = errors.New("it was stopped from outside, or has failed")

// backOff waits before a call is made again.
func backOff(ctx context.Context, try int) error {
	select {
	case <-time.After(min(time.Duration(try)*10*time.Millisecond, time.Second)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// passes reports whether an error is one of the server or of the way to it, so that the same call
// may succeed later. The run goes on meanwhile, and the caller's context bounds the wait.
func passes(err error) bool {
	var unavailable *serviceerror.Unavailable
	var late *serviceerror.DeadlineExceeded
	var canceled *serviceerror.Canceled
	var exhausted *serviceerror.ResourceExhausted
	var timedOut *client.WorkflowUpdateServiceTimeoutOrCanceledError
	return errors.As(err, &unavailable) || errors.As(err, &late) || errors.As(err, &canceled) || errors.As(err, &exhausted) || errors.As(err, &timedOut)
}

// ends reports whether an update failed because the workflow ended.
func ends(err error) bool {
	var notFound *serviceerror.NotFound
	var notReady *serviceerror.WorkflowNotReady
	var failed *serviceerror.FailedPrecondition
	var aborted *serviceerror.Aborted
	var app *sdk.ApplicationError
	return errors.As(err, &notFound) || errors.As(err, &notReady) || errors.As(err, &failed) || errors.As(err, &aborted) ||
		errors.As(err, &app) && app.Type() == "AcceptedUpdateCompletedWorkflow"
}

func (s *server) await(ctx context.Context, id, run string, accepted func()) (*end, error) {
	for try := 1; ; try++ {
		h, err := s.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{WorkflowID: id, UpdateName: awaitUpdate,
			WaitForStage: client.WorkflowUpdateStageAccepted, Args: []any{run}})
		var e *end
		if err == nil {
			accepted()
			err = h.Get(ctx, &e)
		}
		switch {
		case err == nil:
			return e, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		}
		e, fromResult := s.result(ctx, id, run)
		switch {
		case fromResult == nil:
			return e, nil
		case !passes(err) && !passes(fromResult):
			return nil, fmt.Errorf("%w: workflow %q: %w", ErrEnded, id, err)
		}
		if err := backOff(ctx, try); err != nil {
			return nil, err
		}
	}
}

// result returns the end of a run that was the last of a workflow which has ended.
func (s *server) result(ctx context.Context, id, run string) (*end, error) {
	d, err := s.client.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return nil, err
	}
	switch d.GetWorkflowExecutionInfo().GetStatus() {
	case enums.WORKFLOW_EXECUTION_STATUS_RUNNING:
		return nil, ErrEnded
	case enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, enums.WORKFLOW_EXECUTION_STATUS_TIMED_OUT, enums.WORKFLOW_EXECUTION_STATUS_FAILED:
		return nil, errStopped
	}
	var e *end
	ended := d.GetWorkflowExecutionInfo().GetExecution().GetRunId() // another may have begun meanwhile
	if err := s.client.GetWorkflow(ctx, id, ended).Get(ctx, &e); err != nil {
		return nil, err
	}
	if e == nil || e.Run != run {
		return nil, ErrEnded
	}
	return e, nil
}

func (s *server) polled(ctx context.Context) (bool, error) {
	n, err := pollers.Count(ctx, s.client, cmp.Or(s.cfg.Queue, DefaultQueue), enums.TASK_QUEUE_TYPE_WORKFLOW)
	return n > 0, err
}

func (s *server) signal(ctx context.Context, id, name string, q StopRequest) error {
	return s.client.SignalWorkflow(ctx, id, "", name, q)
}

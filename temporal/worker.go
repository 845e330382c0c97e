package temporal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
)

// DefaultQueue is the task queue of workers and clients that name none.
const DefaultQueue = "weft"

// WorkerConfig is what a worker runs.
type WorkerConfig struct {
	// Graphs are compiled with Store. It may have several programs of one graph, such as
	// those before and after a deployment.
	Graphs []graph.Untyped
	// Store is that of the graphs and of the clients.
	Store checkpoint.Store
	// Queue is the task queue that the worker polls; "" means DefaultQueue. Another name is that of
	// a graph.Policy.TaskQueue.
	Queue string
	// Documents are those of the store; nil refuses runs with options that need them. See
	// ClientConfig.Documents.
	Documents document.Store
	// Settings decodes RunOptions.Settings of a client, which nodes read with graph.Settings; nil
	// refuses runs that have some.
	Settings func(json.RawMessage) (any, error)
	// Bus carries events to readers in other processes, as that of the store does; nil means that
	// there are none.
	Bus topic.Bus
	// Grace is how long a node may go on after its run was cancelled; 0 means 5 seconds.
	Grace time.Duration
	// StopTimeout is how long Stop waits for the steps that run; 0 means 30 seconds. What has not
	// ended by then goes on elsewhere from the last commit.
	StopTimeout time.Duration
	// TakeOver is how long the run of another program of a graph is left to other workers; 0 means
	// 10 seconds.
	TakeOver time.Duration
	// LeaseTTL is how long a thread stays leased after its worker has died, for all but the next
	// worker; 0 means 30 seconds.
	LeaseTTL time.Duration
	// Options are those of the SDK's worker, for what is not set here. With Options.Interceptors,
	// such as that of OpenTelemetry, the spans of nodes are below those of their activities. With
	// Options.BackgroundActivityContext, such as one of graph.WithSigner, runs have its values.
	Options worker.Options
	// Logger reports what fails beside the runs, such as the bus; nil means slog.Default.
	Logger *slog.Logger
}

// stickyTime is how long a workflow waits for the worker that has it in memory, before any other
// replays it. Where a worker has died it comes after ClientConfig.Heartbeat, and both together must
// stay below 2 seconds.
const stickyTime = 200 * time.Millisecond

// Worker runs turns and activities of a task queue. It is made by NewWorker.
type Worker struct {
	worker  worker.Worker
	abort   context.CancelCauseFunc // ends the context of all activities
	aborted <-chan struct{}
}

// ErrAborted is the cause with which the context of a node ends when its Worker is aborted.
var ErrAborted = errors.New("temporal: the worker was aborted")

// abortTime bounds Stop after Abort. The nodes that run have it to end what they have started, such
// as a program.
const abortTime = time.Second

// NewWorker returns a worker that has not begun.
func NewWorker(c client.Client, cfg WorkerConfig) (*Worker, error) {
	a, err := newActivities(cfg)
	if err != nil {
		return nil, err
	}
	a.stopOf = func(ctx context.Context, id, run string) (r stopReply, err error) {
		value, err := c.QueryWorkflow(ctx, id, run, stopQuery)
		if err == nil {
			err = value.Get(&r)
		}
		return r, err
	}
	o := cfg.Options
	if o.StickyScheduleToStartTimeout == 0 {
		o.StickyScheduleToStartTimeout = stickyTime
	}
	o.WorkerStopTimeout = cmp.Or(cfg.StopTimeout, 30*time.Second)
	if o.BackgroundActivityContext == nil {
		o.BackgroundActivityContext = context.Background()
	}
	w := new(Worker)
	o.BackgroundActivityContext, w.abort = context.WithCancelCause(o.BackgroundActivityContext)
	w.aborted = o.BackgroundActivityContext.Done()
	w.worker = worker.New(c, cmp.Or(cfg.Queue, DefaultQueue), o)
	a.register(w.worker)
	return w, nil
}

// Run polls the queue until ctx ends, and then lets the steps that run finish.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.Start(); err != nil {
		return err
	}
	<-ctx.Done()
	w.Stop()
	return nil
}

// Start polls the queue until Stop.
func (w *Worker) Start() error { return w.worker.Start() }

// Stop lets the steps that run finish and commit, up to WorkerConfig.StopTimeout. Other workers go
// on with the runs.
func (w *Worker) Stop() {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		w.worker.Stop()
	}()
	select {
	case <-stopped:
		return
	case <-w.aborted:
	}
	select {
	case <-stopped:
	case <-time.After(abortTime): // a node is unresponsive, or the server
	}
}

// Abort cancels the steps that run, and lets Stop return within a second. A step whose commit has
// begun may still be committed. Other workers go on with the runs from the last commit. It may be
// called before Stop or during it.
func (w *Worker) Abort() { w.abort(ErrAborted) }

// registry is what a worker and Temporal's test environment have in common.
type registry interface {
	RegisterWorkflowWithOptions(w any, o workflow.RegisterOptions)
	RegisterActivityWithOptions(a any, o activity.RegisterOptions)
}

// register registers the workflow and the activities under their names.
func (a *activities) register(r registry) {
	r.RegisterWorkflowWithOptions(turnWorkflow, workflow.RegisterOptions{Name: TurnWorkflow})
	r.RegisterWorkflowWithOptions(childWorkflow, workflow.RegisterOptions{Name: ChildWorkflow})
	for name, do := range map[string]any{
		segmentActivity: a.segment, planActivity: a.plan, taskActivity: a.task,
		commitActivity: a.commit, releaseActivity: a.release, editActivity: a.edit, forgetActivity: a.forget,
	} {
		r.RegisterActivityWithOptions(do, activity.RegisterOptions{Name: name})
	}
}

func newActivities(cfg WorkerConfig) (*activities, error) {
	var errs []error
	if len(cfg.Graphs) == 0 {
		errs = append(errs, fmt.Errorf("%w: Graphs must have at least one graph (got none)", ErrConfig))
	}
	if cfg.Store == nil {
		errs = append(errs, fmt.Errorf("%w: Store must be that of the graphs (got nil)", ErrConfig))
	}
	a := &activities{cfg: cfg, graphs: map[string][]graph.Untyped{}}
	for _, g := range cfg.Graphs {
		if g == nil || g.Name() == "" {
			errs = append(errs, fmt.Errorf("%w: Graphs must be compiled (got one that is not)", ErrConfig))
			continue
		}
		a.graphs[g.Name()] = append(a.graphs[g.Name()], g)
	}
	a.cfg.Grace = cmp.Or(cfg.Grace, 5*time.Second)
	a.cfg.TakeOver = cmp.Or(cfg.TakeOver, 10*time.Second)
	a.cfg.LeaseTTL = cmp.Or(cfg.LeaseTTL, 30*time.Second)
	a.cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	return a, errors.Join(errs...)
}

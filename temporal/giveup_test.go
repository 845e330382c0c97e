package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	workflowinfo "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// fullStore refuses results of tasks.
type fullStore struct{ *checkpoint.Memory }

func (s fullStore) Put(ctx context.Context, p checkpoint.Pending) error {
	for _, e := range p.Entries {
		if strings.HasPrefix(e.Slot, "result") {
			return fmt.Errorf("%w: the entries have 10 bytes, the limit is 9", checkpoint.ErrTooLarge)
		}
	}
	return s.Memory.Put(ctx, p)
}

// A task whose call fails for good ends the run: no attempt follows that would run its node again.
func TestTask_ThatCannotEndFailsTheRun(t *testing.T) {
	for name, c := range map[string]struct {
		store checkpoint.Store
		limit time.Duration
		want  error
	}{
		"its result is too large":    {fullStore{new(checkpoint.Memory)}, 0, checkpoint.ErrTooLarge},
		"the graph has a time limit": {new(checkpoint.Memory), 500 * time.Millisecond, graph.ErrTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			b := graph.New[wrote]("g")
			b.Node("a", graph.Func(func(ctx context.Context, s *wrote) error {
				calls.Add(1)
				s.Log.Append("a")
				if c.limit > 0 {
					<-ctx.Done()
				}
				return ctx.Err()
			}))
			b.Edge(graph.Start, "a")
			b.Edge("a", graph.End)
			g, err := b.Compile(graph.Config{Store: c.store, Timeout: c.limit})
			if err != nil {
				t.Fatal(err)
			}
			runs, _ := onEnvironment(t, g.Untyped(), WorkerConfig{Store: c.store}, ClientConfig{Mode: Nodes})
			res, err := runs.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: "t1"})
			if !errors.Is(err, c.want) || res.Status != graph.Failed || calls.Load() > 1 || c.limit == 0 && calls.Load() == 0 { // the limit is also that of its plan, on a slow machine
				t.Errorf("the run ended %q with %v after %d calls of its node, want %v after one", res.Status, err, calls.Load(), c.want)
			}
		})
	}
}

// activityThread is the thread of an activity in Temporal's test environment.
const activityThread = "default-test-workflow-id"

// begun begins a turn on activityThread.
func begun(t *testing.T, g graph.Untyped) {
	t.Helper()
	p, err := g.Plan(t.Context(), graph.PlanRequest{Thread: activityThread, Run: "r", Input: json.RawMessage(`{}`)})
	if err == nil {
		err = g.Release(t.Context(), p.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// runSegment runs the first segment of a run as an activity.
func runSegment(t *testing.T, g graph.Untyped, store checkpoint.Store, prepare func(*activities, *testsuite.TestActivityEnvironment)) *segmentResult {
	t.Helper()
	j := job{Step: stepRef{Run: "r"}, Turn: 1, Attempt: 1}
	return runJob(t, WorkerConfig{Graphs: []graph.Untyped{g}, Store: store}, j, prepare)
}

// runJob runs a segment of a job as an activity.
func runJob(t *testing.T, cfg WorkerConfig, j job, prepare func(*activities, *testsuite.TestActivityEnvironment)) *segmentResult {
	t.Helper()
	a, err := newActivities(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	prepare(a, env)
	env.RegisterActivityWithOptions(a.segment, activity.RegisterOptions{Name: segmentActivity})
	value, err := env.ExecuteActivity(segmentActivity, segmentRequest{Graph: cfg.Graphs[0].Name(), Job: j})
	var res *segmentResult
	if err == nil {
		err = value.Get(&res)
	}
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// A segment that was cancelled ends the run only if the workflow answers that the run is cancelled.
// Else the workflow decides: it may have been cancelled for an edit or a drain.
func TestSegment_ThatIsCancelledWithoutAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		reply stopReply
		err   error
		ends  bool
	}{
		"cancelled":    {reply: stopReply{Kind: stopCancel}, ends: true},
		"no answer":    {err: errors.New("query: out of time")},
		"no one asked": {},
	} {
		t.Run(name, func(t *testing.T) {
			store := new(checkpoint.Memory)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			b := graph.New[wrote]("g")
			b.Node("a", graph.Func(func(ctx context.Context, _ *wrote) error {
				cancel()
				<-ctx.Done()
				return ctx.Err()
			}))
			b.Edge(graph.Start, "a")
			b.Edge("a", graph.End)
			g, err := b.Compile(graph.Config{Store: store})
			if err != nil {
				t.Fatal(err)
			}
			begun(t, g.Untyped())
			res := runSegment(t, g.Untyped(), store, func(a *activities, env *testsuite.TestActivityEnvironment) {
				a.stopOf = func(context.Context, string, string) (stopReply, error) { return c.reply, c.err }
				env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
			})
			if (res.End != nil) != c.ends {
				t.Errorf("the segment ended with %+v; does it end the run: want %v", res.End, c.ends)
			}
		})
	}
}

// A worker that stops leaves a run to others in which a task has asked and another is under way.
func TestSegment_ThatIsDrainedBesideAQuestion(t *testing.T) {
	store := new(checkpoint.Memory)
	child, stopped, ends := spinning(t)
	b := graph.New[tally]("g")
	b.Node("ask", graph.Func(func(ctx context.Context, _ *tally) error {
		_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "on?"})
		return err
	}))
	b.Node("child", graph.Inline(child))
	for _, name := range []string{"ask", "child"} {
		b.Edge(graph.Start, name)
		b.Edge(name, graph.End)
	}
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	begun(t, g.Untyped())
	res := runSegment(t, g.Untyped(), store, func(_ *activities, env *testsuite.TestActivityEnvironment) { env.SetWorkerStopChannel(stopped) })
	if res.End != nil {
		t.Fatalf("the segment of a worker that stops ended the run with %+v, want that another goes on", res.End)
	}
	ends.Store(true)
	res = runSegment(t, g.Untyped(), store, func(*activities, *testsuite.TestActivityEnvironment) {})
	if res.End == nil || res.End.Status != graph.Interrupted || res.End.Drained != "" || len(res.End.Questions) != 1 {
		t.Errorf("the next segment ended the run with %+v, want interrupted by the question alone", res.End)
	}
	p, err := graph.Inspect(t.Context(), store, checkpoint.Key{Thread: activityThread})
	if err != nil || len(p.Finished) != 1 || p.Finished[0].Node != "child" {
		t.Errorf("finished are %+v (%v), want the child", p.Finished, err)
	}
}

// slowStore does not answer until it is let go.
type slowStore struct {
	*checkpoint.Memory
	slow atomic.Bool
	may  chan struct{}
}

func (s *slowStore) History(ctx context.Context, k checkpoint.Key, q checkpoint.Query) iter.Seq2[checkpoint.Snapshot, error] {
	if s.slow.Load() {
		bounded, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		select {
		case <-s.may:
		case <-bounded.Done():
		}
	}
	return s.Memory.History(ctx, k, q)
}

// slowly returns an activity during which a store is slow.
func slowly[Q, R any](s *slowStore, do func(context.Context, Q) (R, error)) func(context.Context, Q) (R, error) {
	return func(ctx context.Context, q Q) (R, error) {
		s.slow.Store(true)
		return do(ctx, q)
	}
}

// An activity reports that it lives while the store is slow. Else Temporal would give each attempt
// up, and the run would never go on.
func TestHeartbeat_ComesBeforeTheStoreAnswers(t *testing.T) {
	for _, name := range []string{segmentActivity, editActivity} {
		t.Run(name, func(t *testing.T) {
			store := &slowStore{Memory: new(checkpoint.Memory), may: make(chan struct{})}
			runs, e := onEnvironment(t, counting(t, store, 4, 3).Untyped(), WorkerConfig{Store: store}, ClientConfig{Heartbeat: 3 * time.Second})
			var once sync.Once
			var edited func() error
			e.prepare = func(env *testsuite.TestWorkflowEnvironment) {
				env.SetOnActivityHeartbeatListener(func(info *activityInfo, _ converter.EncodedValues) {
					if info.ActivityType.Name == name {
						once.Do(func() { close(store.may) })
					}
				})
				if name == editActivity {
					replace(env, name, slowly(store, e.activities.edit))
				} else {
					replace(env, name, slowly(store, e.activities.segment))
				}
				_, edited = update(env, time.Hour, EditUpdate, EditRequest{Fields: json.RawMessage(`{"log":["by hand"]}`)})
			}
			res, err := runs.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: "t1"})
			if err != nil || res.Status != graph.Interrupted {
				t.Fatalf("the run ended %q with %v, want interrupted", res.Status, err)
			}
			if err := edited(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Release implements checkpoint.Leaser.
func (s *slowStore) Release(ctx context.Context, thread, fence string) error {
	if s.slow.Load() {
		select {
		case <-s.may:
		case <-time.After(10 * time.Second):
			return errors.New("no heartbeat came")
		}
	}
	return s.Memory.Release(ctx, thread, fence)
}

// A release reports that it lives, too.
func TestHeartbeat_ComesDuringARelease(t *testing.T) {
	store := &slowStore{Memory: new(checkpoint.Memory), may: make(chan struct{})}
	a, err := newActivities(WorkerConfig{Graphs: []graph.Untyped{counting(t, store, 1, 0).Untyped()}, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	store.slow.Store(true)
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	var once sync.Once
	env.SetOnActivityHeartbeatListener(func(*activityInfo, converter.EncodedValues) { once.Do(func() { close(store.may) }) })
	env.RegisterActivity(a.release)
	if _, err := env.ExecuteActivity(a.release, commitRequest{Graph: "count", Step: stepRef{Run: "r"}}); err != nil {
		t.Error(err)
	}
}

// Temporal refuses the 2,000th update of a history, so a turn that waits goes on as a new workflow.
func TestTurn_ThatWaitsMovesAfterManyUpdates(t *testing.T) {
	for updates, want := range map[int]bool{mostUpdates: true, 1: false} {
		var suite testsuite.WorkflowTestSuite
		env := patient(&suite)
		waits := func(ctx workflow.Context) (bool, error) {
			on := &turn{ends: map[string]*end{}, in: turnInput{Wait: time.Second}, updates: updates}
			return on.next(ctx) && on.now == nil, nil
		}
		env.RegisterWorkflow(waits)
		env.ExecuteWorkflow(waits)
		var moves bool
		if err := env.GetWorkflowResult(&moves); err != nil || moves != want {
			t.Errorf("after %d updates the turn moves: %v (%v), want %v", updates, moves, err, want)
		}
	}
}

// refusingPort is a port to a server that refuses runs.
type refusingPort struct{ endlessPort }

func (refusingPort) run(context.Context, turnInput, job, func()) (*end, error) {
	return nil, errors.New("permission denied")
}

// A run that Temporal refuses leaves its thread.
func TestRefused_RunLeavesItsThread(t *testing.T) {
	store := new(checkpoint.Memory)
	c, err := newClient(counting(t, store, 3, 0).Untyped(), ClientConfig{Store: store}, refusingPort{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: "t"}); err == nil {
		t.Fatal("the run has ended without an error")
	}
	if _, err = store.Acquire(t.Context(), checkpoint.LeaseRequest{Thread: "t", TTL: time.Second, Owner: "another"}); err != nil {
		t.Errorf("after the run: %v, want that the thread is free", err)
	}
}

// endedClient is a client of a server at which a workflow has ended, and another of its id may run.
type endedClient struct {
	client.Client
	asked string // the run whose result was asked for
}

func (c *endedClient) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowinfo.WorkflowExecutionInfo{
		Status: enums.WORKFLOW_EXECUTION_STATUS_COMPLETED, Execution: &common.WorkflowExecution{WorkflowId: "w", RunId: "first"}}}, nil
}

func (c *endedClient) GetWorkflow(_ context.Context, _, run string) client.WorkflowRun {
	c.asked = run
	return endedRun{}
}

type endedRun struct{ client.WorkflowRun }

func (endedRun) Get(_ context.Context, v any) error {
	*v.(**end) = &end{Run: "r", Status: graph.Done}
	return nil
}

// The result is that of the workflow that has ended. One that began meanwhile may run for days.
func TestResult_IsThatOfTheWorkflowThatHasEnded(t *testing.T) {
	c := new(endedClient)
	e, err := (&server{client: c}).result(t.Context(), "w", "r")
	if err != nil || e.Status != graph.Done || c.asked != "first" {
		t.Errorf("the result is %+v (%v) of run %q, want that of the first", e, err, c.asked)
	}
}

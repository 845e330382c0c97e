package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// Requirement: RunTask returns a stored result
func TestRunTask_StoredResultIsReturned(t *testing.T) {
	var ran counter
	d := drives(t, stored(), inOneStep(map[string]graph.Node[world]{"a": tallies("a", &ran), "b": tallies("b", &ran)}))
	p, err := d.plan(run1)
	d.at(p, err, graph.Pending, "a, b")
	for range 3 {
		res, err := d.run(p, taskOf(p, "b"))
		if err != nil || res.End != graph.TaskFinished {
			t.Errorf("got %+v, %v", res, err)
		}
	}
	ran.want(t, "b", 1)
	p, err = d.drive(run1)
	d.at(p, err, graph.Done, "")
	ran.want(t, "a", 1)
	ran.want(t, "b", 1)
	d.log("a b")
}

// tallies is a node that logs and counts how often it ran.
func tallies(name string, ran *counter) graph.Node[world] {
	return graph.Func(func(_ context.Context, s *world) error {
		ran.add(name)
		s.Log.Append(name)
		return nil
	})
}

// Several calls may run the same task at once. One result counts, and all calls return it.
//
// Requirement: RunTask returns a stored result
func TestRunTask_FirstWriterWins(t *testing.T) {
	var entered sync.WaitGroup
	var n atomic.Int32
	const many = 4
	entered.Add(many)
	d := drives(t, stored(), inOneStep(map[string]graph.Node[world]{"a": graph.Func(func(_ context.Context, s *world) error {
		me := n.Add(1)
		entered.Done()
		entered.Wait() // all have begun before one ends
		if me%2 == 0 {
			s.Log.Append("even")
		} else {
			s.Log.Append("odd")
		}
		return nil
	})}))
	d.twice = false
	p, err := d.plan(run1)
	d.at(p, err, graph.Pending, "a")
	var calls sync.WaitGroup
	for range many {
		g := d.open()
		calls.Go(func() {
			res, err := g.RunTask(ctx, graph.TaskRequest{Step: p.ID, Task: p.Tasks[0].ID})
			if err != nil || res.End != graph.TaskFinished {
				t.Errorf("got %+v, %v; want that it has finished", res, err)
			}
		})
	}
	calls.Wait()
	p, err = d.commit(p)
	d.at(p, err, graph.Done, "")
	s, _, err := d.open().Thread("t1").State(ctx, 0)
	if text := string(s); err != nil || strings.Count(text, "even")+strings.Count(text, "odd") != 1 {
		t.Errorf("the state is %s, %v; want the writes of one call", text, err)
	}
}

// Of several calls that fail, the first to store its failure wins too.
//
// Requirement: RunTask returns a stored result
func TestRunTask_FirstFailureWins(t *testing.T) {
	var entered sync.WaitGroup
	var n atomic.Int32
	entered.Add(4)
	d := drives(t, stored(), inOneStep(map[string]graph.Node[world]{"a": graph.Func(func(context.Context, *world) error {
		me := n.Add(1)
		entered.Done()
		entered.Wait()
		return fmt.Errorf("failure %d", me)
	})}))
	d.twice = false
	p, err := d.plan(run1)
	d.at(p, err, graph.Pending, "a")
	var calls sync.WaitGroup
	got := make([]string, 4)
	for i := range got {
		g := d.open()
		calls.Go(func() {
			res, err := g.RunTask(ctx, graph.TaskRequest{Step: p.ID, Task: p.Tasks[0].ID})
			if err != nil || res.End != graph.TaskFailed {
				t.Errorf("got %+v, %v; want that it has failed", res, err)
			}
			got[i] = res.Message
		})
	}
	calls.Wait()
	_, err = d.commit(p)
	var node *graph.NodeError
	if !errors.As(err, &node) || node.Node != "a" {
		t.Fatalf("got %v, want a NodeError", err)
	}
	for _, message := range got {
		if message != node.Err.Error() {
			t.Errorf("one call returned %q, and %q is stored", message, node.Err)
		}
	}
}

type slowDown struct{}

func (slowDown) Error() string             { return strings.Repeat("\x01 slow down ", 500) }
func (slowDown) Code() string              { return strings.Repeat("busy", 200) }
func (slowDown) RetryAfter() time.Duration { return time.Minute }

// Requirement: RunTask: a failure lasts until the next attempt
// Requirement: Commit returns the first failure in canonical order
func TestRunTask_FailureLastsUntilTheNextAttempt(t *testing.T) {
	var ran counter
	nodes := map[string]graph.Node[world]{
		"a": graph.Func(func(_ context.Context, s *world) error {
			if n := ran.add("a"); n <= 2 {
				return slowDown{}
			}
			s.Log.Append("a")
			return nil
		}).With(graph.Policy{Retry: graph.Retry{Attempts: 2, Initial: graph.NoWait, MaxAfter: time.Nanosecond}}),
		"b": graph.Func(func(context.Context, *world) error { return graph.Permanent(errors.New("never")) }),
		"c": tallies("c", &ran),
	}
	d := drives(t, stored(), inOneStep(nodes))
	p, err := d.plan(run1)
	d.at(p, err, graph.Pending, "a, b, c")
	res, err := d.run(p, taskOf(p, "a"))
	if err != nil || res.End != graph.TaskFailed || !res.Retry || res.RetryAfter != time.Minute || res.Kind != graph.KindError {
		t.Errorf("got %+v, %v; want a failure that asks for a minute", res, err)
	}
	if data, err := json.Marshal(res); err != nil || len(data) >= 1024 {
		t.Errorf("the result takes %d bytes, want less than 1024 (%v)", len(data), err)
	}
	if res, err = d.run(p, taskOf(p, "b")); err != nil || res.Retry || res.Kind != graph.KindPermanent || res.Message != "never" {
		t.Errorf("got %+v, %v; want a failure that is final", res, err)
	}
	ran.want(t, "a", 1) // the failure asks for a longer wait than the policy gives
	p, err = d.commit(p)
	var node *graph.NodeError
	if !errors.As(err, &node) || node.Node != "a" || p.Status != graph.Failed || tasksOf(p) != "a failed, b failed, c" {
		t.Errorf("got %v, the status %q and %q; want the failure of a", err, p.Status, tasksOf(p))
	}
	for try, want := range []graph.TaskEnd{1: graph.TaskFailed, 2: graph.TaskFinished} {
		if try == 0 {
			continue
		}
		q := graph.TaskRequest{Step: p.ID, Task: taskOf(p, "a"), Try: try}
		res, err := made(d, func(g graph.Untyped) (graph.TaskResult, error) { return g.RunTask(ctx, q) })
		if err != nil || res.End != want {
			t.Errorf("try %d: got %+v, %v; want %s", try, res, err, want)
		}
	}
	ran.want(t, "a", 3)
	d.release(p)
	p, err = d.plan(graph.PlanRequest{Run: "run-2"}) // another run runs what has failed again
	d.at(p, err, graph.Pending, "a finished, b, c")
}

// Requirement: RunTask and Commit refuse what is not due
func TestRunTask_StepAndTaskMustBeDue(t *testing.T) {
	var ran counter
	d := drives(t, stored(), inLine("a", "b"))
	p, err := d.plan(run1)
	d.at(p, err, graph.Pending, "a")
	_, err = d.run(p, "no task")
	is(t, err, graph.ErrUnknownTask, "no task")
	if _, err = d.run(p, p.Tasks[0].ID); err != nil {
		t.Fatal(err)
	}
	next, err := d.commit(p)
	d.at(next, err, graph.Pending, "b")
	_, err = d.run(p, p.Tasks[0].ID)
	is(t, err, graph.ErrStale, "plan again")
	_, err = d.run(next, p.Tasks[0].ID)
	is(t, err, graph.ErrUnknownTask)
	ahead := next
	ahead.ID.Checkpoint = 9
	_, err = d.run(ahead, next.Tasks[0].ID)
	is(t, err, graph.ErrStale)
	_, err = d.commit(ahead)
	is(t, err, graph.ErrStale)
	ran.want(t, "a", 0)
	end, err := d.drive(run1)
	d.at(end, err, graph.Done, "")
	_, err = made(d, func(g graph.Untyped) (graph.TaskResult, error) {
		q := graph.TaskRequest{Step: end.ID, Task: next.Tasks[0].ID}
		q.Step.Fence = ""
		return g.RunTask(ctx, q)
	})
	is(t, err, graph.ErrUnknownTask) // nothing is due
	_, err = made(d, func(g graph.Untyped) (graph.Plan, error) {
		q := graph.CommitRequest{Step: p.ID}
		q.Step.Fence = ""
		return g.Commit(ctx, q)
	})
	is(t, err, graph.ErrStale) // two commits later
}

// A worker whose thread was taken over by another run stores nothing and returns an error.
//
// Requirement: driver: an overtaken run writes nothing
func TestRunTask_OvertakenWorkerWritesNothing(t *testing.T) {
	entered, wake := make(chan bool), make(chan bool)
	var sleeps atomic.Bool
	sleeps.Store(true)
	d := drives(t, stored(), inOneStep(map[string]graph.Node[world]{"a": graph.Func(func(_ context.Context, s *world) error {
		if sleeps.Load() {
			entered <- true
			<-wake
			s.Log.Append("zombie")
			return nil
		}
		s.Log.Append("a")
		return nil
	})}))
	d.twice = false
	p, err := d.plan(run1)
	d.at(p, err, graph.Pending, "a")
	zombie := make(chan error)
	go func() {
		_, err := d.open().RunTask(ctx, graph.TaskRequest{Step: p.ID, Task: p.Tasks[0].ID})
		zombie <- err
	}()
	<-entered
	sleeps.Store(false)
	_, err = d.plan(graph.PlanRequest{Run: "run-2"})
	is(t, err, checkpoint.ErrOwned)
	over, err := d.plan(graph.PlanRequest{Run: "run-2", Lease: checkpoint.HoldOptions{Policy: checkpoint.TakeOver}})
	d.at(over, err, graph.Pending, "a")
	wake <- true
	is(t, <-zombie, checkpoint.ErrFenced)
	_, err = d.commit(p)
	is(t, err, checkpoint.ErrFenced)
	_, err = d.plan(run1)
	is(t, err, checkpoint.ErrFenced)
	over, err = d.plan(graph.PlanRequest{Run: "run-2"})
	d.at(over, err, graph.Pending, "a") // it has no result
	over, err = d.drive(graph.PlanRequest{Run: "run-2"})
	d.at(over, err, graph.Done, "")
	d.log("a")
}

// The lease is renewed while a task runs, and does not end with the call.
//
// Requirement: driver: the lease belongs to the run, not to a process
func TestRunTask_RenewsTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := drives(t, stored(), inOneStep(map[string]graph.Node[world]{"a": graph.Func(func(context.Context, *world) error {
			<-time.After(3 * time.Minute)
			return nil
		})}))
		d.twice = false
		q := run1
		q.Lease.TTL = time.Second
		p, err := d.plan(q)
		d.at(p, err, graph.Pending, "a")
		<-time.After(time.Minute) // it has run out, and no other run has come
		end := make(chan error)
		go func() {
			_, err := d.run(p, p.Tasks[0].ID)
			end <- err
		}()
		<-time.After(time.Minute)
		_, err = d.plan(graph.PlanRequest{Run: "run-2"})
		is(t, err, checkpoint.ErrOwned)
		if err := <-end; err != nil {
			t.Fatal(err)
		}
		_, err = d.plan(graph.PlanRequest{Run: "run-2"})
		is(t, err, checkpoint.ErrOwned)
		p, err = d.commit(p)
		d.at(p, err, graph.Done, "")
		d.release(p)
		p, err = d.plan(graph.PlanRequest{Run: "run-2"})
		d.at(p, err, graph.Done, "")
	})
}

// A cancelled call does not end its task: the task runs again.
//
// Requirement: RunTask: a cancelled call does not end the task
func TestRunTask_CancelledCallStoresNoFailure(t *testing.T) {
	var ran counter
	why := errors.New("the worker is shut down")
	cancelled, cancel := context.WithCancelCause(ctx)
	d := drives(t, stored(), inOneStep(map[string]graph.Node[world]{"a": graph.Func(func(ctx context.Context, s *world) error {
		if ran.add("a") == 1 {
			cancel(why)
			<-ctx.Done()
			return ctx.Err()
		}
		s.Log.Append("a")
		return nil
	})}))
	d.twice = false
	p, err := d.plan(run1)
	d.at(p, err, graph.Pending, "a")
	if _, err := d.open().RunTask(cancelled, graph.TaskRequest{Step: p.ID, Task: p.Tasks[0].ID}); !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
	p, err = d.plan(run1)
	d.at(p, err, graph.Pending, "a")
	ran.want(t, "a", 1)
	p, err = d.drive(run1)
	d.at(p, err, graph.Done, "")
	d.log("a")
}

package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/tasks"
)

// The worker of a deleted task once ended the new task with the same id.
func TestRun_WorkerOfADeletedTask(t *testing.T) {
	ctx := t.Context()
	b := tasks.NewBoard(&document.Map{})
	if _, err := b.Create(ctx, tasks.Task{ID: "t", Input: json.RawMessage(`"old"`)}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	begun, goOn := make(chan bool, 2), map[string]chan bool{`"old"`: make(chan bool), `"new"`: make(chan bool)}
	w := tasks.WorkerFunc(func(_ context.Context, x tasks.Task) (tasks.Outcome, error) {
		begun <- true
		<-goOn[string(x.Input)]
		return tasks.Outcome{Result: x.Input}, nil
	})
	var old error
	oldDone := make(chan bool)
	wg.Go(func() { _, old = b.Run(ctx, "t", w); close(oldDone) })
	<-begun
	if err := b.Delete(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Create(ctx, tasks.Task{ID: "t", Input: json.RawMessage(`"new"`)}); err != nil {
		t.Fatal(err)
	}
	wg.Go(func() { b.Run(ctx, "t", w) })
	<-begun
	close(goOn[`"old"`])
	<-oldDone
	if got, _ := b.Get(ctx, "t"); got.Status != tasks.InProgress || !errors.Is(old, tasks.ErrTransition) {
		t.Errorf("the new task is %s with the result %s; the old worker got the error %v", got.Status, got.Result, old)
	}
	close(goOn[`"new"`])
	wg.Wait()
}

// slow calls after once, when a task is stored as waiting.
type slow struct {
	document.Store
	after func()
}

func (s *slow) Set(ctx context.Context, p document.Place, c document.Change) (document.Doc, error) {
	v, err := s.Store.Set(ctx, p, c)
	if err == nil && strings.Contains(string(c.Value), `"status":"waiting"`) && s.after != nil {
		do := s.after
		s.after = nil
		do()
	}
	return v, err
}

// A Run that ended once unregistered the worker of a Resume, so that Cancel did not stop it.
func TestCancel_WorkerResumedAtOnce(t *testing.T) {
	ctx := t.Context()
	docs := &slow{Store: &document.Map{}}
	b := tasks.NewBoard(docs)
	b.Watch = -1 // no watch, so Cancel itself must end the context of the worker
	if _, err := b.Create(ctx, tasks.Task{ID: "t"}); err != nil {
		t.Fatal(err)
	}
	begun, notified := make(chan bool), make(chan bool, 1)
	var wg sync.WaitGroup
	docs.after = func() {
		wg.Go(func() {
			b.Resume(ctx, "t", json.RawMessage(`1`), tasks.WorkerFunc(func(ctx context.Context, _ tasks.Task) (tasks.Outcome, error) {
				close(begun)
				<-ctx.Done()
				notified <- true
				return tasks.Outcome{}, nil
			}))
		})
		<-begun
	}
	_, err := b.Run(ctx, "t", tasks.WorkerFunc(func(context.Context, tasks.Task) (tasks.Outcome, error) {
		return tasks.Outcome{Status: tasks.Waiting}, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Cancel(ctx, "t", "no"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-notified:
	case <-time.After(time.Minute):
		t.Fatal("the context of the worker did not end")
	}
	wg.Wait()
}

// until is a worker that sends its attempt to begun, waits for the end of its context, and sends
// its cause to why.
func until(begun chan<- int, why chan<- error) tasks.Worker {
	return tasks.WorkerFunc(func(ctx context.Context, t tasks.Task) (tasks.Outcome, error) {
		begun <- t.Attempt
		<-ctx.Done()
		why <- context.Cause(ctx)
		return tasks.Outcome{}, ctx.Err()
	})
}

func TestCancel_InAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var docs document.Map
		b, other := tasks.NewBoard(&docs), tasks.NewBoard(&docs)
		begun, why := make(chan int, 1), make(chan error, 1)
		for id, end := range map[string]func() error{
			"cancelled": func() error { _, err := other.Cancel(t.Context(), "cancelled", ""); return err },
			"deleted":   func() error { return other.Delete(t.Context(), "deleted") },
		} {
			create(t, b, tasks.Task{ID: id})
			ended := make(chan error)
			go func() { _, err := b.Run(t.Context(), id, until(begun, why)); ended <- err }()
			<-begun
			if err := end(); err != nil {
				t.Fatal(err)
			}
			at := time.Now()
			if err := <-why; time.Since(at) > 2*time.Second || !strings.Contains(err.Error(), "ended by another caller") {
				t.Errorf("rule: the context ends within 2 seconds after another process ended the task\n got: %v, %v", err, time.Since(at))
			}
			if err := <-ended; !errors.Is(err, tasks.ErrTransition) && !errors.Is(err, tasks.ErrNotFound) {
				t.Errorf("%s: %v", id, err)
			}
		}
	})
}

func TestRun_OutcomeTooLarge(t *testing.T) {
	b := tasks.NewBoard(&document.Map{})
	for reason, out := range map[string]tasks.Outcome{
		"the limit is 4194304": {Result: fmt.Appendf(nil, "%q", strings.Repeat("x", 5<<20))},
		"nested":               {Result: []byte(strings.Repeat("[", 200) + strings.Repeat("]", 200))},
		"stored: ":             {Status: tasks.Waiting, Question: fmt.Appendf(nil, "%q", strings.Repeat("x", 5<<20))},
	} {
		create(t, b, tasks.Task{ID: reason})
		wantStatus(t, run(t, b, reason, returns(out)), tasks.Failed, reason)
	}
}

package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/tasks"
)

// A worker of a deleted task ended the task that was made anew with its id, with the result of the old one.
func TestAWorkerOfADeletedTaskDoesNotEndTheNextOfThatID(t *testing.T) {
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
		t.Errorf("the new task is %s with the result %s; the old worker was told %v", got.Status, got.Result, old)
	}
	close(goOn[`"new"`])
	wg.Wait()
}

// slow calls after when a task was written as waiting.
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

// A worker that has just left its task waiting took away the name of the one that resumed it: Cancel did not reach it.
func TestCancelReachesAWorkerThatResumedAtOnce(t *testing.T) {
	ctx := t.Context()
	docs := &slow{Store: &document.Map{}}
	b := tasks.NewBoard(docs)
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
	if !<-notified {
		t.Error("the worker was not told")
	}
	wg.Wait()
}

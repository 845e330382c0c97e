package taskstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/tasks"
)

// Rule is one thing that is demanded. Its board is one process's, and its other another one's.
type Rule struct {
	Name string
	test func(w *world)
}

// Rules are all rules.
var Rules = []Rule{
	{"a task is kept as it was given", stored},
	{"an id is taken once", once},
	{"a status changes as it may, and no other way", moves},
	{"tasks are listed newest first, by what is asked", listed},
	{"a task that waits is resumed by another process", resumed},
	{"of many processes one does a task", raced},
	{"a task that was cancelled is not settled any more", cancelled},
	{"what a dead process left is failed at its deadline, once", expired},
	{"a task that was deleted is gone", deleted},
	{"a worker behind HTTP works once, however often it is asked", remote},
	{"a worker behind HTTP is told of a cancel", remoteCancel},
	{"a cancel that comes before its request holds", withdrawn},
	{"a newer attempt takes the place of an older one", newer},
	{"a worker is told what another process did to its task", watched},
	{"what cannot be kept is a failure with the reason", unkept},
}

// Run tests a store by all rules. open returns a store without tasks.
func Run(t *testing.T, open func(t testing.TB) document.Store) {
	for _, r := range Rules {
		t.Run(r.Name, func(t *testing.T) { r.Test(t, open(t)) })
	}
}

// Test tests a store by one rule.
func (r Rule) Test(t testing.TB, docs document.Store) {
	w := &world{TB: t, ctx: t.Context(), rule: r.Name, docs: docs, now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	w.b, w.other = w.board(), w.board()
	r.test(w)
}

// world is two boards over a store under test, with a clock that each look moves on.
type world struct {
	testing.TB
	ctx      context.Context
	rule     string
	docs     document.Store
	b, other *tasks.Board
	mu       sync.Mutex
	now      time.Time
}

func (w *world) board() *tasks.Board {
	b := tasks.NewBoard(w.docs)
	b.Now = func() time.Time {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.now = w.now.Add(time.Millisecond)
		return w.now
	}
	return b
}

func (w *world) later(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) create(t tasks.Task) {
	w.Helper()
	if _, err := w.b.Create(w.ctx, t); err != nil {
		w.Fatalf("create: %v", err)
	}
}

// is demands a status of a stored task, and a part of its reason.
func (w *world) is(id string, status tasks.Status, reason string) tasks.Task {
	w.Helper()
	t, err := w.other.Get(w.ctx, id)
	if err != nil || t.Status != status || !strings.Contains(t.Reason, reason) {
		w.Errorf("rule: %s\n got: task %q is %q, %q, %v\nwant: %q, %q", w.rule, id, t.Status, t.Reason, err, status, reason)
	}
	return t
}

func (w *world) fails(err, kind error) {
	w.Helper()
	if !errors.Is(err, kind) {
		w.Errorf("rule: %s\n got: %v\nwant: an error that is %q", w.rule, err, kind)
	}
}

// leaves is a worker that leaves its tasks so.
func leaves(o tasks.Outcome) tasks.Worker {
	return tasks.WorkerFunc(func(context.Context, tasks.Task) (tasks.Outcome, error) { return o, nil })
}

func stored(w *world) {
	given := tasks.Task{
		ID: "odd/id ?é", Thread: "t", Type: "poem", Source: "a", Target: "b", Priority: -3, Tags: []string{"x", ""},
		Input: json.RawMessage(`{"n":1e3,"s":"ä<>&\u2028"}`), Timeout: time.Minute,
	}
	made, err := w.b.Create(w.ctx, given)
	if err != nil {
		w.Fatal(err)
	}
	got := w.is(given.ID, tasks.Pending, "")
	if a, b := text(made), text(got); a != b || len(got.Tags) != 2 || got.Priority != -3 || got.Created.IsZero() {
		w.Errorf("rule: %s\n got: %s\nwant: %s", w.rule, b, a)
	}
	_, err = w.other.Get(w.ctx, "another")
	w.fails(err, tasks.ErrNotFound)
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func once(w *world) {
	w.create(tasks.Task{ID: "a", Type: "first"})
	_, err := w.other.Create(w.ctx, tasks.Task{ID: "a", Type: "second"})
	w.fails(err, tasks.ErrExists)
	if got := w.is("a", tasks.Pending, ""); got.Type != "first" {
		w.Errorf("rule: %s\n got: %q", w.rule, got.Type)
	}
}

func moves(w *world) {
	for _, end := range []tasks.Outcome{{Status: tasks.Completed, Result: json.RawMessage(`1`)}, {Status: tasks.Failed, Reason: "no ink"}, {Status: tasks.Review, Result: json.RawMessage(`2`)}} {
		id := string(end.Status)
		w.create(tasks.Task{ID: id})
		_, err := w.other.Complete(w.ctx, id, json.RawMessage(`0`))
		w.fails(err, tasks.ErrTransition) // nobody has begun
		if _, err := w.b.Run(w.ctx, id, leaves(end)); err != nil {
			w.Errorf("run: %v", err)
		}
		got := w.is(id, end.Status, end.Reason)
		if string(got.Result) != string(end.Result) || got.Attempt != 1 {
			w.Errorf("rule: %s\n got: %s", w.rule, text(got))
		}
		_, err = w.other.Run(w.ctx, id, leaves(tasks.Outcome{}))
		w.fails(err, tasks.ErrTransition)
	}
	if _, err := w.other.Complete(w.ctx, string(tasks.Review), json.RawMessage(`3`)); err != nil {
		w.Errorf("complete: %v", err)
	}
	w.is(string(tasks.Review), tasks.Completed, "")
	_, err := w.b.Cancel(w.ctx, string(tasks.Completed), "late")
	w.fails(err, tasks.ErrTransition)
}

func listed(w *world) {
	for i := range 6 {
		w.create(tasks.Task{ID: fmt.Sprint(i), Thread: fmt.Sprint("t", i%2), Target: fmt.Sprint("a", i%3), Source: "s"})
	}
	if _, err := w.b.Run(w.ctx, "2", leaves(tasks.Outcome{})); err != nil {
		w.Fatal(err)
	}
	for _, c := range []struct {
		q    tasks.Query
		want string
	}{
		{tasks.Query{}, "5 4 3 2 1 0"}, {tasks.Query{Thread: "t0"}, "4 2 0"}, {tasks.Query{Thread: "t0", Target: "a2", Source: "s"}, "2"},
		{tasks.Query{Status: []tasks.Status{tasks.Completed, tasks.Failed}}, "2"}, {tasks.Query{Skip: 1, Limit: new(2)}, "4 3"},
		{tasks.Query{Limit: new(0)}, ""}, {tasks.Query{Source: "nobody"}, ""},
	} {
		list, err := w.other.List(w.ctx, c.q)
		var ids []string
		for _, t := range list {
			ids = append(ids, t.ID)
		}
		if got := strings.Join(ids, " "); got != c.want || err != nil {
			w.Errorf("rule: %s\n got: %q, %v\nwant: %q of %+v", w.rule, got, err, c.want, c.q)
		}
	}
}

func resumed(w *world) {
	w.create(tasks.Task{ID: "a"})
	if _, err := w.b.Run(w.ctx, "a", leaves(tasks.Outcome{Status: tasks.Waiting, Question: json.RawMessage(`"rhyme?"`)})); err != nil {
		w.Fatal(err)
	}
	if got := w.is("a", tasks.Waiting, ""); string(got.Question) != `"rhyme?"` {
		w.Errorf("rule: %s\n got: the question %s", w.rule, got.Question)
	}
	_, err := w.other.Resume(w.ctx, "a", json.RawMessage(`"yes"`), tasks.WorkerFunc(func(_ context.Context, t tasks.Task) (tasks.Outcome, error) {
		return tasks.Outcome{Result: t.Answer}, nil
	}))
	if got := w.is("a", tasks.Completed, ""); err != nil || string(got.Result) != `"yes"` || got.Attempt != 2 {
		w.Errorf("rule: %s\n got: %s, %v", w.rule, text(got), err)
	}
}

func raced(w *world) {
	const workers = 4
	for n := range 5 {
		id := fmt.Sprint(n)
		w.create(tasks.Task{ID: id})
		var done, refused atomic.Int64
		var wg sync.WaitGroup
		for range workers {
			b := w.board()
			wg.Go(func() {
				_, err := b.Run(w.ctx, id, tasks.WorkerFunc(func(context.Context, tasks.Task) (tasks.Outcome, error) {
					done.Add(1)
					return tasks.Outcome{}, nil
				}))
				if errors.Is(err, tasks.ErrTransition) {
					refused.Add(1)
				} else if err != nil {
					w.Errorf("run: %v", err)
				}
			})
		}
		wg.Wait()
		if done.Load() != 1 || refused.Load() != workers-1 {
			w.Errorf("rule: %s\n got: done %d times, %d refused", w.rule, done.Load(), refused.Load())
		}
	}
}

func cancelled(w *world) {
	w.create(tasks.Task{ID: "a"})
	_, err := w.b.Run(w.ctx, "a", tasks.WorkerFunc(func(context.Context, tasks.Task) (tasks.Outcome, error) {
		if _, err := w.other.Cancel(w.ctx, "a", "no longer needed"); err != nil {
			w.Errorf("cancel: %v", err)
		}
		return tasks.Outcome{Result: json.RawMessage(`"late"`)}, nil
	}))
	w.fails(err, tasks.ErrTransition)
	if got := w.is("a", tasks.Cancelled, "no longer needed"); got.Result != nil {
		w.Errorf("rule: %s\n got: %s", w.rule, got.Result)
	}
}

func expired(w *world) {
	for id, timeout := range map[string]time.Duration{"short": time.Minute, "long": time.Hour, "endless": 0} {
		w.create(tasks.Task{ID: id, Timeout: timeout})
	}
	work := tasks.WorkerFunc(func(context.Context, tasks.Task) (tasks.Outcome, error) {
		if list, err := w.other.Expire(w.ctx); err != nil || len(list) != 0 {
			w.Errorf("rule: before a deadline nothing expires\n got: %d, %v", len(list), err)
		}
		w.later(2 * time.Minute)
		list, err := w.other.Expire(w.ctx)
		again, err2 := w.other.Expire(w.ctx)
		if err != nil || err2 != nil || len(list) != 1 || list[0].ID != "short" || len(again) != 0 {
			w.Errorf("rule: %s\n got: %s and then %s, %v, %v", w.rule, text(list), text(again), err, err2)
		}
		return tasks.Outcome{Result: json.RawMessage(`"late"`)}, nil
	})
	_, err := w.b.Run(w.ctx, "short", work)
	w.fails(err, tasks.ErrTransition)
	w.is("short", tasks.Failed, "deadline")
	w.is("long", tasks.Pending, "")
}

func deleted(w *world) {
	w.create(tasks.Task{ID: "a"})
	w.create(tasks.Task{ID: "b"})
	if err := w.b.Delete(w.ctx, "a"); err != nil {
		w.Errorf("delete: %v", err)
	}
	w.fails(w.other.Delete(w.ctx, "a"), tasks.ErrNotFound)
	_, err := w.other.Run(w.ctx, "a", leaves(tasks.Outcome{}))
	w.fails(err, tasks.ErrNotFound)
	w.is("b", tasks.Pending, "")
	w.create(tasks.Task{ID: "a"}) // the id is free again
}

package taskstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/tasks"
)

// behind returns a worker behind HTTP, with a board of its own in the same store.
func (w *world) behind(worker tasks.Worker) tasks.Remote {
	theirs := w.board()
	theirs.Collection = "theirs"
	server := httptest.NewServer(tasks.Handler(theirs, worker))
	w.Cleanup(server.Close)
	w.Cleanup(server.Client().CloseIdleConnections)
	return tasks.Remote{URL: server.URL, Client: server.Client(), Pause: func(context.Context, int) error { return nil }}
}

// patient is a worker that works until it is told to end, or the rule has seen enough.
type patient struct {
	begun, enough chan bool
	notified      chan bool // one for each time
}

func newPatient() patient { return patient{make(chan bool), make(chan bool), make(chan bool, 1)} }

// Do implements tasks.Worker.
func (p patient) Do(ctx context.Context, _ tasks.Task) (tasks.Outcome, error) {
	p.begun <- true
	select {
	case <-ctx.Done():
	case <-p.enough:
	}
	p.notified <- ctx.Err() != nil
	return tasks.Outcome{}, ctx.Err()
}

// runs lets a worker do task a, and reports whether the patient has begun with it.
func (w *world) runs(worker tasks.Worker, p patient) (ended chan error, begun bool) {
	ended = make(chan error, 1)
	go func() { _, err := w.b.Run(w.ctx, "a", worker); ended <- err }()
	select {
	case <-p.begun:
		return ended, true
	case err := <-ended:
		w.Errorf("rule: %s\n got: the worker did not begin: %v", w.rule, err)
		return ended, false
	}
}

func remote(w *world) {
	var worked atomic.Int64
	r := w.behind(tasks.WorkerFunc(func(_ context.Context, t tasks.Task) (tasks.Outcome, error) {
		worked.Add(1)
		return tasks.Outcome{Result: fmt.Appendf(nil, "%q", t.ID)}, nil
	}))
	w.create(tasks.Task{ID: "a"})
	if _, err := w.b.Run(w.ctx, "a", r); err != nil {
		w.Errorf("run: %v", err)
	}
	got := w.is("a", tasks.Completed, "")
	out, err := r.Do(w.ctx, got) // as one whose reply was lost
	if err != nil || string(out.Result) != `"a"` || string(got.Result) != `"a"` || worked.Load() != 1 {
		w.Errorf("rule: %s\n got: %s and %s, worked %d times, %v", w.rule, got.Result, out.Result, worked.Load(), err)
	}
}

func remoteCancel(w *world) {
	p := newPatient()
	r := w.behind(p)
	w.create(tasks.Task{ID: "a"})
	ended, begun := w.runs(r, p)
	if !begun {
		return
	}
	_, err := w.b.Cancel(w.ctx, "a", "no longer needed")
	if err == nil {
		w.fails(<-ended, tasks.ErrTransition)
	}
	close(p.enough)
	if notified := <-p.notified; err != nil || !notified {
		w.Errorf("rule: %s\n got: told %v, %v", w.rule, notified, err)
	}
	w.is("a", tasks.Cancelled, "no longer needed")
	if t, err := r.Get(w.ctx, "a"); err != nil || t.Status != tasks.Cancelled {
		w.Errorf("rule: %s\n got: %s, %v", w.rule, text(t), err)
	}
	_, err = r.Get(w.ctx, "b")
	w.fails(err, tasks.ErrNotFound)
}

func withdrawn(w *world) {
	var worked atomic.Int64
	r := w.behind(tasks.WorkerFunc(func(context.Context, tasks.Task) (tasks.Outcome, error) {
		worked.Add(1)
		return tasks.Outcome{}, nil
	}))
	for range 2 {
		if t, err := r.Cancel(w.ctx, "a", 2, "too slow"); err != nil || t.Status != tasks.Cancelled || t.Reason != "too slow" {
			w.Errorf("rule: %s\n got: %s, %v", w.rule, text(t), err)
		}
	}
	out, err := r.Do(w.ctx, tasks.Task{ID: "a", Attempt: 2})
	if err != nil || out.Status != tasks.Failed || !strings.Contains(out.Reason, "too slow") || worked.Load() != 0 {
		w.Errorf("rule: %s\n got: %s, %v, worked %d times", w.rule, text(out), err, worked.Load())
	}
}

func newer(w *world) {
	r := w.behind(tasks.WorkerFunc(func(_ context.Context, t tasks.Task) (tasks.Outcome, error) {
		if t.Answer == nil {
			return tasks.Outcome{Status: tasks.Waiting, Question: json.RawMessage(`"rhyme?"`)}, nil
		}
		return tasks.Outcome{Result: t.Answer}, nil
	}))
	w.create(tasks.Task{ID: "a"})
	if t, err := w.b.Run(w.ctx, "a", r); err != nil || t.Status != tasks.Waiting {
		w.Errorf("rule: %s\n got: %s, %v", w.rule, text(t), err)
	}
	if _, err := w.other.Resume(w.ctx, "a", json.RawMessage(`"yes"`), r); err != nil {
		w.Errorf("resume: %v", err)
	}
	w.is("a", tasks.Completed, "")
	if t, err := r.Get(w.ctx, "a"); err != nil || t.Attempt != 2 || string(t.Result) != `"yes"` {
		w.Errorf("rule: %s\n got: %s, %v", w.rule, text(t), err)
	}
	_, err := r.Do(w.ctx, tasks.Task{ID: "a", Attempt: 1})
	w.fails(err, tasks.ErrStale)
}

// looks counts how often a document is read, and says when that was enough.
type looks struct {
	document.Store
	left   atomic.Int64
	enough func()
}

func (l *looks) Get(ctx context.Context, p document.Place, id string) (document.Doc, error) {
	if l.left.Add(-1) == 0 {
		l.enough()
	}
	return l.Store.Get(ctx, p, id)
}

func watched(w *world) {
	p := newPatient()
	seen := &looks{Store: w.docs, enough: func() { close(p.enough) }}
	w.b = tasks.NewBoard(seen)
	w.b.Watch = time.Millisecond
	w.create(tasks.Task{ID: "a"})
	ended, begun := w.runs(p, p)
	if !begun {
		return
	}
	_, err := w.other.Cancel(w.ctx, "a", "")
	seen.left.Store(100)
	if notified := <-p.notified; err != nil || !notified {
		w.Errorf("rule: %s\n got: told %v, %v", w.rule, notified, err)
	}
	w.fails(<-ended, tasks.ErrTransition)
}

func unkept(w *world) {
	for id, result := range map[string]string{"large": `"` + strings.Repeat("x", 5<<20) + `"`, "deep": strings.Repeat("[", 200) + strings.Repeat("]", 200)} {
		w.create(tasks.Task{ID: id})
		if _, err := w.b.Run(w.ctx, id, leaves(tasks.Outcome{Result: json.RawMessage(result)})); err != nil && !errors.Is(err, tasks.ErrTransition) {
			w.Errorf("rule: %s\n got: %v", w.rule, err)
		}
		w.is(id, tasks.Failed, "cannot be kept")
	}
}

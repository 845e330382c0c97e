package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/queue"
)

// refusal is a document store that refuses the next batches with a document that has all of texts.
type refusal struct {
	document.Store
	mu    sync.Mutex
	texts []string
	err   error
	left  int // batches to refuse
}

func (s *refusal) Batch(ctx context.Context, p document.Place, changes []document.Change) ([]document.Doc, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range changes {
		missing := false
		for _, text := range s.texts {
			missing = missing || !strings.Contains(string(c.Value), text)
		}
		if s.left > 0 && !missing {
			s.left--
			return nil, s.err
		}
	}
	return s.Store.Batch(ctx, p, changes)
}

// refuse refuses n batches with a document that has all of texts.
func (s *refusal) refuse(n int, err error, texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left, s.err, s.texts = n, err, texts
}

// single is a server of one graph, with one node.
type single struct {
	*testing.T
	*Server
	docs *refusal
}

func newSingle(t *testing.T, node func(context.Context, *onceState) error, change ...func(*Config)) *single {
	docs := &refusal{Store: new(document.Map)}
	c := Config{Store: new(checkpoint.Memory), Documents: docs, Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&c)
	}
	b := graph.New[onceState]("g")
	b.Node("a", graph.Func(node))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	g, err := b.Compile(graph.Config{Store: c.Store})
	if err != nil {
		t.Fatal(err)
	}
	c.Graphs = map[string]graph.Untyped{"g": g.Untyped()}
	s, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return &single{t, s, docs}
}

// call makes a request, such as "POST /threads".
func (s *single) call(request, body string) gjson.Result {
	s.Helper()
	method, path, _ := strings.Cut(request, " ")
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	s.ServeHTTP(w, r)
	if w.Code >= 300 {
		s.Fatalf("%s: status %d: %s", request, w.Code, w.Body)
	}
	return gjson.Parse(w.Body.String())
}

// start creates a run on a thread, with more members of the request.
func (s *single) start(thread, members string) (id string) {
	s.Helper()
	return s.call("POST /threads/"+thread+"/runs", `{"assistant_id":"g",`+members+`}`).Get("run_id").String()
}

// work works until the runs of a thread have ended, and returns the last one.
func (s *single) work(thread string) (last queue.Run) {
	s.Helper()
	ctx, stop := context.WithCancel(s.Context())
	unfinished, err := s.queue.Unfinished(ctx, thread)
	ended := make(chan struct{})
	go func() { s.worker(Workers{Slots: 4}).Work(ctx); close(ended) }()
	for _, id := range unfinished {
		if last, err = s.queue.Wait(ctx, thread, id); err != nil {
			s.Error(err)
		}
	}
	if err != nil || len(unfinished) == 0 {
		s.Errorf("%d runs to work on, and error %v", len(unfinished), err)
	}
	stop()
	<-ended
	return last
}

// asksTwice asks two questions, one after the other.
func asksTwice(ctx context.Context, s *onceState) error {
	for _, prompt := range []string{"pay 1?", "pay 1000?"} {
		answer, err := graph.Ask[string](ctx, graph.Question{Prompt: prompt})
		if err != nil {
			return err
		}
		s.Log.Append(answer)
	}
	return nil
}

func TestRun_ResumeAnswersOnlyWhatWasOpen(t *testing.T) {
	died := errors.New("the process died")
	for name, resume := range map[string]string{"value": `"yes"`, "by id": `{"ID":"yes"}`} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSingle(t, asksTwice)
				thread := s.call("POST /threads", `{}`).Get("thread_id").String()
				s.start(thread, `"input":{}`)
				s.work(thread)
				id := s.call("GET /threads/"+thread+"/state", ``).Get("interrupts.0.id").String()
				run := s.start(thread, `"command":{"resume":`+strings.ReplaceAll(resume, "ID", id)+`}`)
				s.docs.refuse(1, died, run, `"waiting":true`)
				s.asks(thread, "pay 1000?")
			})
		})
	}
	t.Run("behind another run", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newSingle(t, asksTwice)
			thread := s.call("POST /threads", `{}`).Get("thread_id").String()
			s.start(thread, `"input":{}`)
			run := s.start(thread, `"command":{"resume":"yes"}`)
			s.docs.refuse(1, died, run, `"waiting":true`)
			s.asks(thread, "pay 1000?")
		})
	})
	t.Run("behind another run, with nothing to answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newSingle(t, asksTwice)
			thread := s.call("POST /threads", `{}`).Get("thread_id").String()
			s.start(thread, `"input":{},"interrupt_before":["a"]`)
			run := s.start(thread, `"command":{"resume":"yes"}`)
			s.docs.refuse(1, died, run, `"waiting":true`)
			s.asks(thread, "pay 1?")
		})
	})
}

// asks fails the test unless the last run of a thread has ended with its second attempt, and asks
// this question alone.
func (s *single) asks(thread, prompt string) {
	s.Helper()
	r := s.work(thread)
	state := s.call("GET /threads/"+thread+"/state", ``)
	if r.Status != queue.Success || r.Attempt != 2 || state.Get("interrupts.#").Int() != 1 || !strings.Contains(state.Get("interrupts").Raw, prompt) {
		s.Errorf("the run is %s after attempt %d, error %v, and asks %s; want attempt 2 and the question %q",
			r.Status, r.Attempt, r.Error, state.Get("interrupts"), prompt)
	}
}

// Two runs are given up, since their processes have died. Three are cancelled: two before any run
// began, and one behind a run that is running.
func TestRun_EndsWithoutAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSingle(t, func(context.Context, *onceState) error { return nil })
		begin := func(path, members string) (run, thread string) {
			made := s.call("POST "+path+"/runs", `{"assistant_id":"g","input":{},"webhook":"/hook"`+members+`}`)
			return made.Get("run_id").String(), made.Get("thread_id").String()
		}
		thread := func() string { return "/threads/" + s.call("POST /threads", `{}`).Get("thread_id").String() }
		claim := func(want int) {
			t.Helper()
			claims, err := s.queue.Claim(t.Context(), 8)
			for _, c := range claims {
				c.Abandon()
			}
			if err != nil || len(claims) != want {
				t.Errorf("Claim returned %d claims and error %v, want %d", len(claims), err, want)
			}
		}
		// ended checks the webhook of a run, and the status of the record of its thread; "" is a
		// thread that is to be removed.
		ended := func(run, thread, webhook, status string) {
			t.Helper()
			d, err := s.docs.Get(t.Context(), s.webhooks.place, run)
			body := gjson.GetBytes(d.Value, "body")
			if got := strings.TrimSpace(body.Get("status").String() + " " + body.Get("error.error").String()); err != nil || got != webhook {
				t.Errorf("the webhook has status %q and error %v, want %q", got, err, webhook)
			}
			if _, left, err := s.leftovers.get(t.Context(), thread); left != (status == "") || err != nil {
				t.Errorf("the thread is to be removed: %v with error %v, want %v", left, err, !left)
			}
			if r, found, err := s.threads.get(t.Context(), thread); found != (status != "") || string(r.record.Status) != status || err != nil {
				t.Errorf("the thread has status %q with error %v, want %q", r.record.Status, err, status)
			}
		}
		given, on := begin(thread(), "")
		givenOwn, ownThread := begin("", `,"on_completion":"delete"`)
		for range 3 {
			claim(2)
			time.Sleep(2 * queue.DefaultLease)
		}
		claim(0)
		ended(given, on, "error "+queue.AttemptsExceeded, "error")
		ended(givenOwn, ownThread, "error "+queue.AttemptsExceeded, "")

		cancelled, other := begin(thread(), "")
		s.call("POST /threads/"+other+"/runs/"+cancelled+"/cancel", "")
		ended(cancelled, other, "interrupted", "idle")
		own, last := begin("", `,"on_completion":"delete"`)
		r, err := s.queue.Get(t.Context(), last, own)
		if err := errors.Join(err, s.cancel(t.Context(), r, queue.Stop)); err != nil {
			t.Error(err)
		}
		ended(own, last, "interrupted", "")

		begin("/threads/"+other, "")
		claim(1)
		behind, _ := begin("/threads/"+other, "")
		s.call("POST /threads/"+other+"/runs/"+behind+"/cancel", "")
		ended(behind, other, "interrupted", "busy")

		time.Sleep(leftoverTime)
		if err := s.removeLeftovers(t.Context()); err != nil {
			t.Error(err)
		}
		for _, id := range []string{ownThread, last} {
			if runs, err := s.queue.List(t.Context(), id); err != nil || len(runs) > 0 {
				t.Errorf("%d runs are left with error %v, want none", len(runs), err)
			}
		}
	})
}

package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/queue"
)

// What clients get of the end of a run is stored in documents, which have limits.
func TestRun_WhoseEndIsLarge(t *testing.T) {
	for name, c := range map[string]struct {
		node   func(context.Context, *onceState) error
		status queue.Status
	}{
		"state": {func(_ context.Context, s *onceState) error {
			s.Log.Append(strings.Repeat("x", document.MaxValue))
			return nil
		}, queue.Success},
		"error": {func(context.Context, *onceState) error { return errors.New(strings.Repeat("é", document.MaxValue)) }, queue.Failed},
		"question": {func(ctx context.Context, _ *onceState) error {
			_, err := graph.Ask[string](ctx, graph.Question{Prompt: "pay?", Data: json.RawMessage(`"` + strings.Repeat("x", document.MaxValue) + `"`)})
			return err
		}, queue.Success},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSingle(t, c.node)
				thread := s.thread()
				run := s.start(thread, `"input":{},"webhook":"/hook"`)
				if r := s.work(thread); r.Status != c.status || r.Attempt != 1 {
					t.Errorf("the run is %s after attempt %d, want %s after 1: %.200v", r.Status, r.Attempt, c.status, r.Error)
				}
				d, err := s.docs.Get(t.Context(), s.webhooks.place, run)
				body := gjson.GetBytes(d.Value, "body")
				if large := name == "state"; err != nil || body.Get("status").String() != string(c.status) || body.Get("values_left_out").Exists() != large {
					t.Errorf("the webhook is %.200s with error %v", body, err)
				}
			})
		})
	}
}

// A run ends with the graph that it began with, and so does its webhook.
func TestRun_WhoseGraphIsServedNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *single
		s = newSingle(t, func(ctx context.Context, state *onceState) error {
			other := newSingle(t, adds)
			if err := s.SetGraphs(ctx, map[string]graph.Untyped{"other": other.served.Load().graphs["g"]}); err != nil {
				t.Error(err)
			}
			return adds(ctx, state)
		})
		thread := s.thread()
		run := s.start(thread, `"input":{},"webhook":"/hook"`)
		if r := s.work(thread); r.Status != queue.Success || r.Attempt != 1 {
			t.Errorf("the run is %s after attempt %d, want success after 1: %v", r.Status, r.Attempt, r.Error)
		}
		if d, err := s.docs.Get(t.Context(), s.webhooks.place, run); err != nil || gjson.GetBytes(d.Value, "body.status").String() != "success" {
			t.Errorf("the webhook is %s with error %v", d.Value, err)
		}
	})
}

func TestRun_CancelledBeforeItHasDoneAnything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSingle(t, asksTwice)
		thread := s.thread()
		s.start(thread, `"input":{}`)
		s.work(thread)
		run := s.start(thread, `"input":{}`)
		claims, err := s.queue.Claim(t.Context(), 1)
		if err != nil || len(claims) != 1 {
			t.Fatalf("%d claims and error %v", len(claims), err)
		}
		claims[0].Abandon() // its process dies
		s.call("POST /threads/"+thread+"/runs/"+run+"/cancel", "")
		time.Sleep(2 * queue.DefaultLease)
		s.work(thread)
		s.waits(thread, "pay 1?")
	})
}

// waits fails the test unless the record of a thread shows a question.
func (s *single) waits(thread, prompt string) {
	s.Helper()
	got := s.call("GET /threads/"+thread, "")
	if got.Get("status").String() != "interrupted" || !strings.Contains(got.Get("interrupts").Raw, prompt) {
		s.Errorf("the thread is %s with the questions %s; want interrupted with %q", got.Get("status"), got.Get("interrupts"), prompt)
	}
}

// asksAnything is asksTwice with questions that take any answer.
func asksAnything(ctx context.Context, s *onceState) error {
	for _, prompt := range []string{"pay 1?", "pay 1000?"} {
		answer, err := graph.Ask[any](ctx, graph.Question{Prompt: prompt})
		if err != nil {
			return err
		}
		s.Log.Append(fmt.Sprint(answer))
	}
	return nil
}

func TestResume_OfAQuestionThatAnotherRunAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSingle(t, asksAnything)
		thread := s.thread()
		s.start(thread, `"input":{}`)
		s.work(thread)
		id := s.call("GET /threads/"+thread+"/state", ``).Get("interrupts.0.id").String()
		body := `{"assistant_id":"g","command":{"resume":{"` + id + `":"yes"}}}`
		for range 2 { // the second is one click too many
			s.call("POST /threads/"+thread+"/runs", body)
		}
		s.work(thread)
		s.waits(thread, "pay 1000?")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("POST", "/threads/"+thread+"/runs", strings.NewReader(body)))
		if w.Code != http.StatusConflict {
			t.Errorf("a later answer has status %d, want %d: %s", w.Code, http.StatusConflict, w.Body)
		}
	})
}

// A task of the Agent2Agent protocol may ask more than once.
func TestA2A_TaskIsItsNewestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSingle(t, asksTwice)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { s.worker(Workers{Slots: 1}).Work(ctx); close(ended) }()
		task := ""
		state := func(method, params string) string {
			t.Helper()
			got := s.call("POST /a2a/g", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`)
			task = got.Get("result.id").String()
			return got.Get("result.status.state").String() + got.Get("error.message").String()
		}
		send := func(part string) string {
			return state("message/send", `{"message":{"kind":"message","role":"user","messageId":"m","taskId":"`+task+`","parts":[`+part+`]}}`)
		}
		for i, want := range []string{"input-required", "input-required", "completed"} {
			part := `{"kind":"text","text":"yes"}`
			if i == 0 {
				part = `{"kind":"data","data":{}}`
			}
			if got := send(part); got != want {
				t.Errorf("after message %d the task is %s, want %s", i+1, got, want)
			}
			if got := state("tasks/get", `{"id":"`+task+`"}`); got != want {
				t.Errorf("after message %d tasks/get shows that the task is %s, want %s", i+1, got, want)
			}
		}
		stop()
		<-ended
	})
}

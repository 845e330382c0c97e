package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
)

func TestUpdateCron_AtOnce(t *testing.T) {
	docs := new(eventful)
	s := newSingle(t, adds, withEvents(docs))
	cron := s.call("POST /runs/crons", `{"assistant_id":"g","input":{},"schedule":"0 * * * *"}`).Get("cron_id").String()
	docs.once("weft.cronsdue", cron, func() { s.call("PATCH /runs/crons/"+cron, `{"enabled":true,"schedule":"30 * * * *"}`) })
	s.call("PATCH /runs/crons/"+cron, `{"enabled":false}`)
	next := s.call("GET /runs/crons/"+cron, "")
	d, err := docs.Get(t.Context(), s.crons.due, cron)
	if at, _ := document.TimeOf(d.Order); err != nil || at.Format(time.RFC3339) != next.Get("next_run_date").Time().Format(time.RFC3339) {
		t.Errorf("the cron is due at %v with error %v, and enabled is %s for %s", at, err, next.Get("enabled"), next.Get("next_run_date"))
	}
}

func TestWork_FiresCronsWhileThreadsAreRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, release := &laden{Memory: new(checkpoint.Memory)}, make(chan struct{})
		store.remove = func(context.Context, string) error { <-release; return nil }
		s := newSingle(t, adds, withStore(store))
		s.call("POST /threads", `{"ttl":1}`)
		s.call("POST /runs/crons", `{"assistant_id":"g","input":{},"schedule":"* * * * *","on_run_completed":"keep"}`)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { s.Work(ctx, Workers{}); close(ended) }()
		time.Sleep(5*time.Minute + time.Second)
		if got := s.call("POST /threads/count", `{"metadata":{"graph_id":"g"}}`).Int(); got != 5 {
			t.Errorf("in 5 minutes a cron of each minute was fired %d times while a thread was removed, want 5", got)
		}
		close(release)
		stop()
		<-ended
	})
}

func TestSweep_FailuresKeepNoOtherWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &laden{Memory: new(checkpoint.Memory)}
		s := newSingle(t, adds, withStore(store))
		first := s.call("POST /threads", `{"ttl":1}`).Get("thread_id").String()
		time.Sleep(time.Second)
		s.call("POST /threads", `{"ttl":1}`)
		broken := errors.New("the thread is broken")
		store.remove = func(_ context.Context, thread string) error {
			if thread == first {
				return broken
			}
			return nil
		}
		time.Sleep(time.Hour)
		if n, err := s.sweep(t.Context()); n != 2 || !errors.Is(err, broken) {
			t.Errorf("%d threads were removed with error %v; want both, and the error of the first", n, err)
		}
		for range 2 {
			s.call("POST /runs", `{"assistant_id":"g","input":{}}`)
		}
		s.leftAll()
		store.remove = func(context.Context, string) error { store.remove = nil; return broken }
		time.Sleep(leftoverTime)
		left := 0
		if err := s.removeLeftovers(t.Context()); !errors.Is(err, broken) {
			t.Errorf("the error is %v", err)
		}
		if err := s.leftovers.each(t.Context(), func(stored[leftover]) error { left++; return nil }); err != nil || left != 1 {
			t.Errorf("%d threads are left with error %v, want that with the error", left, err)
		}
	})
}

// leftAll runs all runs to their ends.
func (s *single) leftAll() {
	s.Helper()
	for r, err := range s.queue.Active(s.Context()) {
		if err != nil {
			s.Fatal(err)
		}
		s.work(r.Thread)
	}
}

func TestWebhooks_OutliveAHandlerThatPanics(t *testing.T) {
	docs, c := new(document.Map), &clock{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	var mu sync.Mutex
	var failed []string
	mux := http.NewServeMux()
	mux.HandleFunc("/hook", func(http.ResponseWriter, *http.Request) { panic("no such order") })
	w := newWebhooks(docs, Config{Now: c.now, Routes: mux}, func(_ string, err error) {
		mu.Lock()
		defer mu.Unlock()
		failed = append(failed, err.Error())
	})
	if err := w.add(t.Context(), "run", "/hook", []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	for range len(webhookWaits) + 1 {
		c.deliver(t, w, time.Minute, 1)
	}
	if len(failed) != 1 || !strings.Contains(failed[0], "no such order") {
		t.Errorf("the failures are %q, want one with the panic", failed)
	}
}

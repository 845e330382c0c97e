package server_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server"
)

// Requirement: A stopping server drains
func TestDrain_RefusesWhatWouldWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		store := &checkpoint.Memory{}
		s := newServer(t, store, func(c *server.Config) {
			c.Graphs = map[string]graph.Untyped{"waits": chain(t, store, gate, "wait")}
		})
		abort := make(chan struct{})
		working, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			s.Work(working, server.Workers{Drain: time.Hour, Grace: time.Minute, Abort: abort})
			close(ended)
		}()
		c := newClient(t, s)
		c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
		c.do(step{request: "POST /threads/{t}/runs", body: `{"assistant_id":"waits","input":{"topic":"tea"}}`, status: 200, save: "r=run_id"})
		requests, cut := context.WithCancel(t.Context())
		answered := make(chan string, 2)
		for _, view := range []string{"join", "stream"} {
			go func() {
				w := httptest.NewRecorder()
				defer func() {
					recover() // net/http breaks the connection of a wait that has begun
					answered <- w.Body.String()
				}()
				r := httptest.NewRequest("GET", c.expand("/threads/{t}/runs/{r}/"+view+"?cancel_on_disconnect=1"), nil)
				s.ServeHTTP(w, r.WithContext(requests))
			}()
		}
		time.Sleep(3 * time.Second) // of fake time: both wait
		s.Drain()
		stop()
		refused := step{status: 503, want: "code=draining\nheader Retry-After=1", header: "X-Weft-Dialect: py"}
		for _, request := range []string{
			"GET /threads/{t}/runs/{r}/join", "GET /threads/{t}/runs/{r}/stream", "GET /runs/{r}/join", "GET /runs/{r}/stream",
			"POST /threads/{t}/runs/wait", "POST /threads/{t}/runs/stream", "POST /runs/wait", "POST /runs/stream",
		} {
			refused.request = request
			c.do(refused)
		}
		c.do(step{request: "GET /ok", status: 503, want: "ok=false\nreason=the server stops"})
		c.do(step{request: "GET /threads/{t}/runs/{r}", status: 200, want: "status=running"})
		close(abort)
		<-ended
		cut()
		for range 2 {
			if body := <-answered; strings.Contains(body, "tea") && strings.HasSuffix(body, "}") {
				t.Errorf("the answer of a cut request looks whole: %q", body)
			}
		}
		time.Sleep(time.Second)                                                               // of fake time: for what cancels a run without readers
		c.do(step{request: "GET /threads/{t}/runs/{r}", status: 200, want: "status=pending"}) // for another process
	})
}

func TestSetGraphs_ServesOthers(t *testing.T) {
	store := &checkpoint.Memory{}
	s, stop := startChains(t, store, nil)
	defer stop()
	c := newClient(t, s)
	c.do(step{request: "POST /runs/wait", body: `{"assistant_id":"steps","input":{"topic":"tea"}}`, status: 200, want: `log=["plan","write","publish"]`})
	err := s.SetGraphs(t.Context(), map[string]graph.Untyped{"steps": chain(t, store, nil, "plan"), "new": chain(t, store, nil, "write")})
	if err != nil {
		t.Fatal(err)
	}
	c.do(step{request: "POST /runs/wait", body: `{"assistant_id":"steps","input":{"topic":"tea"}}`, status: 200, want: `log=["plan"]`})
	c.do(step{request: "POST /runs/wait", body: `{"assistant_id":"new","input":{"topic":"tea"}}`, status: 200, want: `log=["write"]`})
	c.do(step{request: "POST /runs/wait", body: `{"assistant_id":"speaks","input":{"topic":"tea"}}`, status: 404})
	if err := s.SetGraphs(t.Context(), nil); err == nil {
		t.Error("a server without graphs is accepted")
	}
	c.do(step{request: "GET /assistants/new", status: 200, want: "graph_id=new"})
}

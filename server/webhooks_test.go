package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/wake"
)

// hook is a server that answers with the next of some statuses, the last one for ever.
type hook struct {
	*httptest.Server
	statuses   []int
	bodies     []string
	deliveries []string
	signature  string
}

func newHook(t *testing.T, statuses ...int) *hook {
	h := &hook{statuses: statuses}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.bodies = append(h.bodies, string(body))
		h.deliveries = append(h.deliveries, r.Header.Get("X-Weft-Delivery"))
		h.signature = r.Header.Get("X-Weft-Signature")
		w.WriteHeader(h.statuses[0])
		if len(h.statuses) > 1 {
			h.statuses = h.statuses[1:]
		}
	}))
	t.Cleanup(h.Close)
	return h
}

func testWebhooks(t *testing.T, docs document.Store, c *clock, allow bool) (w *webhooks, failed *[]error) {
	failed = new([]error)
	w = newWebhooks(docs, Config{
		Now: c.now, Webhooks: Webhooks{Outbound: Outbound{AllowPrivate: allow}, Secret: []byte("secret")},
	}, func(_ string, err error) { *failed = append(*failed, err) })
	t.Cleanup(w.client.CloseIdleConnections)
	return w, failed
}

// deliver delivers what is due at a time, and checks the number of attempts.
func (c *clock) deliver(t *testing.T, w *webhooks, after time.Duration, want int) {
	t.Helper()
	c.at = c.at.Add(after)
	if got, err := w.deliver(t.Context()); err != nil || got != want {
		t.Fatalf("deliver after %v: %d attempts and error %v, want %d", after, got, err, want)
	}
}

// Requirement: Webhooks are delivered at least once
func TestWebhooks_AreTriedThreeTimes(t *testing.T) {
	docs, c := &document.Map{}, &clock{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	w, failed := testWebhooks(t, docs, c, true)
	h := newHook(t, 500, 302, 200)
	for range 2 { // the same id twice
		if err := w.add(t.Context(), "run-1", h.URL, []byte(`{"a":1}`)); err != nil {
			t.Fatal(err)
		}
	}
	c.deliver(t, w, 0, 1)
	c.deliver(t, w, 4*time.Second, 0)
	c.deliver(t, w, time.Second, 1)
	c.deliver(t, w, 20*time.Second, 1)
	c.deliver(t, w, time.Hour, 0)
	if len(h.bodies) != 3 || h.bodies[2] != `{"a":1}` || h.deliveries[2] != "run-1" || len(*failed) != 0 {
		t.Errorf("the server got %q for %q, and %v failed", h.bodies, h.deliveries, *failed)
	}
	if h.signature != sign(`{"a":1}`) || len(h.signature) != len("sha256=")+64 {
		t.Errorf("the signature is %s", h.signature)
	}

	never := newHook(t, 500)
	if err := w.add(t.Context(), "run-2", never.URL, []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := w.deliver(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.at = c.at.Add(time.Minute)
	}
	if len(never.bodies) != 3 || len(*failed) != 1 {
		t.Errorf("a server that fails got %d requests and %d failures were reported, want 3 and 1", len(never.bodies), len(*failed))
	}
}

// The first attempt of a run has failed, and its end could not be stored. The second succeeds.
func TestWebhooks_TheEndThatTheRunHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		s := newSingle(t, func(context.Context, *onceState) error {
			if calls++; calls == 1 {
				return errors.New("no network")
			}
			return nil
		})
		thread := s.call("POST /threads", `{}`).Get("thread_id").String()
		run := s.start(thread, `"input":{},"webhook":"/hook"`)
		s.docs.refuse(1, errors.New("the process died"), run, `"status":"error"`, "no network")
		r := s.work(thread)
		docs, err := s.docs.Query(t.Context(), document.Query{Place: s.webhooks.place})
		if err != nil || len(docs) != 1 || r.Status != queue.Success || r.Attempt != 2 {
			t.Fatalf("the run is %s after attempt %d, with %d webhooks and error %v; want one success, and one webhook", r.Status, r.Attempt, len(docs), err)
		}
		if got := gjson.GetBytes(docs[0].Value, "body.status").String(); got != "success" {
			t.Errorf("the webhook has status %q, want that of the run, success", got)
		}
	})
}

func sign(body string) string {
	w := &webhooks{secret: []byte("secret")}
	var got string
	w.routes = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("X-Weft-Signature") })
	_ = w.send(context.Background(), "x", delivery{URL: "/x", Body: []byte(body)})
	return got
}

func TestWebhooks_ProcessThatEndedDuringTheRequest(t *testing.T) {
	docs, c := &document.Map{}, &clock{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	w, _ := testWebhooks(t, docs, c, true)
	dead, cancel := context.WithCancel(t.Context())
	w.routes = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { cancel() })
	if err := w.add(t.Context(), "run-1", "http://127.0.0.1:1/", []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	docsAt, err := docs.Query(t.Context(), document.Query{Place: w.place})
	if err != nil || len(docsAt) != 1 {
		t.Fatal(docsAt, err)
	}
	cancel()
	if _, _, err := w.attempt(dead, docsAt[0], delivery{URL: "http://127.0.0.1:1/"}); !errors.Is(err, context.Canceled) {
		t.Fatalf("attempt: got %v, want that the context was cancelled", err)
	}
	c.deliver(t, w, webhookClaim, 1)
}

// A host that does not answer keeps no webhook of another waiting for long, and many of one host
// are delivered soon.
func TestWebhooks_AHostThatHangsKeepsNoOtherWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		docs := &document.Map{}
		got := make(chan string, 2000)
		hang := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/hangs" {
				<-r.Context().Done()
				return
			}
			got <- r.URL.Path
		})
		w := newWebhooks(docs, Config{Routes: http.NewServeMux()}, func(string, error) {})
		w.routes = hang
		t.Cleanup(w.client.CloseIdleConnections)
		add := func(n int, path string) {
			for i := range n {
				if err := w.add(t.Context(), fmt.Sprint(path, i), path, []byte(`{}`)); err != nil {
					t.Fatal(err)
				}
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer func() { cancel(); w.running.Wait() }()
		pass := func() {
			if err := w.begin(ctx, "", func(_ bool, err error) {
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}); err != nil {
				t.Error(err)
			}
			time.Sleep(workEvery)
		}
		add(3000, "/hangs")
		begun := time.Now()
		for len(got) < 500 {
			if time.Since(begun) > 15*time.Second {
				t.Fatalf("after %v %d webhooks are delivered, want 500", time.Since(begun), len(got))
			}
			if time.Since(begun) == 0 {
				add(500, "/answers")
			}
			pass()
		}
	})
}

func TestWebhooks_PrivateAddressIsNotTriedAgain(t *testing.T) {
	docs, c := &document.Map{}, &clock{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	w, failed := testWebhooks(t, docs, c, false)
	h := newHook(t, 200)
	if err := w.add(t.Context(), "run-1", h.URL, []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	c.deliver(t, w, 0, 1)
	c.deliver(t, w, time.Hour, 0)
	if len(h.bodies) != 0 || len(*failed) != 1 || !errors.Is((*failed)[0], ErrAddress) {
		t.Errorf("the server got %q, failures %v; want none and ErrAddress", h.bodies, *failed)
	}
}

// A process that has not the flags of a server loses no webhook of one.
func TestWork_WakeOnlyLeavesWebhooksToServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // webhooks are delivered side by side
		var paths []string
		docs := new(document.Map)
		b := graph.New[onceState]("once")
		b.Node("a", graph.Func(func(context.Context, *onceState) error { return nil }))
		b.Edge(graph.Start, "a")
		b.Edge("a", graph.End)
		store := new(checkpoint.Memory)
		g, err := b.Compile(graph.Config{Store: store})
		if err != nil {
			t.Fatal(err)
		}
		process := func(notify string) *Server {
			c := Config{Store: store, Graphs: map[string]graph.Untyped{"once": g.Untyped()}, Documents: docs, Routes: http.NewServeMux(), Log: slog.New(slog.DiscardHandler)}
			c.Webhooks.Notify = notify
			c.Routes.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				paths = append(paths, r.URL.Path)
			})
			s, err := New(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		work := func(s *Server, w Workers) {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				s.Work(ctx, w)
			}()
			time.Sleep(time.Minute)
			cancel()
			<-done
		}
		notifying := process("/notices")
		for id, url := range map[string]string{"run-1": "/runs", "run-2": "http://127.0.0.1:1/", "run-3": "/notices", "notice-x": "/others"} {
			if err := notifying.webhooks.add(t.Context(), id, url, []byte(`{}`)); err != nil {
				t.Fatal(err)
			}
		}
		if err := notifying.notify(t.Context(), wake.Notice{Kind: wake.Reminder, Thread: "t1"}); err != nil {
			t.Fatal(err)
		}
		left := func(want int) {
			t.Helper()
			if all, err := docs.Query(t.Context(), document.Query{Place: notifying.webhooks.place}); err != nil || len(all) != want {
				t.Errorf("%d webhooks are left and error %v, want %d", len(all), err, want)
			}
		}
		work(process(""), Workers{WakeOnly: true})
		left(5)
		work(notifying, Workers{WakeOnly: true})
		left(4)
		if fmt.Sprint(paths) != "[/notices]" {
			t.Errorf("a process that only wakes called %q, want its notice alone", paths)
		}
		work(process(""), Workers{})
		left(0)
		if len(paths) != 4 {
			t.Errorf("after a server has worked the calls are %q, want all but the private one", paths)
		}
	})
}

func TestWebhooks_ChecksURLs(t *testing.T) {
	w, _ := testWebhooks(t, &document.Map{}, &clock{}, false)
	for url, ok := range map[string]bool{
		"": true, "/custom/webhook": true, "https://example.com/x": true, "//evil.example.com": false, "ftp://example.com": false, "x": false, "http://%zz": false,
	} {
		if err := w.check(url); (err == nil) != ok {
			t.Errorf("check(%q): got %v", url, err)
		}
	}
}

func TestNotify_TheSameNoticeIsOneDelivery(t *testing.T) {
	f := newFired(t, new(checkpoint.Memory))
	s := f.process(f.docs)
	s.config.Webhooks.Notify = "https://example.com/notices"
	n := wake.Notice{Kind: wake.Reminder, Thread: "t1", At: f.at, Question: graph.Interrupt{ID: "q1"}}
	escalation, later, other := n, n, n
	escalation.Kind, later.At, other.Thread = wake.Escalation, f.at.Add(time.Hour), "t2"
	for _, n := range []wake.Notice{n, escalation, n, later, other, n} {
		if err := s.notify(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	if docs, err := f.docs.Query(t.Context(), document.Query{Place: s.webhooks.place}); err != nil || len(docs) != 4 {
		t.Errorf("there are %d deliveries and error %v, want 4", len(docs), err)
	}
}

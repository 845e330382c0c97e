package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server"
)

func TestTruncate_OnlyFromThisMachine(t *testing.T) {
	s := newServer(t, &checkpoint.Memory{}, func(c *server.Config) { c.AllowTruncate = true })
	c := newClient(t, s)
	c.do(step{request: "POST /threads", status: 200})
	c.do(step{request: "PUT /store/items", body: `{"namespace":["a"],"key":"k","value":{}}`, status: 204})
	c.do(step{request: "PATCH /assistants/agent", body: `{"name":"x"}`, status: 200})
	truncate := step{request: "POST /internal/truncate", body: `{"threads":true,"assistants":true,"store":true,"checkpointer":true}`, status: 404}
	c.do(truncate) // from 192.0.2.1
	c.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = "127.0.0.1:1234"
		s.ServeHTTP(w, r)
	})
	truncate.status = 204
	c.do(truncate)
	c.do(step{request: "POST /threads/count", status: 200, want: "=0"})
	c.do(step{request: "POST /store/items/search", status: 200, want: "items.#=0"})
	c.do(step{request: "POST /assistants/search", status: 200, want: "#=2\n#.version=[1,1]"})
	c.do(step{request: "GET /assistants/agent", status: 200, want: "name=agent"})
}

func TestTruncate_RemovesRuns(t *testing.T) {
	inChains(t, func(t *testing.T, c *client, _ chan struct{}) {
		c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"steps","input":{"topic":"x"}}`, status: 200})
		c.do(step{request: "POST /threads/{t}/runs", body: `{"assistant_id":"waits","input":{"topic":"x"}}`, status: 200})
		handler := c.handler
		c.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.RemoteAddr = "127.0.0.1:1234"
			handler.ServeHTTP(w, r)
		})
		c.do(step{request: "POST /internal/truncate", body: `{"runs":true}`, status: 204})
		c.do(step{request: "GET /threads/{t}/runs", status: 200, want: "#=0"})
		c.do(step{request: "GET /threads/{t}", status: 200, want: "status=idle\nvalues.topic=x"})
	}, func(c *server.Config) { c.AllowTruncate = true })
}

func TestLimits_OfBodies(t *testing.T) {
	c := newClient(t, newServer(t, &checkpoint.Memory{}, func(c *server.Config) {
		c.Limits = server.Limits{Body: 1000, Depth: 20, Metadata: 50}
	}))
	c.do(step{request: "POST /threads", body: `{"metadata":{"a":"` + strings.Repeat("x", 1000) + `"}}`, status: 413, want: "code=too_large"})
	c.do(step{request: "POST /threads", body: `{"metadata":{"a":"` + strings.Repeat("x", 50) + `"}}`, status: 413, want: "code=too_large"})
	c.do(step{request: "POST /threads", body: strings.Repeat("[", 21) + strings.Repeat("]", 21), status: 422, want: "detail=the body must not be deeper than 20 (got 21)"})
	c.do(step{request: "POST /threads", body: `{"metadata":{"a":"` + strings.Repeat("x", 30) + `"}}`, status: 200, save: "t=thread_id"})
	c.do(step{request: "PATCH /threads/{t}", body: `{"metadata":{"b":"` + strings.Repeat("x", 30) + `"}}`, status: 413})
	c.do(step{request: "POST /threads/search", body: `{"metadata":{"a":1e99999}}`, status: 422})
}

func TestRequestID_IsTakenOrMade(t *testing.T) {
	c := newClient(t, newServer(t, &checkpoint.Memory{}))
	c.do(step{request: "GET /ok", header: "X-Request-Id: abc-1", status: 200, want: "header X-Request-Id=abc-1"})
	for _, bad := range []string{"", "a b", strings.Repeat("x", 129)} {
		w := c.do(step{request: "GET /ok", header: "X-Request-Id: " + bad, status: 200})
		if id := w.Header().Get("X-Request-Id"); len(id) != 36 {
			t.Errorf("X-Request-Id of a request with %q is %q, want a UUID", bad, id)
		}
	}
}

func TestCORS_PreflightAndAnswers(t *testing.T) {
	open := newClient(t, newServer(t, &checkpoint.Memory{}, func(c *server.Config) {
		c.CORS = server.CORS{Origins: []string{"https://app.example.com"}, PrivateNetwork: true}
	}))
	const preflight = "Access-Control-Request-Method: POST\nAccess-Control-Request-Headers: Content-Type, x-a, cookie\nAccess-Control-Request-Private-Network: true\n"
	open.do(step{
		request: "OPTIONS /threads", header: preflight + "Origin: https://app.example.com", status: 204,
		want: "header Access-Control-Allow-Origin=https://app.example.com\nheader Access-Control-Allow-Headers=content-type, x-a\n" +
			"header Access-Control-Allow-Private-Network=true\nheader Access-Control-Max-Age=600\nheader Vary=Origin",
	})
	open.do(step{request: "OPTIONS /threads", header: preflight + "Origin: https://evil.example.com", status: 204, want: "header Access-Control-Allow-Origin="})
	open.do(step{
		request: "GET /ok", header: "Origin: https://app.example.com", status: 200,
		want: "header Access-Control-Expose-Headers=content-location, location, x-pagination-total, x-pagination-next, x-request-id, x-weft-ignored, x-weft-missed",
	})
	closed := newClient(t, newServer(t, &checkpoint.Memory{}))
	closed.do(step{request: "GET /ok", header: "Origin: https://app.example.com", status: 200, want: "header Access-Control-Allow-Origin="})
}

func TestRoutes_ComeFirst(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /custom", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "own") })
	mux.HandleFunc("GET /ok", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ours") })
	c := newClient(t, newServer(t, &checkpoint.Memory{}, func(c *server.Config) {
		c.Routes = mux
		c.Middleware = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Middle", "yes")
				next.ServeHTTP(w, r)
			})
		}
	}))
	c.do(step{request: "GET /custom", status: 200, want: "=own\nheader X-Middle=yes"})
	c.do(step{request: "GET /ok", status: 200, want: "=ours"})
	c.do(step{request: "GET /info", status: 200, want: "header X-Middle=yes"})
}

func TestMetrics_CountRequests(t *testing.T) {
	c := newClient(t, newServer(t, &checkpoint.Memory{}))
	c.do(step{request: "GET /threads/x", status: 422})
	w := c.do(step{request: "GET /metrics", status: 200})
	for _, want := range []string{
		`weft_http_requests_total{route="GET /threads/{thread_id}",status="422"} 1`,
		`weft_http_request_seconds_count{route="GET /threads/{thread_id}"} 1`,
	} {
		if !slices.Contains(strings.Split(w.Body.String(), "\n"), want) {
			t.Errorf("the metrics have no line %s:\n%s", want, w.Body)
		}
	}
}

func TestMetrics_CountRunsAndReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		s, stop := startChains(t, &checkpoint.Memory{}, gate)
		defer stop()
		c := newClient(t, s)
		c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"steps","input":{"topic":"tea"}}`, status: 200})
		for range 2 {
			c.do(step{request: "POST /threads/{t}/runs", body: `{"assistant_id":"waits","input":{"topic":"tea"}}`, status: 200})
		}
		time.Sleep(10 * time.Second) // of fake time: one of the two waits
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan struct{})
		go func() {
			r := httptest.NewRequestWithContext(ctx, "GET", c.expand("/threads/{t}/stream"), nil)
			s.ServeHTTP(httptest.NewRecorder(), r)
			close(left)
		}()
		synctest.Wait()
		text := c.do(step{request: "GET /metrics", status: 200}).Body.String()
		for _, want := range []string{
			"weft_threads_followed 1", "weft_readers 1", "weft_readers_behind_total 0", "weft_streams_dropped_total 0", "weft_runs_reaped_total 0",
			"weft_event_batches_missed_total 0", "weft_claim_lag_seconds_count 2", `weft_claim_lag_seconds_bucket{le="0.001"} 2`,
			"weft_worker_slots 8", "weft_worker_runs 1",
		} {
			if !strings.Contains(text, "\n"+want+"\n") {
				t.Errorf("the metrics have no line %q:\n%s", want, text)
			}
		}
		for name, least := range map[string]float64{
			"weft_oldest_pending_seconds": 8, "weft_event_batches_appended_total": 2, "weft_event_bytes_appended_total": 100, `weft_store_seconds_count{call="get"}`: 1,
		} {
			_, rest, _ := strings.Cut(text, "\n"+name+" ")
			line, _, _ := strings.Cut(rest, "\n")
			if got, err := strconv.ParseFloat(line, 64); err != nil || got < least {
				t.Errorf("the metric %s is %q, want at least %v", name, line, least)
			}
		}
		leave()
		<-left
		close(gate)
	})
}

func TestNew_RefusesIncompleteConfigs(t *testing.T) {
	store := &checkpoint.Memory{}
	for _, c := range []server.Config{
		{}, {Store: store}, {Store: store, Graphs: map[string]graph.Untyped{"": echo(t, store)}},
		{Store: store, Graphs: map[string]graph.Untyped{"echo": echo(t, store)}, Lease: time.Millisecond},
	} {
		if _, err := server.New(t.Context(), c); err == nil {
			t.Errorf("New(%+v) returned no error", c)
		}
	}
}

// A browser sends a body without a type to any server, and only hides the answer from the page.
func TestCORS_RefusesWritesOfOtherPages(t *testing.T) {
	const app, evil = "Origin: https://app.example.com", "Origin: https://evil.example.com"
	closed, open := newClient(t, newServer(t, &checkpoint.Memory{})), newClient(t, newServer(t, &checkpoint.Memory{}, func(c *server.Config) {
		c.CORS = server.CORS{Origins: []string{"https://app.example.com"}}
	}))
	known := newClient(t, newServer(t, &checkpoint.Memory{}, func(c *server.Config) {
		c.Auth.Authenticate = func(*http.Request) (server.Identity, error) { return server.Identity{Name: "ada"}, nil }
	}))
	for _, s := range []struct {
		*client
		step
	}{
		{known, step{request: "POST /threads", header: app + "\nSec-Fetch-Site: cross-site", status: 200}}, // a proxy may answer for CORS
		{closed, step{request: "POST /threads", header: evil, status: 403, want: "code=forbidden"}},
		{closed, step{request: "POST /threads", header: "Sec-Fetch-Site: cross-site", status: 403}},
		{closed, step{request: "POST /threads", header: "Sec-Fetch-Site: same-origin\n" + app, status: 200}},
		{closed, step{request: "POST /threads", header: "Origin: http://example.com", status: 200}}, // the host of the request
		{closed, step{request: "POST /threads", status: 200}},
		{closed, step{request: "GET /info", header: evil, status: 200}},
		{open, step{request: "POST /threads", header: evil, status: 403}},
		{open, step{request: "POST /threads", header: app + "\nSec-Fetch-Site: cross-site", status: 200}},
	} {
		s.do(s.step)
	}
}

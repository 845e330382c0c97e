package server_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/chattest"
	"github.com/weftrun/weft/server"
)

// brokenBody fails while it is read.
type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// outage is documents that cannot be reached while on is true.
type outage struct {
	document.Store
	on atomic.Bool
}

var errOutage = fmt.Errorf("the disk is gone: %w", checkpoint.ErrUnavailable)

func (o *outage) Get(ctx context.Context, p document.Place, id string) (document.Doc, error) {
	if o.on.Load() {
		return document.Doc{}, errOutage
	}
	return o.Store.Get(ctx, p, id)
}

func (o *outage) Set(ctx context.Context, p document.Place, c document.Change) (document.Doc, error) {
	if o.on.Load() {
		return document.Doc{}, errOutage
	}
	return o.Store.Set(ctx, p, c)
}

func (o *outage) Query(ctx context.Context, q document.Query) ([]document.Doc, error) {
	if o.on.Load() {
		return nil, errOutage
	}
	return o.Store.Query(ctx, q)
}

// itemOutage is a memory that cannot be reached.
type itemOutage struct{ memory.Store }

func (itemOutage) Get(context.Context, []string, string) (memory.Item, error) {
	return memory.Item{}, errOutage
}

func (itemOutage) Put(context.Context, []string, string, json.RawMessage, memory.Options) (memory.Item, error) {
	return memory.Item{}, errOutage
}

func (itemOutage) Delete(context.Context, []string, string) error { return errOutage }

func (itemOutage) Search(context.Context, memory.Query) (memory.Page, error) {
	return memory.Page{}, errOutage
}

func (itemOutage) Namespaces(context.Context, memory.NamespaceQuery) ([][]string, error) {
	return nil, errOutage
}

func (o *outage) Count(ctx context.Context, q document.Query) (int, error) {
	if o.on.Load() {
		return 0, errOutage
	}
	return o.Store.Count(ctx, q)
}

func (o *outage) Batch(ctx context.Context, p document.Place, changes []document.Change) ([]document.Doc, error) {
	if o.on.Load() {
		return nil, errOutage
	}
	return o.Store.Batch(ctx, p, changes)
}

// survey sends requests to all endpoints, and remembers the statuses.
type survey struct {
	*testing.T
	document documented
	seen     map[string]map[int]bool // by method and pattern
	values   map[string]string       // of parameters of paths, and of {names} in bodies
}

// each calls f for each documented endpoint.
func (s *survey) each(f func(method, pattern string, op gjson.Result)) {
	s.document.paths.ForEach(func(pattern, methods gjson.Result) bool {
		methods.ForEach(func(method, op gjson.Result) bool {
			f(strings.ToUpper(method.String()), pattern.String(), op)
			return true
		})
		return true
	})
}

// path fills the parameters of a pattern.
func (s *survey) path(pattern string, values map[string]string) string {
	for _, of := range []map[string]string{values, s.values} {
		for name, value := range of {
			pattern = strings.ReplaceAll(pattern, "{"+name+"}", value)
		}
	}
	return pattern
}

// send sends a request, and fails the test if its answer is not documented.
func (s *survey) send(to http.Handler, method, pattern, path string, body io.Reader, header ...string) *httptest.ResponseRecorder {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, method, path, body)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("X-Api-Key", "key of ada")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := &begun{ResponseRecorder: httptest.NewRecorder(), begin: func(status int) {
		if status == http.StatusOK && slices.Contains(endless, pattern) {
			cancel()
		}
	}}
	to.ServeHTTP(w, r)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		s.Errorf("%s %s does not end", method, path)
	}
	checkDocumented(s.T, method, path, w.ResponseRecorder)
	name := method + " " + pattern
	if s.seen[name] == nil {
		s.seen[name] = map[int]bool{}
	}
	s.seen[name][w.Code] = true
	return w.ResponseRecorder
}

// begun calls begin when an answer begins.
type begun struct {
	*httptest.ResponseRecorder
	begin func(status int)
}

func (w *begun) WriteHeader(status int) {
	w.ResponseRecorder.WriteHeader(status)
	w.begin(status)
}

// request is what the survey knows of an endpoint.
type request struct {
	good    string   // a body that succeeds; "" is {}
	wrong   []string // bodies that do not
	query   string   // of a request that succeeds
	queries []string // of requests that do not
}

// requests are those that need more than a path, by method and pattern.
var requests = map[string]request{
	"GET /ok": {queries: []string{"?check_db=x"}}, "GET /store/items": {query: "?namespace=a&key=k", queries: []string{"", "?namespace=a..b&key=k"}},
	"GET /.well-known/agent-card.json": {query: "?assistant_id=talk", queries: []string{"?assistant_id=x"}},

	"POST /assistants":                       {good: `{"graph_id":"talk"}`, wrong: []string{`{"graph_id":"x"}`}},
	"POST /assistants/{assistant_id}/latest": {good: `{"version":1}`}, "POST /ui/{name}": {good: `{"name":"x"}`},
	"POST /threads/prune": {good: `{"thread_ids":["{thread_id}"],"strategy":"keep_latest"}`},

	"POST /threads/{thread_id}/state": {good: `{"values":{"mood":"x"}}`}, "PATCH /threads/{thread_id}/state": {good: `{"metadata":{}}`},
	"POST /threads/{thread_id}/state/checkpoint": {good: `{"checkpoint":{"checkpoint_id":"{checkpoint_id}"}}`},
	"POST /threads/{thread_id}/commands":         {good: `{"id":1,"method":"state.get","params":{}}`},

	"POST /threads/{thread_id}/runs": {good: run}, "POST /threads/{thread_id}/runs/wait": {good: run}, "POST /threads/{thread_id}/runs/stream": {good: run},
	"POST /runs": {run, []string{noRun}, "", nil}, "POST /runs/wait": {run, []string{noRun}, "", nil}, "POST /runs/stream": {run, []string{noRun}, "", nil},
	"POST /runs/batch":  {good: "[" + run + "]", wrong: []string{"[" + noRun + "]"}},
	"POST /runs/cancel": {good: `{"run_ids":["{run_id}"],"thread_id":"{thread_id}"}`, wrong: []string{`{"run_ids":["` + unknownID + `"],"thread_id":"{thread_id}"}`}},

	"POST /runs/crons":    {good: cron, wrong: []string{`{"assistant_id":"` + unknownID + `","schedule":"0 0 1 1 *"}`}},
	"PUT /store/items":    {good: `{"namespace":["a"],"key":"k","value":{}}`, wrong: []string{`{"namespace":[],"key":"k","value":{}}`}},
	"DELETE /store/items": {good: `{"namespace":["a"],"key":"k"}`}, "POST /threads/{thread_id}/runs/crons": {good: cron},

	"POST /mcp":                   {good: `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
	"POST /a2a/{assistant_id}":    {good: `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"x"}}`},
	"POST /agui/{assistant_id}":   {good: `{"threadId":"c","runId":"r","messages":[{"id":"m","role":"user","content":"hello"}]}`},
	"POST /ai-sdk/{assistant_id}": {good: `{"id":"c","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"hello"}]}]}`},
	"POST /v1/chat/completions": {good: `{"model":"talk","messages":[{"role":"user","content":"hello"}]}`, wrong: []string{
		`{"model":"` + unknownID + `","messages":[{"role":"user","content":"hello"}]}`, `{"model":"talk","messages":[{"role":"user","content":"fail"}]}`,
	}},
}

const (
	noRun = `{"assistant_id":"` + unknownID + `","input":{}}`
	run   = `{"assistant_id":"talk","input":{"messages":"hello"}}`
	cron  = `{"assistant_id":"talk","schedule":"0 0 1 1 *"}`
)

// start starts a server that works until the end of the test.
func (s *survey) start(change ...func(*server.Config)) *server.Server {
	store, _ := withBlobs(s.T)
	return chattest.Start(s.T, append([]func(*server.Config){func(c *server.Config) {
		c.Store, c.Log, c.Dialect = store, slog.New(slog.DiscardHandler), "py"
		c.Graphs = map[string]graph.Untyped{"talk": chattest.Talk(s.T, store), "nested": echo(s.T, store), "waits": chain(s.T, store, nil, "wait")}
		c.UI = map[string]fs.FS{"x": fstest.MapFS{"entrypoint.js": {Data: []byte("1")}}}
	}}, change...)...)
}

// prepare makes what the parameters of a path name: a thread with a run that has ended, and others.
func (s *survey) prepare(to http.Handler, pattern string) {
	s.Helper()
	do := func(request, body, at string) string {
		s.Helper()
		method, path, _ := strings.Cut(request, " ")
		w := s.send(to, method, s.document.pattern(method, path), path, strings.NewReader(body))
		if w.Code >= 300 {
			s.Fatalf("%s: status %d, %s", request, w.Code, w.Body)
		}
		return gjson.Get(w.Body.String(), at).String()
	}
	thread := do("POST /threads", "{}", "thread_id")
	do("POST /threads/"+thread+"/runs/wait", run, "")
	s.values = map[string]string{
		"thread_id": thread, "run_id": do("GET /threads/"+thread+"/runs", "", "0.run_id"), "assistant_id": do("POST /assistants", `{"graph_id":"talk"}`, "assistant_id"),
		"checkpoint_id": do("GET /threads/"+thread+"/state", "", "checkpoint.checkpoint_id"), "cron_id": do("POST /runs/crons", cron, "cron_id"),
		"hash": do("POST /threads/"+thread+"/blobs", "content", `\$blob`), "name": "x", "file": "entrypoint.js", "view": "join", "chat_id": "c", "namespace": "outer",
	}
	switch {
	case strings.HasPrefix(pattern, "/runs/{run_id}"):
		s.values["run_id"] = do("POST /runs", `{"assistant_id":"talk","input":{"messages":"hello"},"on_completion":"keep"}`, "run_id")
		do("GET /runs/"+s.values["run_id"]+"/join", "", "")
	case pattern == "/assistants/{assistant_id}/subgraphs/{namespace}":
		s.values["assistant_id"] = "nested"
	}
}

// pattern returns the pattern of a path.
func (d documented) pattern(method, path string) (best string) {
	path, _, _ = strings.Cut(path, "?")
	fewest := 100
	d.paths.ForEach(func(pattern, methods gjson.Result) bool {
		if n := strings.Count(pattern.String(), "{"); methods.Get(strings.ToLower(method)).Exists() && n < fewest && fits(path, pattern.String()) {
			best, fewest = pattern.String(), n
		}
		return true
	})
	return best
}

// good returns the body of a request that succeeds.
func (s *survey) good(method, pattern string) io.Reader {
	return strings.NewReader(s.path(cmp.Or(requests[method+" "+pattern].good, "{}"), nil))
}

// endless are streams that end with their client.
var endless = []string{"/threads/{thread_id}/stream", "/threads/{thread_id}/stream/events"}

func TestEndpoints_HaveEachDocumentedStatus(t *testing.T) {
	d, err := readDocument(t)
	if err != nil {
		t.Fatal(err)
	}
	s := &survey{T: t, document: d, seen: map[string]map[int]bool{}}
	open := s.start()
	forbids := s.start(func(c *server.Config) {
		c.Auth = chattest.Keys()
		c.Auth.Rules = server.Rules{"*": func(context.Context, server.Identity, *server.Access) (server.Filter, error) {
			return nil, server.ErrForbidden
		}}
	})
	small := s.start(func(c *server.Config) { c.Limits = server.Limits{Body: 5000, Supersteps: 5000, Blob: 5000} })
	owned := s.start(func(c *server.Config) { c.Auth = chattest.Keys() })
	docs := &outage{Store: &document.Map{}}
	gone := s.start(func(c *server.Config) { c.Documents, c.Memory = docs, itemOutage{&memory.Map{}} })
	s.prepare(gone, "")
	docs.on.Store(true)
	full := s.start(func(c *server.Config) { c.Limits = server.Limits{Streams: -1, Runs: -1, Uploads: -1} })
	for !strings.Contains(s.send(full, "GET", "/metrics", "/metrics", nil).Body.String(), "weft_runs") {
		runtime.Gosched() // until the runs are counted
	}
	draining := s.start()
	s.prepare(draining, "")
	draining.Drain()
	s.each(func(method, pattern string, _ gjson.Result) {
		body := requests[method+" "+pattern]
		s.prepare(small, pattern)
		if method != "GET" {
			s.send(small, method, pattern, s.path(pattern, nil), strings.NewReader(`{"x":"`+strings.Repeat("x", 9000)+`"}`))
		}
		s.prepare(owned, pattern)
		s.send(owned, method, pattern, s.path(pattern, nil)+body.query, s.good(method, pattern), "X-Api-Key", "key of bob")
		s.prepare(open, pattern)
		path := s.path(pattern, nil) + body.query
		s.send(open, method, pattern, path, s.good(method, pattern))
		for name := range s.values {
			for _, id := range []string{uuid.NewString(), "..%2f%00", strings.Repeat("x", 300)} {
				if strings.Contains(pattern, "{"+name+"}") {
					s.send(open, method, pattern, s.path(pattern, map[string]string{name: id})+body.query, s.good(method, pattern))
				}
			}
		}
		for _, b := range body.wrong {
			s.send(open, method, pattern, path, strings.NewReader(b))
		}
		for _, q := range body.queries {
			s.send(open, method, pattern, s.path(pattern, nil)+q, nil)
		}
		s.send(forbids, method, pattern, path, s.good(method, pattern), "X-Api-Key", "another")
		s.send(forbids, method, pattern, path, s.good(method, pattern))
		s.send(gone, method, pattern, path, s.good(method, pattern))
		s.send(draining, method, pattern, path, s.good(method, pattern))
		s.send(full, method, pattern, path, s.good(method, pattern))
		if method != "GET" {
			s.send(open, method, pattern, path, brokenBody{})
			s.send(open, method, pattern, path, s.good(method, pattern), "Content-Type", "text/plain")
			s.send(open, method, pattern, path, s.good(method, pattern), "Content-Type", "/")
			s.send(open, method, pattern, path, strings.NewReader(`{"limit":`))
			s.send(open, method, pattern, path, strings.NewReader(strings.Repeat("[", 300)+strings.Repeat("]", 300)))
		}
	})
	s.conflicts(open)
	var missing []string
	s.each(func(method, pattern string, op gjson.Result) {
		for status := range op.Get("responses").Map() {
			code, err := strconv.Atoi(status)
			found := s.seen[method+" "+pattern][code]
			if err != nil { // 2XX
				for seen := range s.seen[method+" "+pattern] {
					found = found || seen < 300
				}
			}
			socket := method+" "+pattern == "GET /threads/{thread_id}/stream/events" && err != nil // it has tests of its own
			if !found && !socket {
				missing = append(missing, method+" "+pattern+" "+status)
			}
		}
	})
	slices.Sort(missing)
	for _, m := range missing {
		t.Errorf("no request gives %s", m)
	}
}

// cancelled asks for an answer, and cancels its run.
func (s *survey) cancelled(to http.Handler) {
	s.Helper()
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ended:
				return
			default:
				r := httptest.NewRequestWithContext(s.Context(), "POST", "/runs/cancel", strings.NewReader(`{"status":"running"}`))
				r.Header.Set("Content-Type", "application/json")
				to.ServeHTTP(httptest.NewRecorder(), r) // 404 until there is one
			}
		}
	}()
	const path = "/v1/chat/completions"
	s.send(to, "POST", path, path, strings.NewReader(`{"model":"talk","messages":[{"role":"user","content":"wait"}]}`))
	close(ended)
	<-done
}

// conflicts sends requests that another one is in the way of.
func (s *survey) conflicts(to http.Handler) {
	s.Helper()
	s.prepare(to, "")
	s.send(to, "POST", "/assistants", "/assistants", strings.NewReader(s.path(`{"graph_id":"talk","assistant_id":"{assistant_id}"}`, nil)))
	s.send(to, "POST", "/threads", "/threads", strings.NewReader(s.path(`{"thread_id":"{thread_id}"}`, nil)))
	const resume = `{"assistant_id":"talk","command":{"resume":{"x":1}},"strict_resume":true}`
	for _, at := range []string{"/threads/{thread_id}/runs", "/threads/{thread_id}/runs/wait", "/threads/{thread_id}/runs/stream"} {
		s.send(to, "POST", at, s.path(at, nil), strings.NewReader(resume))
	}
	s.send(to, "POST", "/agui/{assistant_id}", s.path("/agui/{assistant_id}", nil),
		strings.NewReader(s.path(`{"threadId":"{thread_id}","runId":"r","messages":[],"resume":[{"interruptId":"x","status":"resolved"}]}`, nil)))
	s.send(to, "POST", "/ai-sdk/{assistant_id}", s.path("/ai-sdk/{assistant_id}", nil), strings.NewReader(s.path(`{"id":"{thread_id}","messages":[],"resume":{"x":1}}`, nil)))
	s.cancelled(to)
	w := s.send(to, "POST", "/threads/{thread_id}/runs", s.path("/threads/{thread_id}/runs", nil), strings.NewReader(`{"assistant_id":"waits","input":{"topic":"x"}}`))
	s.values["run_id"] = gjson.Get(w.Body.String(), "run_id").String()
	for gjson.Get(s.send(to, "GET", "/threads/{thread_id}/runs/{run_id}", s.path("/threads/{thread_id}/runs/{run_id}", nil), nil).Body.String(), "status").String() != "running" {
		runtime.Gosched()
	}
	for _, request := range []string{
		"POST /threads/{thread_id}/copy", "POST /threads/{thread_id}/state", "PATCH /threads/{thread_id}/state", "DELETE /threads/{thread_id}/runs/{run_id}",
	} {
		method, pattern, _ := strings.Cut(request, " ")
		s.send(to, method, pattern, s.path(pattern, nil), s.good(method, pattern))
	}
	s.send(to, "POST", "/runs/cancel", "/runs/cancel", strings.NewReader(`{"status":"all"}`))
}

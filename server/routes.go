package server

import (
	"net/http"
	"runtime/debug"
	"time"

	"github.com/weftrun/weft/server/wire"
)

// route is an endpoint.
type route struct {
	method, path string
	open         bool // to callers without credentials
	handle       func(c *call) error
}

var routes = []route{
	{http.MethodGet, "/ok", true, getOK},
	{http.MethodGet, "/info", true, getInfo},
	{http.MethodGet, "/metrics", false, getMetrics},

	{http.MethodPost, "/ui/{name}", false, showComponent},
	{http.MethodGet, "/ui/{name}/{file}", true, getUIFile},

	{http.MethodPost, "/assistants", false, createAssistant},
	{http.MethodPost, "/assistants/search", false, searchAssistants},
	{http.MethodPost, "/assistants/count", false, countAssistants},
	{http.MethodGet, "/assistants/{assistant_id}", false, getAssistant},
	{http.MethodPatch, "/assistants/{assistant_id}", false, updateAssistant},
	{http.MethodDelete, "/assistants/{assistant_id}", false, deleteAssistant},
	{http.MethodGet, "/assistants/{assistant_id}/graph", false, drawAssistant},
	{http.MethodGet, "/assistants/{assistant_id}/schemas", false, getSchemas},
	{http.MethodGet, "/assistants/{assistant_id}/subgraphs", false, getSubgraphs},
	{http.MethodGet, "/assistants/{assistant_id}/subgraphs/{namespace}", false, getSubgraphs},
	{http.MethodPost, "/assistants/{assistant_id}/versions", false, listVersions},
	{http.MethodPost, "/assistants/{assistant_id}/latest", false, setLatestVersion},

	{http.MethodPost, "/threads", false, createThread},
	{http.MethodPost, "/threads/search", false, searchThreads},
	{http.MethodPost, "/threads/count", false, countThreads},
	{http.MethodPost, "/threads/prune", false, pruneThreads},
	{http.MethodGet, "/threads/{thread_id}", false, getThread},
	{http.MethodPatch, "/threads/{thread_id}", false, updateThread},
	{http.MethodDelete, "/threads/{thread_id}", false, deleteThread},
	{http.MethodPost, "/threads/{thread_id}/copy", false, copyThread},
	{http.MethodGet, "/threads/{thread_id}/storage", false, threadStorage},
	{http.MethodPost, "/threads/{thread_id}/blobs", false, putBlob},
	{http.MethodGet, "/threads/{thread_id}/blobs/{hash}", false, getBlob},

	{http.MethodGet, "/threads/{thread_id}/state", false, getState},
	{http.MethodGet, "/threads/{thread_id}/state/{checkpoint_id}", false, getState},
	{http.MethodPost, "/threads/{thread_id}/state/checkpoint", false, postCheckpoint},
	{http.MethodPost, "/threads/{thread_id}/state", false, updateState},
	{http.MethodPatch, "/threads/{thread_id}/state", false, patchState},
	{http.MethodGet, "/threads/{thread_id}/history", false, getHistory},
	{http.MethodPost, "/threads/{thread_id}/history", false, searchHistory},

	{http.MethodPost, "/threads/{thread_id}/commands", false, postCommand},
	{http.MethodPost, "/threads/{thread_id}/stream/events", false, waits(streamProtocol)},
	{http.MethodPost, "/threads/{thread_id}/stream", false, waits(streamProtocol)},
	{http.MethodGet, "/threads/{thread_id}/stream/events", true, waits(openSocket)},
	{http.MethodGet, "/threads/{thread_id}/stream", false, waits(streamThread)},

	{http.MethodPost, "/threads/{thread_id}/runs", false, createRun},
	{http.MethodPost, "/threads/{thread_id}/runs/wait", false, waits(waitRun)},
	{http.MethodPost, "/threads/{thread_id}/runs/stream", false, waits(streamRun)},
	{http.MethodGet, "/threads/{thread_id}/runs", false, listRuns},
	{http.MethodGet, "/threads/{thread_id}/runs/{run_id}", false, getRun},
	{http.MethodDelete, "/threads/{thread_id}/runs/{run_id}", false, deleteRun},
	{http.MethodGet, "/threads/{thread_id}/runs/{run_id}/join", false, waits(joinRun)},
	{http.MethodGet, "/threads/{thread_id}/runs/{run_id}/stream", false, waits(joinStream)},
	{http.MethodPost, "/threads/{thread_id}/runs/{run_id}/cancel", false, cancelRun},
	{http.MethodPost, "/runs", false, createRun},
	{http.MethodPost, "/runs/batch", false, createRuns},
	{http.MethodPost, "/runs/cancel", false, cancelRuns},
	{http.MethodPost, "/runs/wait", false, waits(waitRun)},
	{http.MethodPost, "/runs/stream", false, waits(streamRun)},
	{http.MethodGet, "/runs/{run_id}/{view}", false, viewRun},
	{http.MethodPost, "/runs/{run_id}/cancel", false, cancelRun},

	{http.MethodPost, "/threads/{thread_id}/runs/crons", false, createCron},
	{http.MethodPost, "/runs/crons", false, createCron},
	{http.MethodPost, "/runs/crons/search", false, searchCrons},
	{http.MethodPost, "/runs/crons/count", false, countCrons},
	{http.MethodPatch, "/runs/crons/{cron_id}", false, updateCron},
	{http.MethodDelete, "/runs/crons/{cron_id}", false, deleteCron},

	{http.MethodPut, "/store/items", false, putItem},
	{http.MethodGet, "/store/items", false, getItem},
	{http.MethodDelete, "/store/items", false, deleteItem},
	{http.MethodPost, "/store/items/search", false, searchItems},
	{http.MethodPost, "/store/namespaces", false, listNamespaces},

	{http.MethodPost, "/mcp", false, waits(postMCP)},
	{http.MethodPost, "/mcp/{$}", false, waits(postMCP)},
	{http.MethodPost, "/a2a/{assistant_id}", false, waits(postA2A)},
	{http.MethodGet, "/.well-known/agent-card.json", false, getCard},
	{http.MethodPost, "/agui/{assistant_id}", false, waits(postAGUI)},
	{http.MethodPost, "/ai-sdk/{assistant_id}", false, waits(postAISDK)},
	{http.MethodGet, "/ai-sdk/{assistant_id}/{chat_id}/stream", false, waits(joinAISDK)},
	{http.MethodPost, "/v1/chat/completions", false, waits(postCompletion)},
	{http.MethodGet, "/v1/models", false, listModels},
	{http.MethodGet, "/v1/models/{assistant_id}", false, getModel},
}

// viewRun answers GET /runs/{run_id}/stream, /runs/{run_id}/join and /runs/crons/{cron_id}, of
// which no pattern is more specific than the others.
func viewRun(c *call) error {
	switch view := c.PathValue("view"); {
	case c.PathValue("run_id") == "crons":
		c.SetPathValue("cron_id", view)
		return getCron(c)
	case view == "stream":
		return waits(joinStream)(c)
	case view == "join":
		return waits(joinRun)(c)
	}
	return wire.Errorf(wire.CodeNotFound, "Not Found")
}

// handlerOf returns the handler of a route.
func (s *Server) handlerOf(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &recorder{ResponseWriter: w}
		c := &call{Request: r, w: rec, server: s, dialect: s.dialect(r), id: r.Header.Get("X-Request-Id")}
		defer c.complete(rt, rec, time.Now())
		var err error
		if !rt.open {
			err = c.authenticate()
		}
		if err == nil {
			err = rt.handle(c)
		}
		if err != nil {
			c.failWith(rt, err)
		}
	})
}

// complete ends an answer, also after a panic. It is deferred.
func (c *call) complete(rt route, rec *recorder, began time.Time) {
	s := c.server
	if v := recover(); v != nil {
		if v == http.ErrAbortHandler {
			panic(v)
		}
		s.log().ErrorContext(c.Context(), "server: a handler panicked", "path", rt.path, "request_id", c.id, "panic", v, "stack", string(debug.Stack()))
		c.fail(wire.Errorf(wire.CodeInternal, "internal error"))
	}
	rec.finish()
	elapsed := time.Since(began)
	s.metrics.observe(rt.method+" "+rt.path, rec.status, elapsed)
	s.log().DebugContext(c.Context(), "request", "method", c.Method, "path", rt.path, "status", rec.status,
		"request_id", c.id, "ms", elapsed.Milliseconds())
}

// failWith answers with the error of a handler, which may be for the log alone.
func (c *call) failWith(rt route, err error) {
	f, hidden := faultOf(err)
	gone := c.Context().Err() != nil && !c.server.draining.Load()
	if hidden && !gone {
		c.server.log().ErrorContext(c.Context(), "server: a request failed", "path", rt.path, "request_id", c.id, "error", err)
	}
	if !hidden || !gone {
		c.fail(f)
	}
}

// fail answers with an error, unless the answer has begun.
func (c *call) fail(f *wire.Error) {
	if rec, ok := c.w.(*recorder); !ok || rec.status == 0 {
		c.refuse(f)
	}
}

// unrouted answers a request that has no route: the path is unknown, or does not have the method.
func (s *Server) unrouted(w http.ResponseWriter, r *http.Request, mux http.Handler) {
	probe := &recorder{ResponseWriter: discard{w.Header()}}
	mux.ServeHTTP(probe, r)
	c := &call{Request: r, w: w, server: s, dialect: s.dialect(r)}
	if probe.status == http.StatusMethodNotAllowed {
		c.refuse(wire.Errorf(wire.CodeMethodNotAllowed, "the method must be one of %s", w.Header().Get("Allow")))
		return
	}
	c.refuse(wire.Errorf(wire.CodeNotFound, "Not Found"))
}

// recorder remembers the status of an answer, and bounds the time of each write: a client that does
// not read must not hold a request.
type recorder struct {
	http.ResponseWriter
	status int
}

// bound returns a function that ends the bound of a write.
func (r *recorder) bound() (end func()) {
	control := http.NewResponseController(r.ResponseWriter)
	if control.SetWriteDeadline(time.Now().Add(writeTimeout)) != nil {
		return func() {} // not every writer has deadlines
	}
	return func() { _ = control.SetWriteDeadline(time.Time{}) }
}

// FlushError is for http.ResponseController.
func (r *recorder) FlushError() error {
	defer r.bound()()
	return http.NewResponseController(r.ResponseWriter).Flush()
}

// finish writes what is left of an answer, while its time is still bounded.
func (r *recorder) finish() {
	if r.status >= http.StatusOK { // else the connection is not that of an answer
		_ = r.FlushError() // the client has gone
	}
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(data []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	defer r.bound()()
	return r.ResponseWriter.Write(data)
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// discard is a ResponseWriter that writes only headers.
type discard struct{ header http.Header }

func (d discard) Header() http.Header            { return d.header }
func (d discard) Write(data []byte) (int, error) { return len(data), nil }
func (d discard) WriteHeader(int)                {}

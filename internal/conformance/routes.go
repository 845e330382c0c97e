package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"sync"
	"testing/fstest"
	"time"
)

// addRoutes adds what the API tests expect of an application beside its graphs.
func addRoutes(b *builder) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /custom/my-route", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Custom-Output", r.Header.Get("X-Custom-Input"))
		writeJSON(w, object{"foo": "bar"})
	})
	mux.HandleFunc("GET /runs/afakeroute", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, object{"foo": "afakeroute"}) })
	mux.HandleFunc("GET /custom/error", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "Bad request", http.StatusBadRequest) })
	mux.HandleFunc("GET /custom/streaming", count)
	var hook webhook
	mux.HandleFunc("POST /custom/webhook", hook.take)
	mux.HandleFunc("GET /custom/webhook-payload", hook.show)
	mux.HandleFunc("GET /custom/client", callSelf)
	b.config.Routes, b.config.Middleware = mux, middleware
	b.config.UI = map[string]fs.FS{"agent-alias": fstest.MapFS{
		"entrypoint.js": {Data: []byte(`globalThis.__LGUI_agent_alias = { render() { return globalThis[Symbol.for("LGUI_REQUIRE")]; } };`)},
	}}
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encoded(v)) // the client has gone
}

// count answers with four lines, one after another.
func count(w http.ResponseWriter, r *http.Request) {
	for i := range 4 {
		if i > 0 && sleep(r.Context(), 10*time.Millisecond) != nil {
			return
		}
		fmt.Fprintf(w, "Count: %d\n", i)
		_ = http.NewResponseController(w).Flush() // the next write fails too
	}
}

// webhook keeps the last report of a run.
type webhook struct {
	mu   sync.Mutex
	body json.RawMessage
}

func (h *webhook) take(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	if err != nil || !json.Valid(data) {
		http.Error(w, "the body must be JSON", http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	h.body = data
	h.mu.Unlock()
	writeJSON(w, object{"status": "success"})
}

func (h *webhook) show(w http.ResponseWriter, _ *http.Request) {
	h.mu.Lock()
	body := h.body
	h.mu.Unlock()
	if body == nil {
		http.Error(w, "no webhook yet", http.StatusNotFound)
		return
	}
	writeJSON(w, body)
}

// callSelf runs agent_simple on the server that the request came to.
func callSelf(w http.ResponseWriter, r *http.Request) {
	body := encoded(object{"assistant_id": "agent_simple", "input": object{"messages": []object{{"role": "human", "content": "input"}}}})
	q, err := http.NewRequestWithContext(r.Context(), http.MethodPost, "http://"+r.Host+"/runs/wait", bytes.NewReader(body))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	q.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = answer.Body.Close() }()
	var result json.RawMessage
	if err := json.NewDecoder(answer.Body).Decode(&result); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	writeJSON(w, object{"result": result})
}

// middleware marks all answers, intercepts requests with the key interrupt, and puts a header into
// the configuration of new runs.
func middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Js-Middleware", "true")
		if r.URL.Query().Has("interrupt") {
			writeJSON(w, object{"status": "interrupted"})
			return
		}
		if header := r.Header.Get("X-Configurable-Header"); header != "" && createsRun(r) {
			if err := configure(r, header); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// createsRun reports whether a request creates a run.
func createsRun(r *http.Request) bool {
	for _, pattern := range []string{"/runs", "/runs/*", "/threads/*/runs", "/threads/*/runs/*"} {
		if ok, _ := path.Match(pattern, r.URL.Path); ok && r.Method == http.MethodPost {
			return true
		}
	}
	return false
}

// configure puts a value into the configuration of a request, unless it has one.
func configure(r *http.Request, value string) error {
	var body object
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return err
	}
	config, _ := body["config"].(object)
	if config == nil {
		config = object{}
	}
	configurable, _ := config["configurable"].(object)
	if configurable == nil {
		configurable = object{}
	}
	if configurable["x-configurable-header"] == nil {
		configurable["x-configurable-header"] = value
	}
	config["configurable"], body["config"] = configurable, config
	data := encoded(body)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	r.Header.Set("Content-Length", strconv.Itoa(len(data)))
	return nil
}

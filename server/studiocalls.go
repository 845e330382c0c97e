package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/server/studio"
	"github.com/weftrun/weft/server/wire"
)

// innerCall is a request that the server makes to itself for a caller. It holds the answer.
type innerCall struct {
	who    Identity
	id     string
	header http.Header
	body   bytes.Buffer
	err    error
}

// Header implements http.ResponseWriter.
func (c *innerCall) Header() http.Header { return c.header }

// WriteHeader implements http.ResponseWriter. What is refused is the error of the call.
func (c *innerCall) WriteHeader(status int) {
	if status >= http.StatusBadRequest && c.err == nil {
		c.err = wire.Errorf(wire.CodeNotFound, "Not Found")
	}
}

// Write implements http.ResponseWriter.
func (c *innerCall) Write(data []byte) (int, error) { return c.body.Write(data) }

// innerHandler returns the routes of the server for innerCalls, whose callers are known.
func (s *Server) innerHandler() *http.ServeMux {
	mux := http.NewServeMux()
	for _, rt := range routes {
		mux.HandleFunc(rt.method+" "+rt.path, func(w http.ResponseWriter, r *http.Request) {
			c, ok := w.(*innerCall)
			if !ok {
				return
			}
			c.err = rt.handle(&call{Request: r, w: c, server: s, dialect: wire.Python, who: c.who, id: c.id})
		})
	}
	return mux
}

// Do implements studio.Source. It does what the endpoint does, for the same caller.
func (s studioSource) Do(ctx context.Context, method, path string, body, answer any) error {
	var data []byte
	if body != nil {
		var err error
		if data, err = encode(body); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, path, bytes.NewReader(data))
	if err != nil {
		return invalid("the path %.100q is not valid", path)
	}
	r.RemoteAddr = s.c.RemoteAddr
	r.Header.Set("Content-Type", "application/json")
	c := &innerCall{who: s.c.who, id: s.c.id, header: http.Header{}}
	s.inner.ServeHTTP(c, r)
	if c.err != nil || answer == nil {
		return c.err
	}
	if err := json.Unmarshal(c.body.Bytes(), answer); err != nil {
		return fmt.Errorf("server: the answer of %s %s: %w", method, path, err)
	}
	return nil
}

// doctorTime bounds the time in which a store reports about itself.
const doctorTime = 2 * time.Second

// maxOldest is how many runs are looked at to find the oldest.
const maxOldest = 1000

// System implements studio.Source.
func (s studioSource) System(ctx context.Context) (studio.System, error) {
	server := s.c.server
	info := studio.System{
		Version: cmp.Or(server.config.Version, "unknown"), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Started: s.started,
		Auth: server.config.Auth.Authenticate != nil, Graphs: len(server.GraphIDs()), Store: fmt.Sprintf("%T", server.config.Store),
		Queue: studio.QueueLoad{Streams: int(server.load.streams.Load())},
	}
	if l := server.load.runs.Load(); l != nil {
		info.Queue.Pending, info.Queue.Running, info.Queue.Counted = l.Pending, l.Running, true
	}
	var err error
	if info.Limits, err = encode(server.limits); err != nil {
		return info, err
	}
	seen := 0
	for r, err := range server.queue.Active(ctx) {
		if err != nil {
			return info, err
		}
		if info.Queue.Oldest.IsZero() || r.Created.Before(info.Queue.Oldest) {
			info.Queue.Oldest = r.Created
		}
		if seen++; seen == maxOldest {
			break
		}
	}
	if e, ok := checkpoint.Unwrap(server.config.Store).(checkpoint.Examiner); ok {
		ctx, cancel := context.WithTimeout(ctx, doctorTime)
		defer cancel()
		if info.Findings, err = e.Doctor(ctx); err != nil {
			info.Findings = []checkpoint.Finding{{Severity: checkpoint.Danger, Subject: "store", Cost: "it cannot be asked about itself now"}}
			server.log().ErrorContext(ctx, "server: the store cannot be asked about itself", "error", err)
		}
	}
	return info, nil
}

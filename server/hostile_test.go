package server_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/chattest"
	"github.com/weftrun/weft/server"
)

// FuzzBodies sends bodies to every endpoint that reads one. Each answer must be documented, and
// none may be a 500.
func FuzzBodies(f *testing.F) {
	names := slices.Sorted(maps.Keys(requests))
	thread := strings.NewReplacer("{thread_id}", unknownID, "{run_id}", unknownID, "{checkpoint_id}", unknownID, "{cron_id}", unknownID, "{assistant_id}", "talk", "{name}", "x")
	for i, name := range names {
		f.Add(uint8(i), []byte(thread.Replace(requests[name].good)))
		f.Add(uint8(i), []byte(`{"metadata":{"a":[1,{"b":null}]},"limit":1e9,"input":[["messages",[["ai",""]]]]}`))
	}
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		name := names[int(which)%len(names)]
		method, pattern, _ := strings.Cut(name, " ")
		store := new(checkpoint.Memory)
		s := newServer(t, store, func(c *server.Config) {
			c.Log, c.Dialect = slog.New(slog.DiscardHandler), "py"
			c.Graphs = map[string]graph.Untyped{"talk": chattest.Talk(t, store)}
		})
		newClient(t, s).do(step{request: "POST /threads", body: `{"thread_id":"` + unknownID + `"}`, status: 200})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // no run is run
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, method, thread.Replace(pattern), strings.NewReader(string(body)))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if ctx.Err() == nil {
			checkDocumented(t, method, r.URL.Path, w)
		}
		if w.Code == http.StatusInternalServerError {
			t.Errorf("%s: status 500: %s", name, w.Body)
		}
	})
}

func TestHostile_PathsAndHeaders(t *testing.T) {
	s := chattest.Start(t, func(c *server.Config) { c.Dialect, c.Log = "py", slog.New(slog.DiscardHandler) })
	c := newClient(t, s)
	c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
	d, err := readDocument(t)
	if err != nil {
		t.Fatal(err)
	}
	for pattern := range d.paths.Map() {
		for _, value := range []string{"%2e%2e%2f%2e%2e%2fetc%2fpasswd", "a%0d%0aSet-Cookie:%20x=1", "%00", "%ff%fe", "weft.runs%2fall", "'%20or%201=1--", strings.Repeat("9", 4000)} {
			path := anyParameter.ReplaceAllString(pattern, value)
			if path == pattern {
				continue
			}
			w := c.send(step{request: "GET " + path})
			if w.Code < 400 || w.Code >= 500 || w.Header().Get("Set-Cookie") != "" {
				t.Errorf("GET %.80s: status %d, %.200s", path, w.Code, w.Body)
			}
		}
	}
	w := c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"talk","input":{"messages":"hello","a\r\nSet-Cookie: x":1,"b":2}}`, status: 200})
	if got := w.Header().Get("X-Weft-Ignored"); got != "b" || w.Header().Get("Set-Cookie") != "" {
		t.Errorf("the ignored fields are %q", got)
	}
	for _, id := range []string{"a b", "<script>", strings.Repeat("x", 129), "é"} {
		if got := c.do(step{request: "GET /ok", header: "X-Request-Id: " + id, status: 200}).Header().Get("X-Request-Id"); len(got) != 36 {
			t.Errorf("the request id %.20q is answered as %q", id, got)
		}
	}
	for _, id := range []string{"-2", "x", "18446744073709551616", "1.5"} {
		c.do(step{request: "GET /threads/{t}/stream", header: "Last-Event-ID: " + id, status: 422})
	}
	c.do(step{request: "POST /threads/{t}/runs", body: `{"assistant_id":"talk","input":{},"webhook":"http://user:password@example.com/"}`, status: 422})
	for _, url := range []string{"file:///etc/passwd", "gopher://example.com", "http://", "//example.com", "http:\\\\example.com", "http://[::1"} {
		c.do(step{request: "POST /threads/{t}/runs", body: fmt.Sprintf(`{"assistant_id":"talk","input":{},"webhook":%q}`, url), status: 422})
	}
}

// pipes is a listener whose connections are in this process, with fake time.
type pipes struct{ accepted chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p.accepted
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { close(p.accepted); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// hostile calls f with a function that connects with a server of graphs that talk.
func hostile(t *testing.T, f func(t *testing.T, connect func() net.Conn, c *client)) {
	synctest.Test(t, func(t *testing.T) {
		s := chattest.Start(t, func(c *server.Config) { c.Log = slog.New(slog.DiscardHandler) })
		listener := pipes{make(chan net.Conn)}
		web := &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second}
		ended := make(chan struct{})
		go func() { defer close(ended); _ = web.Serve(listener) }()
		f(t, func() net.Conn {
			mine, its := net.Pipe()
			listener.accepted <- its
			return mine
		}, newClient(t, s))
		_ = web.Close()
		<-ended
	})
}

// streamsOpen returns how many requests follow a run.
func (c *client) streamsOpen() string {
	for line := range strings.Lines(c.do(step{request: "GET /metrics", status: 200}).Body.String()) {
		if n, ok := strings.CutPrefix(line, "weft_streams_open "); ok {
			return strings.TrimSpace(n)
		}
	}
	return ""
}

const askStream = "POST /runs/stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"

func TestHostile_SlowReader(t *testing.T) {
	hostile(t, func(t *testing.T, connect func() net.Conn, c *client) {
		conn := connect()
		defer conn.Close()
		const body = `{"assistant_id":"talk","input":{"messages":"hello"},"stream_mode":["values","messages-tuple"]}`
		fmt.Fprintf(conn, askStream, len(body), body)
		time.Sleep(time.Second) // nothing is read
		if got := c.streamsOpen(); got != "1" {
			t.Errorf("%s streams are open, want 1", got)
		}
		time.Sleep(20 * time.Second)
		if got := c.streamsOpen(); got != "0" {
			t.Errorf("after 20 s %s streams are open, want none", got)
		}
	})
}

func TestHostile_VanishedReader(t *testing.T) {
	hostile(t, func(t *testing.T, connect func() net.Conn, c *client) {
		conn := connect()
		c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
		const body = `{"assistant_id":"talk","input":{"messages":"wait"},"on_disconnect":"cancel","stream_mode":["messages-tuple"]}`
		fmt.Fprintf(conn, strings.Replace(askStream, "/runs/", "/threads/"+c.saved["t"]+"/runs/", 1), len(body), body)
		for lines := bufio.NewScanner(conn); lines.Scan() && !strings.Contains(lines.Text(), "Wait"); {
		}
		conn.Close()
		time.Sleep(5 * time.Second)
		list := c.do(step{request: "GET /threads/{t}/runs", status: 200}).Body.String()
		if got := gjson.Get(list, "0.status").String(); got != "interrupted" || c.streamsOpen() != "0" {
			t.Errorf("the run is %s, and %s streams are open; want it interrupted and none", got, c.streamsOpen())
		}
	})
}

func TestHostile_DrippingBody(t *testing.T) {
	hostile(t, func(t *testing.T, connect func() net.Conn, _ *client) {
		conn := connect()
		var drips sync.WaitGroup
		defer drips.Wait()
		defer conn.Close()
		fmt.Fprint(conn, "POST /threads HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
		began := time.Now()
		drips.Go(func() {
			for range 100 {
				time.Sleep(time.Second)
				if _, err := conn.Write([]byte(" ")); err != nil {
					return
				}
			}
		})
		r, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if took := time.Since(began); r.StatusCode != 400 || took > 40*time.Second {
			t.Errorf("status %d after %v, want 400 within 40 s", r.StatusCode, took)
		}
	})
}

var anyParameter = regexp.MustCompile(`\{[^}]+\}`)

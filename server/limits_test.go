package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph/eventlog"
	"github.com/weftrun/weft/server"
)

// limited is the answer to a request beyond a limit of the load.
func limited(request, body, header string) step {
	return step{request: request, body: body, header: "X-Weft-Dialect: py\n" + header, status: 429, want: "code=rate_limited\nheader Retry-After=1"}
}

func TestLimits_OfUnfinishedRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, stop := startChains(t, &checkpoint.Memory{}, make(chan struct{}), func(c *server.Config) {
			c.Limits = server.Limits{ThreadRuns: 3, OwnerRuns: 4, Runs: 6}
			c.Auth.Authenticate = func(r *http.Request) (server.Identity, error) {
				return server.Identity{Name: r.Header.Get("X-User")}, nil
			}
		})
		defer stop()
		c := newClient(t, s)
		run := `{"assistant_id":"waits","input":{"topic":"tea"}}`
		create := func(user, thread string) {
			t.Helper()
			c.do(step{request: "POST " + thread + "/runs", body: run, header: "X-User: " + user, status: 200})
		}
		c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
		for range 3 {
			create("ann", "/threads/{t}")
		}
		c.do(limited("POST /threads/{t}/runs", run, "X-User: ann"))
		c.do(limited("POST /threads/{t}/runs/wait", run, "X-User: bob"))
		create("ann", "")
		time.Sleep(3 * time.Second) // of fake time: the runs are counted
		c.do(limited("POST /runs", run, "X-User: ann"))
		create("bob", "")
		create("", "")
		time.Sleep(3 * time.Second)
		c.do(limited("POST /runs/stream", run, "X-User: bob"))
		metrics := c.do(step{request: "GET /metrics", status: 200}).Body.String()
		for _, want := range []string{"weft_runs{status=\"pending\"} 2\n", "weft_runs{status=\"running\"} 4\n", "weft_streams_open 0\n"} {
			if !strings.Contains(metrics, want) {
				t.Errorf("the metrics have no %q:\n%s", want, metrics)
			}
		}
		c.do(step{request: "POST /runs/cancel", body: `{"status":"all"}`, status: 204})
		time.Sleep(3 * time.Second)
		c.do(step{request: "POST /runs/wait", body: `{"assistant_id":"steps","input":{"topic":"tea"}}`, header: "X-User: ann", status: 200})
	})
}

func TestLimits_OfOneRequest(t *testing.T) {
	s, stop := startChains(t, &checkpoint.Memory{}, nil, func(c *server.Config) {
		c.Limits = server.Limits{Body: 5000, Supersteps: 20_000, Request: 3000, Streams: 1}
	})
	defer stop()
	c := newClient(t, s)
	text := func(n int) string {
		return fmt.Sprintf(`{"assistant_id":"steps","input":{"topic":%q}}`, strings.Repeat("x", n))
	}
	c.do(step{request: "POST /runs", body: text(4000), header: "X-Weft-Dialect: py", status: 413, want: "code=too_large"})
	c.do(step{request: "POST /runs", body: text(5000), status: 413})
	c.do(step{request: "POST /runs/wait", body: text(10), status: 200})
	steps := `{"metadata":{"graph_id":"steps"},"supersteps":[{"updates":[{"values":{"topic":"` + strings.Repeat("x", 10_000) + `"},"as_node":"__start__"}]}]}`
	c.do(step{request: "POST /threads", body: steps, status: 200})
	c.do(step{request: "POST /threads", body: `{"metadata":{` + strings.TrimSuffix(manyValues(201), ",") + `}}`, status: 413})
	c.do(step{request: "POST /threads", body: `{"metadata":{` + strings.TrimSuffix(manyValues(200), ",") + `}}`, status: 200})
	c.do(step{request: "POST /threads", body: `{"metadata":{"a":"` + strings.Repeat("x", 20_000) + `"}}`, status: 413})
}

func TestLimits_OfAnInput(t *testing.T) {
	s, stop := startChains(t, &checkpoint.Memory{}, nil)
	defer stop()
	c := newClient(t, s)
	nested := func(levels int) string { // the input is one of them
		return `{"assistant_id":"steps","input":{"topic":"tea","more":` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + `}}`
	}
	c.do(step{request: "POST /runs/wait", body: nested(97), status: 200, want: "topic=tea"})
	c.do(step{request: "POST /runs", body: nested(98), status: 422,
		want: "detail=the input, the command, the config and the context of a run must not be deeper than 97 (got 98)"})
	c.do(step{request: "POST /runs", body: `{"assistant_id":"steps","input":{"topic":"` + "\xff" + `"}}`, status: 422, want: "detail=the body must be valid UTF-8"})
	// An input that is read as it was sent is stored once.
	topic := strings.Repeat("x", 900_000)
	c.do(step{request: "POST /runs/wait", body: `{"assistant_id":"steps","input":{"topic":"` + topic + `"}}`, status: 200, want: "topic=" + topic})
}

func TestLimits_OfStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		s, stop := startChains(t, &checkpoint.Memory{}, gate, func(c *server.Config) { c.Limits.Streams = 1 })
		defer stop()
		c := newClient(t, s)
		run := `{"assistant_id":"waits","input":{"topic":"tea"}}`
		waited := make(chan struct{})
		go func() {
			newClient(t, s).do(step{request: "POST /runs/wait", body: run, status: 200})
			close(waited)
		}()
		time.Sleep(time.Second) // of fake time: it waits
		c.do(limited("POST /runs/stream", run, ""))
		close(gate)
		<-waited
		c.do(step{request: "POST /runs/wait", body: run, status: 200})
	})
}

func TestStateUpdate_ReportsUnknownFields(t *testing.T) {
	s, stop := startChains(t, &checkpoint.Memory{}, nil)
	defer stop()
	c := newClient(t, s)
	c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
	c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"steps","input":{"topic":"tea","sugar":2}}`, status: 200,
		want: "topic=tea\nheader X-Weft-Ignored=sugar"})
	c.do(step{request: "POST /threads/{t}/state", body: `{"values":{"topic":"milk","b\nad":1,"cup":3},"as_node":"publish"}`, status: 200,
		want: "header X-Weft-Ignored=cup"})
	c.do(step{request: "GET /threads/{t}/state", status: 200, want: "values.topic=milk\nvalues.cup="})
	c.do(step{request: "POST /threads/{t}/state", body: `{"values":{"topic":"tea"}}`, status: 200, want: "header X-Weft-Ignored="})
}

func TestDeleteThread_RemovesItsLog(t *testing.T) {
	bus := &topic.Local{}
	s, stop := startChains(t, &checkpoint.Memory{}, nil, func(c *server.Config) { c.Bus = bus })
	defer stop()
	c := newClient(t, s)
	c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
	c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"steps","input":{"topic":"tea"}}`, status: 200})
	last := func() uint64 {
		n, err := eventlog.Log{Bus: bus}.Last(t.Context(), c.saved["t"])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if last() == 0 {
		t.Fatal("the run has no events in the log")
	}
	c.do(step{request: "DELETE /threads/{t}", status: 204})
	if n := last(); n != 0 {
		t.Errorf("the log of a removed thread is at position %d, want 0", n)
	}
}

func TestCancelRuns_OfAllThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var keys server.Keys
		keys.Add("ann", "a")
		keys.Add("bob", "b")
		s, stop := startChains(t, &checkpoint.Memory{}, make(chan struct{}), func(c *server.Config) {
			c.Auth = server.Auth{Authenticate: keys.Authenticate, Rules: server.Owners}
		})
		defer stop()
		c := newClient(t, s)
		const ann, bob, run = "X-Api-Key: a", "X-Api-Key: b", `{"assistant_id":"waits","input":{"topic":"tea"}}`
		for _, who := range []string{ann, bob} {
			name := strings.TrimPrefix(who, "X-Api-Key: ")
			c.do(step{request: "POST /threads", header: who, body: "{}", status: 200, save: name + "t=thread_id"})
			c.do(step{request: "POST /threads/{" + name + "t}/runs", header: who, body: run, status: 200, save: name + "r=run_id"})
			c.do(step{request: "POST /runs", header: who, body: run, status: 200})
		}
		time.Sleep(time.Second) // of fake time: all run
		c.do(step{request: "POST /runs/cancel", header: bob, body: `{"run_ids":["{ar}"]}`, status: 404})
		c.do(step{request: "POST /runs/cancel", header: ann, body: `{"status":"pending"}`, status: 404})
		c.do(step{request: "POST /runs/cancel", header: ann, body: `{"status":"running"}`, status: 204})
		time.Sleep(3 * time.Second)
		c.do(step{request: "GET /threads/{at}/runs/{ar}", header: ann, status: 200, want: "status=interrupted"})
		c.do(step{request: "GET /threads/{bt}/runs/{br}", header: bob, status: 200, want: "status=running"})
		lines := strings.Split(c.do(step{request: "GET /metrics", header: bob, status: 200}).Body.String(), "\n")
		if want := `weft_runs{status="running"} 2`; !slices.Contains(lines, want) {
			t.Errorf("the metrics have no line %s, so the run without a thread goes on", want)
		}
	})
}

// manyValues are the values of an object.
func manyValues(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":%d,`, i, i)
	}
	return b.String()
}

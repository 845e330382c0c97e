package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/wake"
)

// nap is the state of a graph that sleeps.
type nap struct {
	Log state.List[string] `json:"log"`
}

// withSleeper adds a graph that sleeps for an hour to a server.
func withSleeper(t testing.TB) func(*server.Config) {
	return func(c *server.Config) {
		c.Documents = new(document.Map)
		b := graph.New[nap]("sleeps")
		b.Node("nap", graph.Func(func(ctx context.Context, s *nap) error {
			if err := graph.Sleep(ctx, "", time.Hour); err != nil {
				return err
			}
			settings, _ := graph.Settings(ctx).(server.Settings)
			s.Log.Append("woke " + string(settings.Configurable["name"]))
			return nil
		}))
		b.Edge(graph.Start, "nap")
		b.Edge("nap", graph.End)
		g, err := b.Compile(graph.Config{Store: c.Store, Timers: wake.Over(c.Documents)})
		if err != nil {
			t.Fatal(err)
		}
		c.Graphs["sleeps"] = g.Untyped()
	}
}

func TestWork_WakesThreads(t *testing.T) {
	inChains(t, func(t *testing.T, c *client, _ chan struct{}) {
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"sleeps","input":{},"metadata":{"from":"test"},"config":{"configurable":{"name":5}}}`, status: 200, want: "__interrupt__.#=1"})
		time.Sleep(59 * time.Minute)
		c.do(step{request: "GET /threads/{t}", status: 200, want: "status=interrupted"})
		c.do(step{request: "GET /threads/{t}/runs", status: 200, want: "#=1"})
		time.Sleep(time.Minute + 3*time.Second)
		c.do(step{request: "GET /threads/{t}", status: 200, want: "status=idle\nvalues.log=[\"woke 5\"]"})
		c.do(step{request: "GET /threads/{t}/runs", status: 200, want: "#=2\n#.status=[\"success\",\"success\"]\n0.kwargs.input=null\n0.metadata.from=test"})
	}, withSleeper(t))
}

// A copy has the settings of the last run of the thread, and a copy of that too.
func TestWork_WakesCopies(t *testing.T) {
	inChains(t, func(t *testing.T, c *client, _ chan struct{}) {
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"sleeps","input":{},"metadata":{"from":"test"},"config":{"configurable":{"name":5}},"webhook":"/none"}`, status: 200, want: "__interrupt__.#=1"})
		time.Sleep(30 * time.Minute)
		c.do(step{request: "POST /threads/{t}/copy", status: 200, want: "status=interrupted", save: "copy=thread_id"})
		c.do(step{request: "POST /threads/{copy}/copy", status: 200, want: "status=interrupted", save: "again=thread_id"})
		time.Sleep(29 * time.Minute)
		c.do(step{request: "GET /threads/{copy}", status: 200, want: "status=interrupted"})
		time.Sleep(time.Minute + 3*time.Second)
		for _, thread := range []string{"copy", "again"} {
			c.do(step{request: "GET /threads/{" + thread + "}", status: 200, want: "status=idle\nvalues.log=[\"woke 5\"]"})
			c.do(step{request: "GET /threads/{" + thread + "}/runs", status: 200, want: "#=1\n0.status=success\n0.kwargs.input=null\n0.metadata.from=test\n0.kwargs.webhook=\n0.kwargs.config.configurable.thread_id={" + thread + "}"})
		}
	}, withSleeper(t), withHook)
}

// withHook adds a path to which webhooks may go to a server.
func withHook(c *server.Config) {
	c.Routes = http.NewServeMux()
	c.Routes.HandleFunc("POST /none", func(http.ResponseWriter, *http.Request) {})
}

func TestWork_TriesFailedRunsOfCopiesAgain(t *testing.T) {
	inChains(t, func(t *testing.T, c *client, _ chan struct{}) {
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"flaky","input":{}}`, status: 200, want: "__error__.message=no network"})
		c.do(step{request: "POST /threads/{t}/copy", status: 200, save: "copy=thread_id"})
		c.do(step{request: "DELETE /threads/{t}", status: 204})
		time.Sleep(3*time.Hour + 5*time.Second)
		c.do(step{request: "GET /threads/{copy}", status: 200, want: "status=idle\nvalues.log=[\"worked\"]"})
		c.do(step{request: "GET /threads/{copy}/runs", status: 200, want: "#=2\n#.status=[\"success\",\"error\"]"})
	}, withFlaky(t))
}

func TestWork_WakesThreadsThatNoRunHasMade(t *testing.T) {
	var sleeper graph.Untyped
	inChains(t, func(t *testing.T, c *client, _ chan struct{}) {
		res, err := sleeper.Invoke(t.Context(), []byte(`{}`), graph.RunOptions{Thread: "00000000-0000-4000-8000-000000000001"})
		if err != nil || res.Status != graph.Interrupted {
			t.Fatalf("got %s, %v", res.Status, err)
		}
		time.Sleep(time.Hour + 3*time.Second)
		got, _, err := sleeper.Thread("00000000-0000-4000-8000-000000000001").State(t.Context(), 0)
		if err != nil || string(got) != `{"log":["woke "]}` {
			t.Errorf("the state is %s, %v", got, err)
		}
	}, withSleeper(t), func(c *server.Config) { sleeper = c.Graphs["sleeps"] })
}

// engineGraph is a graph whose runs an engine carries out: Resume waits for an end that never
// comes.
type engineGraph struct {
	graph.Untyped
	left chan error // gets the cause with which a caller has left
}

func (g engineGraph) Resume(ctx context.Context, _ graph.Answers, _ graph.RunOptions) (graph.Result[json.RawMessage], error) {
	<-ctx.Done()
	g.left <- context.Cause(ctx)
	return graph.Result[json.RawMessage]{}, context.Cause(ctx)
}

// A server that stops leaves the threads that it has woken to the engine, which goes on with them.
func TestWork_LeavesWokenThreadsToTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := engineGraph{left: make(chan error, 1)}
		_, stop := startChains(t, &checkpoint.Memory{}, make(chan struct{}), withSleeper(t), func(c *server.Config) {
			g.Untyped = c.Graphs["sleeps"]
			c.Graphs["sleeps"] = g
		})
		if _, err := g.Invoke(t.Context(), []byte(`{}`), graph.RunOptions{Thread: "00000000-0000-4000-8000-000000000001"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour + 3*time.Second)
		stop()
		if cause := <-g.left; !errors.Is(cause, graph.ErrDetached) {
			t.Errorf("the server left the run with %v, want an ErrDetached, which cancels nothing", cause)
		}
	})
}

// Another server may have the graph: its waker does not wait for the back-off of this one.
func TestWork_LeavesThreadsOfUnknownGraphs(t *testing.T) {
	var sleeper graph.Untyped
	var timers *wake.Timers
	inChains(t, func(t *testing.T, _ *client, _ chan struct{}) {
		res, err := sleeper.Invoke(t.Context(), []byte(`{}`), graph.RunOptions{Thread: "00000000-0000-4000-8000-000000000001"})
		if err != nil || res.Status != graph.Interrupted {
			t.Fatalf("got %s, %v", res.Status, err)
		}
		due := time.Now().Add(time.Hour)
		time.Sleep(time.Hour + 30*time.Second)
		all, err := timers.List(t.Context(), 10)
		if err != nil || len(all) != 1 || all[0].Failures != 0 || !all[0].At.Equal(due) {
			t.Errorf("the timers are %+v, %v; want one that is due at %v", all, err, due)
		}
	}, withSleeper(t), func(c *server.Config) {
		sleeper, timers = c.Graphs["sleeps"], wake.Over(c.Documents)
		delete(c.Graphs, "sleeps")
	})
}

func TestWork_BeginsScheduledRuns(t *testing.T) {
	var docs document.Store
	var sleeper graph.Untyped
	inChains(t, func(t *testing.T, _ *client, _ chan struct{}) {
		at := time.Now().Add(time.Hour)
		s := wake.Schedule{Name: "nap", Graph: "sleeps", At: at}
		if err := wake.Over(docs).Schedule(t.Context(), s, time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2*time.Hour + 5*time.Second)
		got, info, err := sleeper.Thread("nap/"+at.UTC().Format(time.RFC3339Nano)).State(t.Context(), 0)
		if err != nil || info.Status != graph.Done || string(got) != `{"log":["woke "]}` {
			t.Errorf("the thread is %s with %s, %v", info.Status, got, err)
		}
	}, withSleeper(t), func(c *server.Config) { docs, sleeper = c.Documents, c.Graphs["sleeps"] })
}

// withFlaky adds a graph whose first two runs fail to a server.
func withFlaky(t testing.TB) func(*server.Config) {
	return func(c *server.Config) {
		c.Documents = new(document.Map)
		b, runs := graph.New[nap]("flaky"), 0
		b.Node("a", graph.Func(func(_ context.Context, s *nap) error {
			if runs++; runs < 3 {
				return errors.New("no network")
			}
			s.Log.Append("worked")
			return nil
		}))
		b.Edge(graph.Start, "a")
		b.Edge("a", graph.End)
		g, err := b.Compile(graph.Config{Store: c.Store, Timers: wake.Over(c.Documents), RunRetry: graph.Retry{Attempts: 3, Initial: time.Hour}})
		if err != nil {
			t.Fatal(err)
		}
		c.Graphs["flaky"] = g.Untyped()
	}
}

func TestWork_TriesFailedRunsAgain(t *testing.T) {
	inChains(t, func(t *testing.T, c *client, _ chan struct{}) {
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"flaky","input":{}}`, status: 200, want: "__error__.message=no network"})
		time.Sleep(59 * time.Minute)
		c.do(step{request: "GET /threads/{t}/runs", status: 200, want: "#=1"})
		time.Sleep(time.Minute + 3*time.Second)
		c.do(step{request: "GET /threads/{t}", status: 200, want: "status=error"})
		time.Sleep(time.Hour + 3*time.Second)
		c.do(step{request: "GET /threads/{t}", status: 200, want: "status=idle\nvalues.log=[\"worked\"]"})
		c.do(step{request: "GET /threads/{t}/runs", status: 200, want: "#=3\n#.status=[\"success\",\"error\",\"error\"]"})
	}, withFlaky(t))
}

// withAsker adds a graph that reminds and escalates to a server, and what its notices are sent to.
func withAsker(t testing.TB, got *[]*http.Request, bodies *[]string, statuses ...int) func(*server.Config) {
	return func(c *server.Config) {
		c.Documents = new(document.Map)
		b := graph.New[nap]("asks-ben")
		b.Node("a", graph.Func(func(ctx context.Context, _ *nap) error {
			_, err := graph.Ask[string](ctx, graph.Question{
				Prompt: "Sure?", To: "ann", Remind: 2 * time.Hour, Escalate: []graph.Escalation{{After: 3 * time.Hour, To: "ben"}},
			})
			return err
		}))
		b.Edge(graph.Start, "a")
		b.Edge("a", graph.End)
		g, err := b.Compile(graph.Config{Store: c.Store, Timers: wake.Over(c.Documents)})
		if err != nil {
			t.Fatal(err)
		}
		c.Graphs["asks-ben"] = g.Untyped()
		c.Routes = http.NewServeMux()
		c.Routes.HandleFunc("POST /notices", func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			*got, *bodies = append(*got, r), append(*bodies, string(body))
			if len(statuses) > 0 {
				w.WriteHeader(statuses[0])
				statuses = statuses[1:]
			}
		})
		c.Webhooks = server.Webhooks{Notify: "/notices", Secret: []byte("secret")}
	}
}

func TestWork_SendsNotices(t *testing.T) {
	var got []*http.Request
	var bodies []string
	inChains(t, func(t *testing.T, c *client, _ chan struct{}) {
		asked := time.Now()
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"asks-ben","input":{}}`, status: 200, want: "__interrupt__.#=1"})
		time.Sleep(3*time.Hour + 30*time.Minute)
		synctest.Wait()
		if len(bodies) != 3 { // the first request failed
			t.Fatalf("got the notices %q, want a reminder twice, and an escalation", bodies)
		}
		if bodies[0] != bodies[1] || got[0].Header.Get("X-Weft-Delivery") != got[1].Header.Get("X-Weft-Delivery") {
			t.Errorf("the second attempt sends %q, want %q", bodies[1], bodies[0])
		}
		if got[2].Header.Get("X-Weft-Delivery") == got[1].Header.Get("X-Weft-Delivery") || got[2].Header.Get("X-Weft-Signature") == "" {
			t.Errorf("the escalation has the header %v", got[2].Header)
		}
		for i, want := range []wake.Notice{
			{Kind: wake.Reminder, To: "ann", At: asked.Add(2 * time.Hour)}, {Kind: wake.Escalation, To: "ben", At: asked.Add(3 * time.Hour)},
		} {
			var n wake.Notice
			if err := json.Unmarshal([]byte(bodies[i+1]), &n); err != nil {
				t.Fatal(err)
			}
			if n.Kind != want.Kind || n.To != want.To || !n.At.Equal(want.At) || n.Thread != c.saved["t"] || n.Graph != "asks-ben" || n.Question.Prompt != "Sure?" {
				t.Errorf("notice %d is %s, want %+v", i, bodies[i+1], want)
			}
		}
	}, withAsker(t, &got, &bodies, http.StatusBadGateway))
}

func TestNew_ChecksWhereNoticesAreSent(t *testing.T) {
	for url, ok := range map[string]bool{
		"": true, "https://hooks.example.com/x": true, "/notices": true, "ftp://hooks.example.com": false,
		"https://other.example.org": false, "hooks": false, "http://127.0.0.1:7400/x": false,
	} {
		store := new(checkpoint.Memory)
		_, err := server.New(t.Context(), server.Config{
			Store: store, Graphs: map[string]graph.Untyped{"steps": chain(t, store, nil, "plan")},
			Webhooks: server.Webhooks{Notify: url, Outbound: server.Outbound{Hosts: []string{"*.example.com", "127.0.0.1"}}},
		})
		if (err == nil) != ok || !ok && !errors.Is(err, server.ErrConfig) {
			t.Errorf("Notify %q: got %v", url, err)
		}
	}
}

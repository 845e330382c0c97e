package server_test

import (
	"context"
	"errors"
	"testing"
	"time"

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

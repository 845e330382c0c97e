package e2e

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/programtest"
	"github.com/weftrun/weft/temporal"
	"github.com/weftrun/weft/temporal/internal/scenarios"
)

// shared is the server of the tests.
var shared *Server

func TestMain(m *testing.M) {
	programtest.Main(program)
	if code, is := beWorker(); is {
		os.Exit(code)
	}
	s, err := Start(Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	shared = s
	code := m.Run()
	if err := s.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// dial connects to the server.
func dial(t testing.TB) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: shared.Address, Namespace: shared.Namespace, Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// quiet is a logger that drops everything.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

var queues atomic.Int64

// The scenarios that run in one process, and in the test environment, run on a server unmodified.
func TestScenarios_OnAServer(t *testing.T) {
	for _, mode := range []temporal.Mode{temporal.Segments, temporal.Nodes} {
		t.Run(string(mode), func(t *testing.T) {
			c := dial(t)
			scenarios.Run(t, func(t *testing.T, g graph.Untyped, store checkpoint.Store) graph.Untyped {
				own := &renamed{g, fmt.Sprint(g.Name(), queues.Add(1))} // threads of other tests have the same names
				docs := new(document.Map)
				queue := temporal.DefaultQueue // that of the tasks in a scenario
				w, err := temporal.NewWorker(c, temporal.WorkerConfig{Graphs: []graph.Untyped{own}, Store: store, Documents: docs, Settings: scenarios.Settings, Queue: queue, StopTimeout: 10 * time.Second,
					Options: worker.Options{MaxHeartbeatThrottleInterval: 200 * time.Millisecond}})
				if err != nil {
					t.Fatal(err)
				}
				if err := w.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(w.Stop)
				runs, err := temporal.NewClient(c, own, temporal.ClientConfig{Store: store, Documents: docs, Queue: queue, Mode: mode, SearchAttributes: true,
					Heartbeat: 5 * time.Second, TaskTimeout: 5 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				return runs
			})
		})
	}
}

// renamed is a graph under another name.
type renamed struct {
	graph.Untyped
	name string
}

func (r *renamed) Name() string { return r.name }

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/temporal"
)

// A run whose graph no worker has can be stopped, and leaves its thread.
func TestStop_WithoutAWorkerOfTheGraph(t *testing.T) {
	for _, mode := range []temporal.Mode{temporal.Segments, temporal.Nodes} {
		t.Run(string(mode), func(t *testing.T) {
			conn, queue := dial(t), "stop-"+string(mode)
			store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "weft.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			g, err := writing(store, "", queue)
			if err != nil {
				t.Fatal(err)
			}
			other, err := writing(store, "", queue+"-other")
			if err != nil {
				t.Fatal(err)
			}
			w, err := temporal.NewWorker(conn, temporal.WorkerConfig{Graphs: []graph.Untyped{other.Untyped()}, Store: store, Queue: queue})
			if err == nil {
				err = w.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			runs, err := temporal.NewClient(conn, g.Untyped(), temporal.ClientConfig{Store: store, Queue: queue, Mode: mode})
			if err != nil {
				t.Fatal(err)
			}
			errEnough := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			h := runs.Start(ctx, json.RawMessage(`{}`), graph.RunOptions{Thread: "t"})
			shell{T: t}.await("a worker refuses the run", func() bool {
				d, err := conn.DescribeWorkflowExecution(t.Context(), runs.Name()+"/t", "")
				return err == nil && len(d.GetPendingActivities()) == 1 && d.GetPendingActivities()[0].GetLastFailure() != nil
			})
			cancel(errEnough)
			if _, err := h.Wait(); !errors.Is(err, errEnough) || !errors.Is(err, context.Canceled) {
				t.Errorf("the run ended with %v, want that it was cancelled, and the cause", err)
			}
			held, err := checkpoint.Hold(t.Context(), store, "t", checkpoint.HoldOptions{TTL: time.Second})
			if err != nil {
				t.Fatalf("after the run: %v, want that the thread is free", err)
			}
			if err := held.Release(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A run that its caller has cancelled before any worker was there does not begin when one comes.
func TestStop_BeforeAWorkerComes(t *testing.T) {
	for _, mode := range []temporal.Mode{temporal.Segments, temporal.Nodes} {
		t.Run(string(mode), func(t *testing.T) {
			conn, queue, dir := dial(t), "early-"+string(mode), t.TempDir()
			store, err := sqlite.Open(t.Context(), filepath.Join(dir, "weft.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			file := filepath.Join(dir, "steps")
			g, err := writing(store, file, queue)
			if err != nil {
				t.Fatal(err)
			}
			runs, err := temporal.NewClient(conn, g.Untyped(), temporal.ClientConfig{Store: store, Queue: queue, Mode: mode, Wait: time.Second, CancelTimeout: 2 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			errEnough := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			h := runs.Start(ctx, json.RawMessage(`{}`), graph.RunOptions{Thread: "t"})
			closed := func() (known, over bool) {
				d, err := conn.DescribeWorkflowExecution(t.Context(), runs.Name()+"/t", "")
				return err == nil, err == nil && d.GetWorkflowExecutionInfo().GetCloseTime() != nil
			}
			shell{T: t}.await("the server has the workflow", func() bool { known, _ := closed(); return known })
			cancel(errEnough)
			if _, err := h.Wait(); !errors.Is(err, errEnough) {
				t.Errorf("the run ended with %v, want the cause", err)
			}
			w, err := temporal.NewWorker(conn, temporal.WorkerConfig{Graphs: []graph.Untyped{g.Untyped()}, Store: store, Queue: queue})
			if err == nil {
				err = w.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			shell{T: t}.await("the workflow ends", func() bool { _, over := closed(); return over })
			if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the file of the steps: %v, want that no step has run", err)
			}
		})
	}
}

func TestStart_AddressMustBeAnIP(t *testing.T) {
	for _, address := range []string{"localhost:7233", "127.0.0.1", "127.0.0.1:http"} {
		if s, err := Start(Options{Address: address}); err == nil {
			t.Errorf("%s: the server was started; want an error", address)
			s.Stop()
		}
	}
}

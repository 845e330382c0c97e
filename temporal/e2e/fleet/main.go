// Fleet runs the workflow of examples/fleet on two workers, and kills the one that has it by
// kill -9. The other goes on:
//
//	cd temporal/e2e && go run ./fleet
//
// A server of Temporal, in this process, gives the workers their work. They are processes that
// share a store with the client: a file of SQLite here, Redis or PostgreSQL on several machines.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/weftrun/weft/checkpoint/sqlite"
	example "github.com/weftrun/weft/examples/fleet"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/temporal"
	"github.com/weftrun/weft/temporal/e2e"
)

// pages is how many pages the workflow reads.
const pages = 40

// fleet is what a process of the fleet has: the graph over the shared store, and the server.
type fleet struct {
	store *sqlite.Store
	graph graph.Untyped
	conn  client.Client
}

// join opens the store and the server.
func join(ctx context.Context, address, file string) (f *fleet, err error) {
	f = new(fleet)
	defer func() {
		if err != nil {
			f.leave()
		}
	}()
	if f.store, err = sqlite.Open(ctx, file); err != nil {
		return f, err
	}
	if f.graph, err = example.Open(graph.Config{Store: f.store}); err != nil {
		return f, err
	}
	f.conn, err = client.DialContext(ctx, client.Options{HostPort: address, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	return f, err
}

func (f *fleet) leave() {
	if f.conn != nil {
		f.conn.Close()
	}
	if f.store != nil {
		_ = f.store.Close() // nothing is written any more
	}
}

// work is a worker process: it carries out runs until it is stopped.
func work(ctx context.Context, address, file string) error {
	f, err := join(ctx, address, file)
	if err != nil {
		return err
	}
	defer f.leave()
	bus, err := f.store.Bus(ctx, 0)
	if err != nil {
		return err
	}
	w, err := temporal.NewWorker(f.conn, temporal.WorkerConfig{Graphs: []graph.Untyped{f.graph}, Store: f.store, Bus: bus})
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// workerFlag makes this program a worker.
const workerFlag = "-worker"

// startWorker starts a worker process.
func startWorker(ctx context.Context, address, file string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, workerFlag, address, file)
	cmd.Stderr = os.Stderr
	return cmd, cmd.Start()
}

// run shows the fleet. It returns the processes that have read the pages.
func run(ctx context.Context, out io.Writer) (readBy []int, err error) {
	server, err := e2e.Start(e2e.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	dir, err := os.MkdirTemp("", "fleet")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "weft.db")
	f, err := join(ctx, server.Address, file)
	if err != nil {
		return nil, err
	}
	defer f.leave()
	bus, err := f.store.Bus(ctx, 0)
	if err != nil {
		return nil, err
	}
	workers := map[int]*exec.Cmd{}
	for range 2 {
		w, err := startWorker(ctx, server.Address, file)
		if err != nil {
			return nil, err
		}
		defer func() {
			_ = w.Process.Kill() // it may have ended
			_ = w.Wait()
		}()
		workers[w.Process.Pid] = w
		fmt.Fprintf(out, "worker %d works\n", w.Process.Pid)
	}
	runs, err := temporal.NewClient(f.conn, f.graph, temporal.ClientConfig{Store: f.store, Bus: bus})
	if err != nil {
		return nil, err
	}
	h := runs.Start(ctx, json.RawMessage(`{}`), graph.RunOptions{Thread: "pages", Hold: true})
	killed := time.Time{}
	for ev, err := range h.Events(graph.Updates) {
		if err != nil {
			break // Wait returns it
		}
		var wrote struct {
			ReadBy []int `json:"read_by"`
		}
		if ev.Mode != graph.Updates || json.Unmarshal(ev.Writes, &wrote) != nil || len(wrote.ReadBy) != 1 {
			continue
		}
		by := wrote.ReadBy[0]
		fmt.Fprintf(out, "page %d: worker %d\n", ev.Step, by)
		switch w := workers[by]; {
		case ev.Step >= pages/4 && len(workers) == 2:
			fmt.Fprintf(out, "kill -9 %d\n", by)
			if err := w.Process.Kill(); err != nil {
				return nil, err
			}
			delete(workers, by)
			killed = time.Now()
		case w != nil && len(workers) == 1 && !killed.IsZero():
			fmt.Fprintf(out, "worker %d went on after %v\n", by, time.Since(killed).Round(time.Millisecond))
			killed = time.Time{}
		}
	}
	res, err := h.Wait()
	if err != nil {
		return nil, err
	}
	var end struct {
		ReadBy []int `json:"read_by"`
	}
	if err := json.Unmarshal(res.State, &end); err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "%s: %d pages, each read once\n", res.Status, len(end.ReadBy))
	return end.ReadBy, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := start(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, args []string) error {
	if len(args) == 3 && args[0] == workerFlag {
		return work(ctx, args[1], args[2])
	}
	_, err := run(ctx, os.Stdout)
	return err
}

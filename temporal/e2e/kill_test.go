package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/temporal"
)

var kills = flag.Int("kills", 3, "how often all workers of a mode are killed")

// rounds is how often the workers are killed.
func rounds() int {
	if testing.Short() {
		return min(*kills, 2)
	}
	return *kills
}

// steps is how many steps a run of these tests has.
const steps = 60

// ledger is the state of their graph.
type ledger struct {
	Steps state.List[int] `json:"steps"`
}

// appendLine appends a line to a file.
func appendLine(file, line string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	return errors.Join(err, f.Close())
}

// writing returns a graph whose steps append a line to a file each.
func writing(store checkpoint.Store, file, queue string) (*graph.Graph[ledger], error) {
	b := graph.New[ledger]("ledger" + queue)
	b.Node("write", graph.Router(func(ctx context.Context, s *ledger) (graph.Command, error) {
		err := appendLine(file, graph.TaskID(ctx))
		if err != nil {
			return graph.Command{}, err
		}
		n := s.Steps.Len()
		s.Steps.Append(n)
		time.Sleep(2 * time.Millisecond) // so that a worker is killed within a run
		if n+1 == steps {
			return graph.Goto(graph.End), err
		}
		return graph.Goto("write"), err
	}, "write", graph.End))
	b.Edge(graph.Start, "write")
	return b.Compile(graph.Config{Store: store})
}

// The environment of a worker process.
const (
	workerAddress = "WEFT_WORKER_ADDRESS"
	workerQueue   = "WEFT_WORKER_QUEUE"
	workerStore   = "WEFT_WORKER_STORE"
	workerFile    = "WEFT_WORKER_FILE"
	serverFile    = "WEFT_SERVER_FILE" // of a server process, with workerAddress
)

// beWorker makes this process a worker, if its environment says so.
func beWorker() (code int, is bool) {
	if os.Getenv(workerAddress) == "" {
		return 0, false
	}
	do := work
	if os.Getenv(serverFile) != "" {
		do = serve
	}
	if err := do(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	return 0, true
}

func work(ctx context.Context) error {
	c, err := client.Dial(client.Options{HostPort: os.Getenv(workerAddress), Namespace: "default", Logger: quiet{}})
	if err != nil {
		return err
	}
	defer c.Close()
	store, closes, err := openStore(ctx, os.Getenv(workerStore))
	if err != nil {
		return err
	}
	defer closes()
	queue := os.Getenv(workerQueue)
	g, err := writing(store, os.Getenv(workerFile), queue)
	if err != nil {
		return err
	}
	w, err := temporal.NewWorker(c, temporal.WorkerConfig{Graphs: []graph.Untyped{g.Untyped()}, Store: store, Queue: queue, Options: worker.Options{Identity: fmt.Sprint(os.Getpid())}})
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// serve runs a server until this process is killed.
func serve(ctx context.Context) error {
	s, err := Start(Options{Address: os.Getenv(workerAddress), File: os.Getenv(serverFile)})
	if err != nil {
		return err
	}
	fmt.Println("serving")
	<-ctx.Done()
	return s.Stop()
}

// openStore opens a store of Redis, or a file of SQLite.
func openStore(ctx context.Context, address string) (checkpoint.Store, func() error, error) {
	if strings.HasPrefix(address, "redis:") {
		s, err := redis.OpenURL(ctx, address)
		if err != nil {
			return nil, nil, err
		}
		return s, s.Close, nil
	}
	s, err := sqlite.Open(ctx, address)
	if err != nil {
		return nil, nil, err
	}
	return s, s.Close, nil
}

// startWorker starts a worker process of the shared server. The caller must kill it.
func startWorker(t *testing.T, queue, store, file string) *exec.Cmd {
	t.Helper()
	return startWorkerAt(t, shared.Address, queue, store, file)
}

func startWorkerAt(t *testing.T, address, queue, store, file string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), workerAddress+"="+address, workerQueue+"="+queue, workerStore+"="+store, workerFile+"="+file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()
}

// A run goes on in another process when its worker is killed. Every committed step is there once, and
// a task runs at most once more for each kill.
func TestKill_AnotherWorkerGoesOn(t *testing.T) {
	for _, mode := range []temporal.Mode{temporal.Segments, temporal.Nodes} {
		t.Run(string(mode), func(t *testing.T) {
			dir, queue := t.TempDir(), fmt.Sprint("kill-", mode)
			path, file := filepath.Join(dir, "store"), filepath.Join(dir, "lines")
			store, err := sqlite.Open(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			g, err := writing(store, file, queue)
			if err != nil {
				t.Fatal(err)
			}
			runs, err := temporal.NewClient(dial(t), g.Untyped(), temporal.ClientConfig{Store: store, Queue: queue, Mode: mode})
			if err != nil {
				t.Fatal(err)
			}
			workers := []*exec.Cmd{startWorker(t, queue, path, file), startWorker(t, queue, path, file)}
			defer func() {
				for _, w := range workers {
					kill(w)
				}
			}()
			for round := range rounds() {
				thread := fmt.Sprint("t", round)
				h := runs.Start(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: thread})
				at := uint64(2 + rand.N(steps/2))
				waitForCommit(t, store, thread, at)
				for i := range workers { // one of them has the run
					kill(workers[i])
					workers[i] = startWorker(t, queue, path, file)
				}
				res, err := h.Wait()
				if err != nil || res.Status != graph.Done {
					t.Fatalf("round %d: the run ended %q with %v, want done", round, res.Status, err)
				}
				s, _, err := g.Thread(thread).State(t.Context(), 0)
				if err != nil || s.Steps.Len() != steps {
					t.Errorf("round %d: %d steps are in the state, %v; want %d", round, s.Steps.Len(), err, steps)
				}
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			calls := map[string]int{}
			for line := range strings.Lines(string(data)) {
				calls[line]++
			}
			again := 0
			for _, n := range calls {
				again += n - 1
			}
			if want := rounds() * steps; len(calls) != want || again > rounds() {
				t.Errorf("%d tasks ran, %d of them again; want %d, and at most %d again", len(calls), again, want, rounds())
			}
			t.Logf("%d kills: %d tasks, %d calls made again", rounds(), len(calls), again)
		})
	}
}

// waitForCommit waits until a thread has a commit.
func waitForCommit(t *testing.T, store checkpoint.Store, thread string, at uint64) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		p, err := graph.Inspect(t.Context(), store, checkpoint.Key{Thread: thread})
		if err == nil && p.Checkpoint >= at {
			return
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the thread does not come to its commit")
		}
	}
}

package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
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

// steps is how many steps a run of these tests has.
const steps = 60

// journal is the state of their graph.
type journal struct {
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

// writing returns a graph whose steps append a line to a file each: the id of the task, and the
// process.
func writing(store checkpoint.Store, file, queue string) (*graph.Graph[journal], error) {
	b := graph.New[journal]("journal" + queue)
	b.Node("write", graph.Router(func(ctx context.Context, s *journal) (graph.Command, error) {
		err := appendLine(file, fmt.Sprint(graph.TaskID(ctx), " ", os.Getpid()))
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

// nesting returns a graph whose only node runs one of writing, as a child.
func nesting(store checkpoint.Store, inner *graph.Graph[journal]) (*graph.Graph[journal], error) {
	b := graph.New[journal]("nest-" + inner.Untyped().Name())
	b.Node("child", graph.Inline(inner).With(graph.Policy{Child: true}))
	b.Edge(graph.Start, "child")
	b.Edge("child", graph.End)
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

// beWorker makes this process a worker or a server if its environment has workerAddress.
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
	c, err := dialSoon(os.Getenv(workerAddress))
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
	nest, err := nesting(store, g)
	if err != nil {
		return err
	}
	w, err := temporal.NewWorker(c, temporal.WorkerConfig{Graphs: []graph.Untyped{g.Untyped(), nest.Untyped()}, Store: store, Queue: queue, Options: worker.Options{Identity: fmt.Sprint(os.Getpid())}})
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// dialSoon connects to a server, which may still be starting.
func dialSoon(address string) (client.Client, error) {
	for begun := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		c, err := client.Dial(client.Options{HostPort: address, Namespace: "default", Logger: quiet{}})
		if err == nil || time.Since(begun) > 30*time.Second {
			return c, err
		}
	}
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

// process returns this program as another process with an environment.
func process(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

// startServer starts a server process on a database, and returns when it serves. The caller must
// kill it.
func startServer(t *testing.T, address, file string) *exec.Cmd {
	t.Helper()
	cmd := process(t, workerAddress+"="+address, serverFile+"="+file)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		kill(cmd)
		t.Fatalf("the server printed %q (%v), want that it serves", line, err)
	}
	return cmd
}

// kill kills a process as a crash does.
func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()
}

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/temporal"
)

// startServer starts a server process on a database, and returns when it serves. The caller must
// kill it.
func startServer(t *testing.T, address, file string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), workerAddress+"="+address, serverFile+"="+file)
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

// A run goes on when the server and the worker that has the run are killed. Nothing that was
// committed is lost, and no committed task runs again: at most that of the kill, and one more if the
// worker that goes on is given up by the server that starts.
func TestKill_ServerAndWorkerGoOn(t *testing.T) {
	if testing.Short() {
		t.Skip("a server takes seconds to start")
	}
	dir, queue := t.TempDir(), "kill-server"
	path, file, db := filepath.Join(dir, "store"), filepath.Join(dir, "lines"), filepath.Join(dir, "temporal.db")
	ports, err := freePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort(host, fmt.Sprint(ports[0]))
	server := startServer(t, address, db)
	defer func() { kill(server) }()
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	g, err := writing(store, file, queue)
	if err != nil {
		t.Fatal(err)
	}
	worker := startWorkerAt(t, address, queue, path, file)
	defer func() { kill(worker) }()
	c, err := client.Dial(client.Options{HostPort: address, Namespace: "default", Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	runs, err := temporal.NewClient(c, g.Untyped(), temporal.ClientConfig{Store: store, Queue: queue})
	if err != nil {
		t.Fatal(err)
	}
	for round := range rounds() {
		thread := fmt.Sprint("t", round)
		h := runs.Start(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: thread})
		waitForCommit(t, store, thread, uint64(2+rand.N(steps/2)))
		kill(worker)
		kill(server)
		server = startServer(t, address, db)
		worker = startWorkerAt(t, address, queue, path, file)
		killed := time.Now()
		waitForStatus(t, store, thread, graph.Done)
		t.Logf("round %d: done after %v", round, time.Since(killed).Round(time.Millisecond))
		if _, err := h.Wait(); err != nil {
			t.Logf("round %d: the caller lost the server: %v", round, err)
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
	calls, again := map[string]int{}, 0
	for line := range strings.Lines(string(data)) {
		if calls[line]++; calls[line] > 1 {
			again++
		}
	}
	if want := rounds() * steps; len(calls) != want || again > 2*rounds() {
		t.Errorf("%d tasks ran, %d of them again; want %d, and at most %d again", len(calls), again, want, 2*rounds())
	}
}

// waitForStatus waits until the newest commit of a thread has a status.
func waitForStatus(t *testing.T, store checkpoint.Store, thread string, want graph.Status) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		p, err := graph.Inspect(t.Context(), store, checkpoint.Key{Thread: thread})
		if err == nil && p.Status == want {
			return
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("the thread is %q, %v; want %q", p.Status, err, want)
		}
	}
}

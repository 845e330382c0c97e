package e2e

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/servertest"
	"github.com/weftrun/weft/temporal"
)

// A worker that is stopped in the middle of a run, and wakes up when another has ended it, writes
// nothing.
func TestZombie_WritesNothing(t *testing.T) {
	address := servertest.Redis(t)
	queue, file := "zombies", filepath.Join(t.TempDir(), "lines")
	store, err := redis.OpenURL(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	g, err := writing(store, file, queue)
	if err != nil {
		t.Fatal(err)
	}
	runs, err := temporal.NewClient(dial(t), g.Untyped(), temporal.ClientConfig{Store: store, Queue: queue})
	if err != nil {
		t.Fatal(err)
	}
	run := func(thread string) *graph.Handle[json.RawMessage] {
		return runs.Start(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: thread})
	}
	ended := func(h *graph.Handle[json.RawMessage]) {
		t.Helper()
		if res, err := h.Wait(); err != nil || res.Status != graph.Done {
			t.Fatalf("the run ended %q with %v, want done", res.Status, err)
		}
	}
	zombies := []*exec.Cmd{startWorker(t, queue, address, file), startWorker(t, queue, address, file)}
	signal := func(s syscall.Signal) {
		for _, z := range zombies {
			if err := z.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	defer func() {
		for _, z := range zombies {
			kill(z)
		}
	}()
	h := run("t1")
	waitForCommit(t, store, "t1", 5)
	signal(syscall.SIGSTOP)
	living := startWorker(t, queue, address, file)
	defer kill(living)
	ended(h)
	before := fmt.Sprint(headOf(t, store))
	signal(syscall.SIGCONT)
	ended(run("t2")) // the zombies have more time than they need for a step
	if after := fmt.Sprint(headOf(t, store)); after != before {
		t.Errorf("the thread is\n%s\nafter the zombies woke up, want\n%s", after, before)
	}
	s, _, err := g.Thread("t1").State(t.Context(), 0)
	if err != nil || s.Steps.Len() != steps {
		t.Errorf("%d steps are in the state, %v; want %d", s.Steps.Len(), err, steps)
	}
}

// headOf returns the newest commit of the thread t1, with what is stored beside it.
func headOf(t *testing.T, store checkpoint.Store) graph.CommitInfo {
	t.Helper()
	p, err := graph.Inspect(t.Context(), store, checkpoint.Key{Thread: "t1"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

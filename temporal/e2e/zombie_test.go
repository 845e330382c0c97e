package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/servertest"
	"github.com/weftrun/weft/temporal"
)

// A worker that is stopped in the middle of a run, and wakes up when another has ended it, writes
// nothing.
func TestZombie_WritesNothing(t *testing.T) {
	f := newField(t, shared.Address, servertest.Redis(t), temporal.ClientConfig{})
	f.startWorker()
	f.startWorker()
	zombies := slices.Clone(f.workers)
	signal := func(s syscall.Signal) {
		for _, z := range zombies {
			if err := z.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	head := func() string {
		t.Helper()
		p, err := graph.Inspect(t.Context(), f.store, checkpoint.Key{Thread: "t1"})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(p)
	}
	h := f.start("t1")
	signal(syscall.SIGSTOP)
	f.startWorker()
	f.ended("t1", h)
	before := head()
	signal(syscall.SIGCONT)
	// The zombies have more time than they need for a step.
	f.ended("t2", f.runs.Start(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: "t2"}))
	if after := head(); after != before {
		t.Errorf("the thread is\n%s\nafter the zombies woke up, want\n%s", after, before)
	}
}

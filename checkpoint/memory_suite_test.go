package checkpoint_test

import (
	"sync"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/checkpointtest"
)

// watched is a store in memory whose clock the test moves.
type watched struct {
	*checkpoint.Memory
	*watch
}

func openWatched(testing.TB) checkpoint.Store {
	w := &watch{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	return watched{&checkpoint.Memory{Now: w.Now}, w}
}

// watch is a clock that stands still until it is moved.
type watch struct {
	mu  sync.Mutex
	now time.Time
}

func (w *watch) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *watch) Advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func TestMemory(t *testing.T) { checkpointtest.RunFull(t, openWatched) }

package memorytest

import (
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weftrun/weft/checkpoint/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMap(t *testing.T) { RunFull(t, openSound) }

// sound is a Map with a clock that the test moves. Each read of the clock adds a microsecond, so no
// two writes have the same time.
type sound struct {
	memory.Store
	*watch
}

func openSound(testing.TB) memory.Store { return newSound() }

func newSound() sound {
	w := &watch{now: time.Now()}
	return sound{&memory.Map{Now: w.time}, w}
}

type watch struct {
	mu  sync.Mutex
	now time.Time
}

func (w *watch) time() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(time.Microsecond)
	return w.now
}

func (w *watch) Advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

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

// Values implements checkpointtest.Spoiler.
func (w watched) Values(thread string) (list []checkpointtest.Value, err error) {
	w.Each(thread, func(name string, data []byte, set func([]byte)) {
		list = append(list, checkpointtest.Value{Name: name, Data: data, Set: func(b []byte) error { set(b); return nil }})
	})
	return list, nil
}

// watch is a clock that only the test moves.
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

package schedule

import (
	"sync"
	"time"
)

// Activity notes the signs of life of a function. The zero value has had none. A nil one ignores
// them.
type Activity struct {
	mu    sync.Mutex
	waits int
	last  time.Time
}

// AddWaits notes a sign of life and adds n to the number of waits that the function is in
// through no fault of its own. While there are any, it counts as alive.
func (a *Activity) AddWaits(n int) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waits += n
	a.last = time.Now()
}

// left returns how much of limit is left until the function counts as idle.
func (a *Activity) left(limit time.Duration) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waits > 0 {
		return limit
	}
	return limit - time.Since(a.last)
}

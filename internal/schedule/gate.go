package schedule

import (
	"context"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
)

// Gate bounds how many attempts run at once, and how often one begins. It is safe for concurrent
// use.
type Gate struct {
	concurrency int
	places      *semaphore.Weighted // nil where any number may run at once
	pace        *rate.Limiter       // nil where they may begin as fast as they come
}

// NewGate returns a gate for so many attempts at once, of which so many begin in a second on
// average, and up to burst at once. A concurrency or rate of 0 is no bound; a burst of 0 means
// 1.
func NewGate(concurrency int, perSecond float64, burst int) *Gate {
	g := &Gate{concurrency: concurrency}
	if concurrency > 0 {
		g.places = semaphore.NewWeighted(int64(concurrency))
	}
	if perSecond > 0 {
		g.pace = rate.NewLimiter(rate.Limit(perSecond), max(1, burst))
	}
	return g
}

// Concurrency returns how many attempts may run at once; 0 means that there is no bound.
func (g *Gate) Concurrency() int { return g.concurrency }

// TryEnter is [Gate.Enter] without the wait: false means that the attempt has to wait.
func (g *Gate) TryEnter() bool {
	if g.places != nil && !g.places.TryAcquire(1) {
		return false
	}
	if g.pace != nil && !g.pace.Allow() {
		g.Leave()
		return false
	}
	return true
}

// Enter waits until the attempt may begin. When it has ended, [Gate.Leave] is called once. After an
// error, which is that of ctx, it is not.
func (g *Gate) Enter(ctx context.Context) error {
	if g.places != nil {
		if err := g.places.Acquire(ctx, 1); err != nil {
			return err
		}
	}
	if err := g.waitForRate(ctx); err != nil {
		g.Leave()
		return err
	}
	return nil
}

// waitForRate waits as long as the rate demands. It waits even where ctx will end before: so the
// error is the reason for which ctx ended.
func (g *Gate) waitForRate(ctx context.Context) error {
	if g.pace == nil {
		return ctx.Err()
	}
	r := g.pace.Reserve()
	if r.Delay() <= 0 {
		return nil
	}
	if !Sleep(ctx, r.Delay()) {
		r.Cancel()
		return ctx.Err()
	}
	return nil
}

// Leave ends an attempt that entered.
func (g *Gate) Leave() {
	if g.places != nil {
		g.places.Release(1)
	}
}

package temporal

import (
	"context"
	"time"
)

// pollersTime is how long a run waits for a worker before it asks whether there is one, and bounds
// the call. Each further time is twice as long, up to mostPollersTime.
const (
	pollersTime     = 3 * time.Second
	mostPollersTime = time.Minute
)

// lookForWorkers calls ClientConfig.NoWorkers when no worker polls the task queue while the run
// waits for one, until the function that it returns is called.
func (r *run) lookForWorkers(ctx context.Context) (stop func()) {
	if r.client.cfg.NoWorkers == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for wait := pollersTime; ; wait = min(2*wait, mostPollersTime) {
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-r.accepted:
			case <-ctx.Done():
			}
			timer.Stop()
			if ctx.Err() != nil || r.isAccepted() {
				return
			}
			asks, end := context.WithTimeout(ctx, pollersTime)
			polled, err := r.client.polled(asks)
			end()
			if err == nil && !polled && !r.isAccepted() { // after an error it asks again
				r.client.cfg.NoWorkers()
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

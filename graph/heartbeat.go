package graph

import "context"

// Heartbeat is a node's sign of life: it starts the time of Policy.Idle anew, and of
// no other limit. Outside of a run, and after the attempt has ended, it does nothing.
func Heartbeat(ctx context.Context) {
	if t := taskOf(ctx); t != nil && ctx.Err() == nil {
		t.alive()
	}
}

// Attempt returns the number of the running attempt, from 1, and 0 outside a node. A
// handler counts its own. After a resume it starts anew.
func Attempt(ctx context.Context) int {
	t := taskOf(ctx)
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.attempt
}

// alive notes a sign of life of t, which is one of the tasks around it too.
func (t *task) alive() { t.hold(0) }

// hold is alive, and with 1 lets t count as alive until hold is called with -1: while
// the runtime itself lets it wait.
func (t *task) hold(more int) {
	for ; t != nil; t = t.run.inside {
		t.activity.AddWaits(more)
	}
}

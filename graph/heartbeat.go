package graph

import (
	"context"
	"fmt"
	"time"
)

// TimeoutKind says which limit of time was passed.
type TimeoutKind string

const (
	RunTimeout  TimeoutKind = "run"   // Config.Timeout, of a whole call
	NodeTimeout TimeoutKind = "limit" // Policy.Timeout, or that of a Send, of one attempt
	CallTimeout TimeoutKind = "call"  // Policy.Timeout of a Call, of one attempt
	IdleTimeout TimeoutKind = "idle"  // Policy.Idle, of one attempt
)

// TimeoutError says which limit of time was passed. It is an [ErrTimeout].
type TimeoutError struct {
	Node    string // "" where the limit is that of the run
	Kind    TimeoutKind
	Limit   time.Duration
	Elapsed time.Duration // since the attempt or the call began
	Err     error         // what the node returned when it was told, or ErrAbandoned; nil if nothing of its own
}

func (e *TimeoutError) Error() string {
	says := fmt.Sprintf("%v: the limit is %v", ErrTimeout, e.Limit)
	switch e.Kind {
	case RunTimeout:
		says = fmt.Sprintf("%v: the run's limit is %v", ErrTimeout, e.Limit)
	case IdleTimeout:
		says = fmt.Sprintf("%v: no sign of life for %v", ErrTimeout, e.Limit)
	}
	if e.Err != nil {
		says += fmt.Sprintf(" (%v)", e.Err)
	}
	return says
}

// Unwrap returns [ErrTimeout] and what the node returned.
func (e *TimeoutError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrTimeout}
	}
	return []error{ErrTimeout, e.Err}
}

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
		t.mu.Lock()
		t.held += more
		t.sign = time.Now()
		t.mu.Unlock()
	}
}

// idleLeft returns how much of limit is left until t counts as idle.
func (t *task) idleLeft(limit time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held > 0 {
		return limit
	}
	return limit - time.Since(t.sign)
}

package graph

import (
	"fmt"
	"time"
)

// TimeoutKind is the limit of time that was passed. The limits are enforced by superstep.timed and
// within (attempt.go, call.go), and that of the run by drive.go.
type TimeoutKind string

const (
	RunTimeout  TimeoutKind = "run"   // Config.Timeout, of a whole call
	NodeTimeout TimeoutKind = "limit" // Policy.Timeout, or that of a Send, of one attempt
	CallTimeout TimeoutKind = "call"  // Policy.Timeout of a Call, of one attempt
	IdleTimeout TimeoutKind = "idle"  // Policy.Idle, of one attempt
)

// TimeoutError names the limit of time that was passed. It is an [ErrTimeout].
type TimeoutError struct {
	Node    string // "" where the limit is that of the run
	Kind    TimeoutKind
	Limit   time.Duration
	Elapsed time.Duration // since the attempt or the call began
	Err     error         // what the node returned when it was cancelled, or ErrAbandoned; nil if nothing of its own
}

func (e *TimeoutError) Error() string {
	text := fmt.Sprintf("%v: the limit is %v", ErrTimeout, e.Limit)
	switch e.Kind {
	case RunTimeout:
		text = fmt.Sprintf("%v: the run's limit is %v", ErrTimeout, e.Limit)
	case IdleTimeout:
		text = fmt.Sprintf("%v: no sign of life for %v", ErrTimeout, e.Limit)
	}
	if e.Err != nil {
		text += fmt.Sprintf(" (%v)", e.Err)
	}
	return text
}

// Unwrap returns [ErrTimeout] and what the node returned.
func (e *TimeoutError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrTimeout}
	}
	return []error{ErrTimeout, e.Err}
}

// runOutOfTime is the cause of ending a run that took too long.
func runOutOfTime(limit time.Duration) error {
	return &TimeoutError{Kind: RunTimeout, Limit: limit, Elapsed: limit}
}

package graph

import (
	"context"
	"time"
)

// Timers keeps when threads are to be looked at: see Config.Timers. Package wake has one for each
// store. It is safe for concurrent use.
type Timers interface {
	// Set stores that something is due on a thread at a time, in addition to what is stored of it.
	// It returns when the timer survives the process.
	Set(ctx context.Context, t Timer) error
}

// Timer is when something is due on a thread.
type Timer struct {
	Thread string    `json:"thread"`
	Graph  string    `json:"graph"`
	At     time.Time `json:"at"`
}

// Escalation is who is asked when no answer has come for a time.
type Escalation struct {
	// After is how long the question has been open.
	After time.Duration `json:"after"`
	// To is who is asked from then on.
	To string `json:"to"`
}

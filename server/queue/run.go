package queue

import (
	"encoding/json"
	"errors"

	"github.com/weftrun/weft/server/wire"
)

var (
	// ErrBusy is returned by Create when the thread has unfinished runs, and the new one is to be
	// rejected.
	ErrBusy = errors.New("queue: the thread is busy")
	// ErrNotFound is returned when there is no run with an id.
	ErrNotFound = errors.New("queue: no such run")
	// ErrExists is returned by Create when the id of the run exists.
	ErrExists = errors.New("queue: the run exists already")
	// ErrActive is returned by Delete when the run is running.
	ErrActive = errors.New("queue: the run is running")
)

// Run is a run as it is stored.
type Run struct {
	wire.Run
	// Due is the first time at which the run may begin; zero is at once.
	Due wire.Time `json:"due,omitzero"`
	// Attempt counts the claims of the run. Started is the time of the first, and Ended that of
	// Finish.
	Attempt int       `json:"attempt"`
	Started wire.Time `json:"started_at,omitzero"`
	Ended   wire.Time `json:"ended_at,omitzero"`
	// Error is why it failed.
	Error *wire.RunError `json:"error,omitempty"`
	// Job is what the worker needs beyond what clients read. The queue does not look at it.
	Job json.RawMessage `json:"job,omitempty"`
}

// Order is what to do with a run that has not ended.
type Order string

const (
	None      Order = ""
	Interrupt Order = "interrupt" // cancel it
	Rollback  Order = "rollback"  // cancel it, and remove its commits and its document
)

// entry is a run in a line.
type entry struct {
	ID    string    `json:"id"`
	Due   wire.Time `json:"due,omitzero"`
	Added wire.Time `json:"added"`
	Order Order     `json:"order,omitempty"`
}

// line has the unfinished runs of a thread.
type line struct {
	Entries []entry `json:"entries"`
	// Running is the id of the run that has a claim, or "".
	Running string `json:"running,omitempty"`
}

// find returns the index of a run, or -1.
func (l *line) find(id string) int {
	for i, e := range l.Entries {
		if e.ID == id {
			return i
		}
	}
	return -1
}

package queue

import (
	"encoding/json"
	"slices"
	"time"
)

// Run is one call of a graph on a thread, as it is stored.
type Run struct {
	ID     string `json:"id"`
	Thread string `json:"thread"`
	// Request is what to run. The queue does not read it.
	Request json.RawMessage `json:"request,omitempty"`
	// Owner is who is counted as the creator of the run, see Queue.Load.
	Owner string `json:"owner,omitempty"`
	// Due is when the run may start; the zero time means at once.
	Due time.Time `json:"due,omitzero"`

	// The queue sets what follows.
	Status  Status    `json:"status"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	Started time.Time `json:"started,omitzero"` // by the first attempt
	Ended   time.Time `json:"ended,omitzero"`
	Attempt int       `json:"attempt,omitempty"` // from 1; 0 before it was claimed
	Error   *Failure  `json:"error,omitempty"`
	// Result is what End.Result was.
	Result json.RawMessage `json:"result,omitempty"`
	// LogStart is a position in the event log of the thread, see Config.LogEnd. All events of the
	// run are behind it.
	LogStart uint64 `json:"log_start,omitempty"`
}

// Status is where a run is.
type Status string

const (
	Pending     Status = "pending"
	Running     Status = "running"
	Success     Status = "success"
	Failed      Status = "error"
	TimedOut    Status = "timeout"
	Interrupted Status = "interrupted" // it was cancelled
)

// Ended reports whether the status is final.
func (s Status) Ended() bool { return s != Pending && s != Running }

// Failure is why a run failed.
type Failure struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

// End is how a run ended.
type End struct {
	Status Status
	Error  *Failure
	Result json.RawMessage // what a reader of the run's document needs to know
}

// Rule is what becomes of a new run on a thread with unfinished runs.
type Rule string

const (
	Enqueue   Rule = "enqueue"   // it waits behind them; the default
	Reject    Rule = "reject"    // Create returns ErrThreadBusy
	Interrupt Rule = "interrupt" // they are cancelled, and it starts from where they stopped
	Rollback  Rule = "rollback"  // they are cancelled, and their commits and documents removed
)

// Action is how a run is cancelled.
type Action string

const (
	Stop Action = "interrupt" // what it has committed stays
	Undo Action = "rollback"  // its commits and its document are removed
)

// line is the document with the unfinished runs of a thread, in the order of Create.
type line struct {
	Runs []entry `json:"runs"`
	// LogStart is that of the run that was created last, even if the run has ended.
	LogStart uint64 `json:"log_start,omitempty"`
}

// entry is an unfinished run in its line.
type entry struct {
	ID     string    `json:"id"`
	Owner  string    `json:"owner,omitempty"`
	Due    time.Time `json:"due,omitzero"`
	Since  time.Time `json:"since,omitzero"`   // when it was created
	Fence  string    `json:"fence,omitempty"`  // of the lease of its claim; "" while it is pending
	Action Action    `json:"action,omitempty"` // how it is to be cancelled; "" if it is not
	// Newest is the newest commit of the run that a claim has found, and Before the attempts until
	// then. Only later ones count.
	Newest uint64 `json:"newest,omitempty"`
	Before int    `json:"before,omitempty"`
	// LogStart is that of the run.
	LogStart uint64 `json:"log_start,omitempty"`
}

// waited returns how long a pending run has waited at a time, since it was created or became due.
func (e *entry) waited(now time.Time) time.Duration {
	since := e.Since
	if since.IsZero() || e.Due.After(since) {
		since = e.Due
	}
	if since.IsZero() { // an earlier version has created it
		return 0
	}
	return max(0, now.Sub(since))
}

// next returns the index of the run to claim at a time: the one that was claimed before, or the
// first that is due; -1 for none.
func (l *line) next(now time.Time) int {
	first := -1
	for i, e := range l.Runs {
		switch {
		case e.Fence != "":
			return i
		case first < 0 && !e.Due.After(now):
			first = i
		}
	}
	return first
}

// running reports whether a run of the line is claimed.
func (l *line) running() bool {
	return slices.ContainsFunc(l.Runs, func(e entry) bool { return e.Fence != "" })
}

// wake returns when a worker has to look at the line, where no run is claimed.
func (l *line) wake(now time.Time) time.Time {
	var at time.Time
	for _, e := range l.Runs {
		if !e.Due.After(now) {
			return now
		}
		if at.IsZero() || e.Due.Before(at) {
			at = e.Due
		}
	}
	return at
}

// find returns the index of a run; -1 if it is not in the line.
func (l *line) find(id string) int {
	for i, e := range l.Runs {
		if e.ID == id {
			return i
		}
	}
	return -1
}

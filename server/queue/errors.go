package queue

import (
	"errors"
	"fmt"
)

var (
	// ErrConfig is returned by New for a Config without a store that has leases, or without
	// documents.
	ErrConfig = errors.New("queue: invalid config")
	// ErrNotFound is returned when there is no run with the id on the thread.
	ErrNotFound = errors.New("queue: no such run")
	// ErrExists is returned by Create for an id that a run of the thread has.
	ErrExists = errors.New("queue: the run exists")
	// ErrThreadBusy is returned by Create with the rule Reject for a thread with unfinished runs.
	ErrThreadBusy = errors.New("queue: the thread has unfinished runs")
	// ErrFull is returned by Create for a thread with as many unfinished runs as Config.Line.
	ErrFull = errors.New("queue: the line of the thread is full")
	// ErrRunning is returned by Delete for a run that a worker has claimed.
	ErrRunning = errors.New("queue: the run is running")
	// ErrLost is returned when the run of a Claim was taken over by another process.
	ErrLost = errors.New("queue: the claim is lost")
	// ErrRequest is returned for a run, a rule or an action that is not valid.
	ErrRequest = errors.New("queue: invalid request")
)

// AttemptsExceeded is the name of the error of a run with three attempts in a row that committed
// nothing.
const AttemptsExceeded = "RunAttemptsExceeded"

func notFound(thread, run string) error {
	return fmt.Errorf("%w: run %.100q of thread %.100q", ErrNotFound, run, thread)
}

func exists(r Run) error {
	return fmt.Errorf("%w: run %.100q of thread %.100q", ErrExists, r.ID, r.Thread)
}

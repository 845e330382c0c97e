package graph

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Policy is how a node is run. The zero Policy runs it once, without a limit. A node
// that was given a Policy has this one whole; one that was given none has that of
// [Builder.Defaults].
type Policy struct {
	// Timeout bounds one attempt; 0 means no limit. When it passes, the node's context
	// is cancelled and the attempt fails with a [*TimeoutError], even if the function
	// does not return: what it writes afterwards never lands. It counts from when the
	// node is called, after any wait for Limit.
	Timeout time.Duration
	// Idle bounds how long one attempt may go without a sign of life; 0 means no limit.
	// Beyond it the attempt fails as with Timeout. Signs are [Heartbeat], [Emit], an
	// answered [Ask], and in a subgraph the start of a task; while the runtime itself
	// lets a task wait, for a Limit or before a retry, no task is idle. No sign ever
	// extends Timeout.
	Idle time.Duration
	// Retry is how often, and how soon, a failed attempt is repeated.
	Retry Retry
	// Limit names an entry of Config.Limits: each attempt waits for its turn there; ""
	// means none. An attempt that was abandoned holds its place until its function
	// returns. A node of a subgraph does not wait for a place that the node around it
	// holds.
	Limit string
	// Parallel bounds how many attempts of the node run at once in one run of the graph, as for
	// the Sends of a Worker; 0 means no bound but Config.Concurrency. Unlike a Limit it is no
	// bound of several runs together. What is waited for here does not count for Timeout.
	// Between two attempts a task does not hold its place; one that was abandoned holds it until
	// its function returns, as under a Limit. A handler has places of its own.
	Parallel int
	// TaskQueue names where the node's tasks run when a queue with workers drives the graph, such
	// as the workers with a GPU; "" means any worker. A run in one process ignores it. The Policy
	// of a handler does not count: it runs where its node ran.
	TaskQueue string
	// Child makes each task of the node, which runs a graph, a child of its own where an engine
	// drives the graph, such as a child workflow of Temporal. A run in one process ignores it.
	Child bool
}

// Retry repeats a failed attempt on a fresh view of the state. Questions and
// cancelled runs are not failures and are never retried; an error of the node that
// merely looks like a cancellation is a failure.
type Retry struct {
	// Attempts counts the first one too; 0 and 1 mean no retry.
	Attempts int
	// Initial is the wait after the first failure; 0 means 500 ms, and NoWait that all
	// attempts follow at once. Each further wait is Multiplier times longer (0 means 2), up to Max
	// (0 means 2 min, or Initial where that is longer).
	Initial    time.Duration
	Max        time.Duration
	Multiplier float64
	// Jitter takes up to this share (0 to 1) off each wait, at random (see
	// Config.Rand), so that many runs do not retry in step.
	Jitter float64
	// MaxAfter bounds the wait that a failure asks for itself: an error in its chain with a method
	// RetryAfter() time.Duration makes the wait at least so long. Where it asks for more
	// than MaxAfter (0 means 1 min) there is no other attempt.
	MaxAfter time.Duration
	// Budget bounds the time from the start of the first attempt to that of any other:
	// a wait that would end beyond it is not begun. 0 means no limit.
	Budget time.Duration
	// If decides which errors are worth a retry; nil means all but panics and what was
	// marked [Permanent].
	If func(error) bool
	// Else holds for the errors that If refuses; nil means that they are not retried.
	// The first Retry whose If accepts an error decides about it: how many attempts
	// there may be, counting those that failed otherwise, and how long to wait.
	Else *Retry
}

// longestTaskQueue bounds the name of a task queue, in bytes.
const longestTaskQueue = 200

// NoWait is the Retry.Initial of attempts that follow one another at once, unless a failure
// asks for a wait itself: see Retry.MaxAfter.
const NoWait time.Duration = -1

func (p Policy) check() error {
	switch {
	case p.Timeout < 0:
		return fmt.Errorf("a timeout of %v is less than nothing", p.Timeout)
	case p.Idle < 0:
		return fmt.Errorf("an idle timeout of %v is less than nothing", p.Idle)
	case p.Parallel < 0:
		return fmt.Errorf("%d attempts at once are less than none", p.Parallel)
	case len(p.TaskQueue) > longestTaskQueue || !utf8.ValidString(p.TaskQueue) || strings.ContainsFunc(p.TaskQueue, unicode.IsControl):
		return fmt.Errorf("a task queue must be one line of at most %d bytes (got %.100q)", longestTaskQueue, p.TaskQueue)
	}
	var seen []*Retry
	for r := &p.Retry; r != nil; r = r.Else {
		if slices.Contains(seen, r) {
			return errors.New("a Retry is its own Else")
		}
		if err := r.check(); err != nil {
			return err
		}
		seen = append(seen, r)
	}
	return nil
}

func (r *Retry) check() error {
	switch {
	case r.Attempts < 0:
		return fmt.Errorf("%d attempts are less than none", r.Attempts)
	case r.Initial < 0 && r.Initial != NoWait || r.Max < 0 || r.MaxAfter < 0:
		return errors.New("a wait between attempts is negative")
	case r.Multiplier != 0 && !(r.Multiplier >= 1):
		return fmt.Errorf("a multiplier of %v would shorten each wait", r.Multiplier)
	case !(r.Jitter >= 0 && r.Jitter <= 1):
		return fmt.Errorf("a jitter of %v is not a share between 0 and 1", r.Jitter)
	case r.Budget < 0:
		return fmt.Errorf("a budget of %v is less than nothing", r.Budget)
	}
	return nil
}

// Check returns an error if the policy is invalid, as Compile does.
func (r Retry) Check() error { return Policy{Retry: r}.check() }

// Next returns the wait before the attempt that follows this number of failed attempts, without
// Jitter. err is the error of the last one. ok is false if there is no other attempt. It is for
// programs that make the attempts themselves.
func (r Retry) Next(failures int, err error) (wait time.Duration, ok bool) {
	return r.again(failures, err, 0, func() float64 { return 0 })
}

// budgeted reports whether some Retry of the chain has a Budget.
func (r *Retry) budgeted() bool {
	for ; r != nil; r = r.Else {
		if r.Budget > 0 {
			return true
		}
	}
	return false
}

// match returns the first Retry of the chain that accepts err, or nil.
func (r *Retry) match(err error) *Retry {
	for ; r != nil; r = r.Else {
		if r.If == nil && retryable(err) || r.If != nil && r.If(err) {
			return r
		}
	}
	return nil
}

// retryable is what Retry.If is by default.
func retryable(err error) bool {
	var panicked *PanicError
	var permanent *permanentError
	return !errors.As(err, &panicked) && !errors.As(err, &permanent)
}

// again returns how long to wait before the attempt that follows attempt n (from 1),
// which failed with err; false means that it was the last. random is in [0, 1).
func (r *Retry) again(n int, err error, elapsed time.Duration, random func() float64) (time.Duration, bool) {
	if errors.Is(err, ErrNoParent) {
		return 0, false
	}
	if r = r.match(err); r == nil || n >= r.Attempts {
		return 0, false
	}
	asked := retryAfter(err)
	d := max(r.wait(n, random), asked)
	return d, asked <= r.maxAfter() && (r.Budget == 0 || elapsed+d <= r.Budget)
}

func (r *Retry) maxAfter() time.Duration {
	if r.MaxAfter == 0 {
		return time.Minute
	}
	return r.MaxAfter
}

// retryAfter returns how long a failure asks to wait; 0 where it does not say.
func retryAfter(err error) time.Duration {
	var asks interface{ RetryAfter() time.Duration }
	if errors.As(err, &asks) {
		return asks.RetryAfter()
	}
	return 0
}

// wait returns the time between attempt n (from 1) and the next.
func (r *Retry) wait(n int, random func() float64) time.Duration {
	d, factor, limit := r.Initial, r.Multiplier, r.Max
	switch d {
	case NoWait:
		return 0
	case 0:
		d = 500 * time.Millisecond
	}
	if factor == 0 {
		factor = 2
	}
	if limit == 0 {
		limit = max(2*time.Minute, d)
	}
	f := float64(d)
	for range n - 1 {
		if f *= factor; f >= float64(limit) {
			break
		}
	}
	f = min(f, float64(limit))
	if r.Jitter > 0 {
		f *= 1 - r.Jitter*random()
	}
	return time.Duration(f)
}

// Permanent marks an error as one that no retry would mend. Its text stays as it is,
// and errors.Is and errors.As look through it. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

type permanentError struct{ err error }

func (e *permanentError) Error() string { return textOf(e.err) }

func (e *permanentError) Unwrap() error { return e.err }

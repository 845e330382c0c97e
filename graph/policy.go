package graph

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Policy says how a node is run. The zero Policy runs it once, without a limit.
type Policy struct {
	// Timeout bounds one attempt; 0 means no limit. When it passes, the node's context
	// is cancelled and the attempt fails with [ErrTimeout], even if the function
	// does not return: what it writes afterwards never lands.
	Timeout time.Duration
	// Retry says how often, and how soon, a failed attempt is repeated.
	Retry Retry
}

// Retry repeats a failed attempt on a fresh view of the state. Questions and
// cancelled runs are not failures and are never retried.
type Retry struct {
	// Attempts counts the first one too; 0 and 1 mean no retry.
	Attempts int
	// Initial is the wait after the first failure, 0 means 500 ms. Each further wait
	// is Multiplier times longer (0 means 2), up to Max (0 means 2 min).
	Initial    time.Duration
	Max        time.Duration
	Multiplier float64
	// Jitter takes up to this share (0 to 1) off each wait, at random, so that
	// many runs do not retry in step.
	Jitter float64
	// If decides which errors are worth a retry; nil means all but panics.
	If func(error) bool
}

func (p Policy) check() error {
	switch r := p.Retry; {
	case p.Timeout < 0:
		return fmt.Errorf("a timeout of %v is less than nothing", p.Timeout)
	case r.Attempts < 0:
		return fmt.Errorf("%d attempts are less than none", r.Attempts)
	case r.Initial < 0 || r.Max < 0:
		return errors.New("a wait between attempts is negative")
	case r.Multiplier != 0 && r.Multiplier < 1:
		return fmt.Errorf("a multiplier of %v would shorten each wait", r.Multiplier)
	case r.Jitter < 0 || r.Jitter > 1:
		return fmt.Errorf("a jitter of %v is not a share between 0 and 1", r.Jitter)
	}
	return nil
}

// again reports whether err, the failure of attempt n (from 1), is worth another.
func (r Retry) again(n int, err error) bool {
	if n >= r.Attempts {
		return false
	}
	if r.If != nil {
		return r.If(err)
	}
	var p *PanicError
	return !errors.As(err, &p)
}

// wait returns the time between attempt n (from 1) and the next.
func (r Retry) wait(n int) time.Duration {
	d, factor, limit := r.Initial, r.Multiplier, r.Max
	if d == 0 {
		d = 500 * time.Millisecond
	}
	if factor == 0 {
		factor = 2
	}
	if limit == 0 {
		limit = 2 * time.Minute
	}
	f := float64(d)
	for range n - 1 {
		if f *= factor; f >= float64(limit) {
			break
		}
	}
	f = min(f, float64(limit))
	return time.Duration(f * (1 - r.Jitter*rand.Float64()))
}

package agent

import (
	"context"
	"errors"
	"time"
)

// SeverityOf says what an error of this package calls for: another plan where the plan named what is
// not there or cannot be carried out, the same node again where its time ran out or the error says that it is
// Temporary, and the end of the turn, [Critical], for all others. [Failed] makes an error that says so
// itself.
func SeverityOf(err error) Severity {
	var own *classified
	var passing interface{ Temporary() bool }
	switch {
	case errors.As(err, &own):
		return own.severity
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrConstraint), errors.Is(err, ErrPlan):
		return Replanning
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &passing) && passing.Temporary():
		return Retriable
	}
	return Critical
}

// Failed returns err with a severity of its own. The nil error stays nil.
func Failed(s Severity, err error) error {
	if err == nil {
		return nil
	}
	return &classified{s, err}
}

// RetryAfter returns how many seconds an error asks to wait before another attempt: those of an error in its chain
// with a method RetryAfter() time.Duration, as the failures of models have. It is for [Failure].After.
func RetryAfter(err error) float64 {
	var asks interface{ RetryAfter() time.Duration }
	if errors.As(err, &asks) {
		return max(0, asks.RetryAfter().Seconds())
	}
	return 0
}

type classified struct {
	severity Severity
	err      error
}

func (e *classified) Error() string { return e.err.Error() }
func (e *classified) Unwrap() error { return e.err }

package agent

import (
	"context"
	"errors"
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

type classified struct {
	severity Severity
	err      error
}

func (e *classified) Error() string { return e.err.Error() }
func (e *classified) Unwrap() error { return e.err }

package agent

import (
	"context"
	"errors"
)

// SeverityOf returns the severity of an error. An error of [Failed] has the severity given there.
// ErrNotFound, ErrConstraint and ErrPlan have [Replanning]. An exceeded deadline, or an error whose
// method Temporary returns true, has [Retriable]. All others have [Critical].
func SeverityOf(err error) Severity {
	var own *classified
	var temporary interface{ Temporary() bool }
	switch {
	case errors.As(err, &own):
		return own.severity
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrConstraint), errors.Is(err, ErrPlan):
		return Replanning
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &temporary) && temporary.Temporary():
		return Retriable
	}
	return Critical
}

// Failed returns err with the severity s, or nil if err is nil.
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

package model

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind says how a model failed.
type Kind string

// The kinds. Another attempt may help against the first six.
const (
	RateLimited Kind = "rate_limited" // too many requests: see Error.Wait
	Overloaded  Kind = "overloaded"   // the provider cannot serve now
	Timeout     Kind = "timeout"      // no answer in time
	Unreachable Kind = "unreachable"  // no connection, or it broke before the answer began
	CutOff      Kind = "cut_off"      // the answer broke off
	BadAnswer   Kind = "bad_answer"   // the answer cannot be understood, or is empty

	Refused        Kind = "refused"          // the model or its provider will not answer this
	ContextTooLong Kind = "context_too_long" // the conversation does not fit into the model
	Truncated      Kind = "truncated"        // the answer did not fit into its bound of tokens
	Invalid        Kind = "invalid_request"  // the provider does not take the request
	Auth           Kind = "auth"             // the key is missing, wrong, or not allowed to do this
	Quota          Kind = "quota"            // the account has nothing left
)

// Temporary reports whether another attempt at the same request may help.
func (k Kind) Temporary() bool {
	switch k {
	case RateLimited, Overloaded, Timeout, Unreachable, CutOff, BadAnswer:
		return true
	}
	return false
}

// Error is returned when a model fails. It never holds the key of an API.
type Error struct {
	Kind Kind
	// Model is its name, where it is known.
	Model string
	// Status is the status code of HTTP; 0 is none.
	Status int
	// Wait is how long the provider asks to wait; 0 where it does not say.
	Wait time.Duration
	// Message is what the provider says, shortened.
	Message string
	// Err is what caused it, where there is more to it than Message; it may be nil.
	Err error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("model")
	if e.Model != "" {
		fmt.Fprintf(&b, " %q", e.Model)
	}
	b.WriteString(": " + strings.ReplaceAll(string(e.Kind), "_", " "))
	if e.Status != 0 {
		fmt.Fprintf(&b, " (status %d)", e.Status)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.Wait > 0 {
		fmt.Fprintf(&b, "; try again in %s", e.Wait)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Temporary reports whether another attempt may help.
func (e *Error) Temporary() bool { return e.Kind.Temporary() }

// RetryAfter returns Wait: a retry policy waits at least so long before the next attempt.
func (e *Error) RetryAfter() time.Duration { return e.Wait }

// Code names the failure for programs, also after a crash: "model_" and the kind.
func (e *Error) Code() string { return "model_" + string(e.Kind) }

// KindOf returns the kind of the [Error] in err's chain, or "".
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// Retriable reports whether err is a failure of a model against which another attempt may help. It fits a
// retry policy's If.
func Retriable(err error) bool { return KindOf(err).Temporary() }

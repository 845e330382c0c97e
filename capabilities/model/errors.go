package model

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind is the way in which a model failed.
type Kind string

// The kinds. After the first six another attempt may succeed.
const (
	RateLimited Kind = "rate_limited" // too many requests: see Error.Wait
	Overloaded  Kind = "overloaded"   // the provider cannot serve now
	Timeout     Kind = "timeout"      // no answer in time
	Unreachable Kind = "unreachable"  // no connection, or it broke before the answer began
	CutOff      Kind = "cut_off"      // the answer broke off
	BadAnswer   Kind = "bad_answer"   // the answer cannot be understood, or is empty

	Refused        Kind = "refused"          // the model or its provider will not answer this
	ContextTooLong Kind = "context_too_long" // the conversation does not fit into the model
	Truncated      Kind = "truncated"        // the answer exceeds its limit of tokens
	Invalid        Kind = "invalid_request"  // the provider refuses the request
	Auth           Kind = "auth"             // the key is missing, wrong, or not allowed to do this
	Quota          Kind = "quota"            // the account's quota is used up
)

// Temporary reports whether another attempt at the same request may succeed.
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
	// Wait is how long the provider asks to wait, or 0.
	Wait time.Duration
	// Message is the provider's message, shortened.
	Message string
	// Err is the cause, if Message does not cover it; it may be nil.
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

// Temporary reports whether another attempt may succeed.
func (e *Error) Temporary() bool { return e.Kind.Temporary() }

// RetryAfter returns Wait, the minimum delay before the next attempt.
func (e *Error) RetryAfter() time.Duration { return e.Wait }

// Code returns the error code: "model_" and the kind. It is stored with the failure.
func (e *Error) Code() string { return "model_" + string(e.Kind) }

// KindOf returns the kind of the [Error] in err's chain, or "".
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// Retriable reports whether err is a failure of a model after which another attempt may succeed. It
// can be the If of a retry policy.
func Retriable(err error) bool { return KindOf(err).Temporary() }

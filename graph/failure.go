package graph

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/journal"
)

// Kinds of failures, as [NodeError.Kind] and Failure.Kind report them.
const (
	KindError     = "error"     // any other
	KindPanic     = "panic"     // the node panicked
	KindTimeout   = "timeout"   // it was out of time, or idle too long
	KindPermanent = "permanent" // it was marked Permanent
	KindCancelled = "cancelled" // it was cancelled, or its error is a cancellation
)

// Kind returns the kind of the failure: one of the Kind constants. It is the same
// before and after a crash.
func (e *NodeError) Kind() string {
	if e.Cancelled {
		return KindCancelled
	}
	return guard(KindError, func() string { return kindOf(e.Err) })
}

// Codes of questions without an answer, as [NodeError.Code] reports them.
const (
	CodeExpired  = "expired"  // ErrExpired
	CodeDeclined = "declined" // ErrDeclined
)

// Code returns what the first error in the chain that has a method Code() string gives, or
// one of the Code constants, or "". It is the same before and after a crash.
func (e *NodeError) Code() string {
	if e.Cancelled { // what has a code is the cause, and that of another
		return ""
	}
	return guard("", func() string { return codeOf(e.Err) })
}

// ErrorName returns the name of the failure for programs in other languages, as the first error in
// the chain that has a method ErrorName() string gives it; or "". It is the same before and after a
// crash.
func (e *NodeError) ErrorName() string {
	if e.Cancelled {
		return ""
	}
	return guard("", func() string {
		var named interface{ ErrorName() string }
		if !errors.As(e.Err, &named) {
			return ""
		}
		return named.ErrorName()
	})
}

func kindOf(err error) string {
	var stored *StoredError
	var panicked *PanicError
	var permanent *permanentError
	switch {
	case errors.As(err, &stored):
		return stored.Failure.Kind
	case errors.As(err, &panicked):
		return KindPanic
	case errors.Is(err, ErrTimeout):
		return KindTimeout
	case errors.As(err, &permanent):
		return KindPermanent
	case errors.Is(err, context.Canceled):
		return KindCancelled
	}
	return KindError
}

func codeOf(err error) string {
	var coded interface{ Code() string }
	switch {
	case errors.As(err, &coded):
		return coded.Code()
	case errors.Is(err, ErrExpired):
		return CodeExpired
	case errors.Is(err, ErrDeclined):
		return CodeDeclined
	}
	return ""
}

// Failure returns the record of the failure, as a commit stores it. Use it to pass the failure on
// to another process, which makes a [StoredError] of it.
func (e *NodeError) Failure() Failure {
	return Failure{Node: e.Node, Attempt: e.Attempt, Message: textOf(e.Err), Kind: e.Kind(), Code: e.Code(), Name: e.ErrorName(),
		Causes: causes(e.Err), Cancelled: e.Cancelled}
}

// guard returns what f does, which calls methods of an error that is not the engine's; or instead,
// if one of them panics. All such calls on the errors of nodes go through it or are the node's own.
func guard[T any](instead T, f func() T) (v T) {
	defer func() {
		if recover() != nil {
			v = instead
		}
	}()
	return f()
}

// textOf returns the text of err. If its Error method panics, as one of a nil pointer may, the text
// states that and names its type.
func textOf(err error) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprintf("an error of type %T, whose Error method panics: %v", err, v)
		}
	}()
	return err.Error()
}

// causes returns the texts of the errors that err wraps, from the outside in; of
// several side by side all, one after the other. A text that only repeats is left out.
func causes(err error) (all []string) {
	last := textOf(err)
	var walk func(error)
	walk = func(err error) {
		for _, in := range guard(nil, func() []error { return unwrapped(err) }) {
			if in == nil {
				continue
			}
			if text := textOf(in); text != last {
				last = text
				all = append(all, text)
			}
			walk(in)
		}
	}
	walk(err)
	return all
}

// unwrapped returns the errors that err wraps itself.
func unwrapped(err error) []error {
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	}
	return nil
}

// StoredError is an error that was read from a checkpoint: its record is left, and not
// its type. errors.Is still finds [ErrTimeout] and context.Canceled, by its kind.
type StoredError struct{ Failure Failure }

func (e *StoredError) Error() string { return e.Failure.Message }

// Is reports whether the stored error was of this kind.
func (e *StoredError) Is(target error) bool {
	switch e.Failure.Kind {
	case KindTimeout:
		return target == ErrTimeout
	case KindCancelled:
		return target == context.Canceled
	}
	return false
}

// Code returns the code of the stored error, or "".
func (e *StoredError) Code() string { return e.Failure.Code }

// ErrorName returns the name of the stored error, or "".
func (e *StoredError) ErrorName() string { return e.Failure.Name }

func recovered(err *error) {
	if v := recover(); v != nil {
		*err = &PanicError{Value: v, Stack: debug.Stack()}
	}
}

// IsStoreFailure reports whether a run ended with err because a write to its store failed. No node
// is to blame for that, although a NodeError in err may have the node that was cancelled for it.
func IsStoreFailure(err error) bool {
	var w journal.WriteError
	return errors.As(err, &w)
}

// StoreWasAway reports whether a run ended with err because its store did not answer: a Resume may
// succeed later. An error of a node that is about a store of its own is the failure of the node.
func StoreWasAway(err error) bool {
	var node *NodeError
	return checkpoint.IsTemporary(err) && (IsStoreFailure(err) || !errors.As(err, &node) || node.Cancelled)
}

// errGoexit is the error of a node that ended its goroutine.
var errGoexit = errors.New("the node called runtime.Goexit")

// errStopped is the cause of cancelling a step in which another task failed.
var errStopped = errors.New("graph: stopped because another task failed")

// errOver is returned to what a node left running.
var errOver = fmt.Errorf("%w: its node has returned", ErrNoTask)

// Failure is why a due task failed when it was last run.
type Failure struct {
	Node    string `json:"node,omitempty"`    // "" when the results of a step could not be folded
	Attempt int    `json:"attempt,omitempty"` // from 1
	Message string `json:"message"`
	Kind    string `json:"kind,omitempty"` // one of the Kind constants
	Code    string `json:"code,omitempty"` // see NodeError.Code
	Name    string `json:"name,omitempty"` // see NodeError.ErrorName
	// Causes are the texts of the errors that it wraps, from the outside in.
	Causes []string `json:"causes,omitempty"`
	// Cancelled is true when the task did not fail by itself: the run was cancelled, or
	// another task failed.
	// Kind is KindCancelled then, and Message is the reason, if it is known.
	Cancelled bool `json:"cancelled,omitempty"`
}

// withCause adds why ctx ended to the error of what failed after that: the cause comes first.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

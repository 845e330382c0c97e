package wire

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weftrun/weft/graph"
)

// Names of errors that the server gives by itself.
const (
	NameRecursion = "GraphRecursionError"
	NameTimeout   = "TimeoutError"
	NameCancelled = "UserInterrupt"
	NamePanic     = "PanicError"
	NameAttempts  = "RunAttemptsExceeded"
	NameLost      = "StreamLost"
	nameOther     = "Error"
)

// maxMessage is how many bytes of the text of an error clients see.
const maxMessage = 64 << 10

// RunErrorOf returns a failure of a run as clients see it: the name of the error, the beginning of
// the text of its innermost cause, and the node and the step. maxSteps is the limit that the run
// had. nil is nil.
func RunErrorOf(err error, maxSteps int) *RunError {
	if err == nil {
		return nil
	}
	out := &RunError{Error: errorName(err), Message: safely(func() string { return innermost(err).Error() })}
	if len(out.Message) > maxMessage { // it is stored in documents, which have limits
		out.Message = strings.ToValidUTF8(out.Message[:maxMessage], "") + "…"
	}
	if out.Error == NameRecursion {
		out.Message = fmt.Sprintf("Recursion limit of %d reached without hitting a stop condition. "+
			"You can increase the limit by setting the \"recursion_limit\" config key.", maxSteps)
	}
	if at := (*graph.NodeError)(nil); errors.As(err, &at) {
		out.Weft = &ErrorPlace{Node: at.Node, Step: at.Step}
	}
	return out
}

// safely returns what f returns, or a text in its place if it panics: it calls methods of errors
// that belong to the nodes.
func safely(f func() string) (s string) {
	defer func() {
		if v := recover(); v != nil {
			s = fmt.Sprintf("the error cannot be read: %v", v)
		}
	}()
	return f()
}

// errorName returns the name of an error for clients in other languages.
func errorName(err error) string {
	var named interface{ ErrorName() string }
	var stored *graph.StoredError
	var panicked *graph.PanicError
	if errors.As(err, &named) {
		if name := safely(named.ErrorName); name != "" {
			return name
		}
	}
	kind := ""
	if errors.As(err, &stored) {
		kind = stored.Failure.Kind
	}
	switch {
	case errors.Is(err, graph.ErrSteps):
		return NameRecursion
	case errors.As(err, &panicked) || kind == graph.KindPanic:
		return NamePanic
	case errors.Is(err, graph.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return NameTimeout
	case errors.Is(err, context.Canceled):
		return NameCancelled
	}
	return typeName(innermost(err))
}

// typeName returns the name of the type of an error, or "Error" for a type that is not exported.
func typeName(err error) string {
	t := reflect.TypeOf(err)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name := t.Name()
	if r, _ := utf8.DecodeRuneInString(name); !unicode.IsUpper(r) || t == reflect.TypeFor[graph.StoredError]() {
		return nameOther
	}
	return name
}

// innermost returns the last error of a chain; of several side by side the first that is not nil.
func innermost(err error) error {
	for {
		var next error
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			next = e.Unwrap()
		case interface{ Unwrap() []error }:
			for _, in := range e.Unwrap() {
				if next == nil {
					next = in
				}
			}
		}
		if next == nil {
			return err
		}
		err = next
	}
}

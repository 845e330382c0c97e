package server

import (
	"context"
	"errors"
	"slices"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/server/wire"
)

var (
	// ErrConfig is returned by New when a setting is missing or not valid.
	ErrConfig = errors.New("server: invalid config")
	// ErrUnauthorized is returned by an Authenticate function when the request has no valid
	// credentials. The status is 401.
	ErrUnauthorized = errors.New("server: no valid credentials")
	// ErrForbidden is returned by a Rule when the caller must not do this. The status is 403.
	ErrForbidden = errors.New("server: not allowed")
)

// invalid is the error of a request that is understood and not valid.
func invalid(format string, args ...any) *wire.Error {
	return wire.Errorf(wire.CodeInvalidRequest, format, args...)
}

func tooLarge(format string, args ...any) *wire.Error {
	return wire.Errorf(wire.CodeTooLarge, format, args...)
}

func noThread(id string) *wire.Error {
	return wire.Errorf(wire.CodeThreadNotFound, "Thread with ID %s not found", id)
}

func noAssistant() *wire.Error {
	return wire.Errorf(wire.CodeAssistantNotFound, "Assistant not found")
}

// hasCode reports whether an error is a fault with one of these codes.
func hasCode(err error, codes ...wire.Code) bool {
	var fault *wire.Error
	return errors.As(err, &fault) && slices.Contains(codes, fault.Code)
}

// faultOf returns what a client sees of an error. hidden is true if the log must have the error
// itself.
func faultOf(err error) (f *wire.Error, hidden bool) {
	switch {
	case errors.As(err, &f):
		return f, false
	case errors.Is(err, ErrUnauthorized):
		return wire.Errorf(wire.CodeUnauthorized, "the request must have valid credentials"), false
	case errors.Is(err, ErrForbidden):
		return wire.Errorf(wire.CodeForbidden, "Not authorized"), false
	case errors.Is(err, document.ErrTooLarge), errors.Is(err, memory.ErrTooLarge):
		return tooLarge("the value is too large to be stored"), false
	case errors.Is(err, document.ErrValue), errors.Is(err, document.ErrName), errors.Is(err, memory.ErrValue),
		errors.Is(err, memory.ErrKey), errors.Is(err, memory.ErrNamespace), errors.Is(err, memory.ErrRequest), errors.Is(err, memory.ErrQuery):
		return invalid("%s", publicText(err)), false
	case errors.Is(err, memory.ErrTooMany):
		return invalid("the search must have a longer prefix: it would read more than %d items", memory.MaxScan), false
	case checkpoint.IsTemporary(err), errors.Is(err, checkpoint.ErrClosed), errors.Is(err, context.DeadlineExceeded):
		return wire.Errorf(wire.CodeStoreUnavailable, "the store is not available"), true
	}
	return wire.Errorf(wire.CodeInternal, "internal error"), true
}

// publicText describes an invalid value without the place where it would be stored.
func publicText(err error) string {
	for _, known := range []error{
		document.ErrValue, document.ErrName, memory.ErrValue, memory.ErrKey, memory.ErrNamespace, memory.ErrRequest, memory.ErrQuery,
	} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return "invalid request"
}

package capabilities

import "errors"

var (
	// ErrUnknown is returned for a name that no capability has.
	ErrUnknown = errors.New("capabilities: no such capability")
	// ErrRequires is returned when an input that a capability requires is missing. The capability
	// did not run.
	ErrRequires = errors.New("capabilities: a required context is missing")
	// ErrProvides is returned when a capability did not store what it declared, or changed what it
	// did not declare. Its changes are dropped.
	ErrProvides = errors.New("capabilities: the result is not what was declared")
	// ErrArguments is returned when the parameters of a step do not match the tool.
	ErrArguments = errors.New("capabilities: the parameters do not fit the tool")
)

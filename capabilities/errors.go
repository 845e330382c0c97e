package capabilities

import "errors"

var (
	// ErrUnknown is returned when no capability has the name.
	ErrUnknown = errors.New("capabilities: no such capability")
	// ErrRequires is returned when a capability is to run without an input that it
	// requires, or with one that is not there. It did not run.
	ErrRequires = errors.New("capabilities: a required context is missing")
	// ErrProvides is returned when a capability did not store what it promised, or
	// stored or deleted what it did not declare. Nothing that it wrote lands.
	ErrProvides = errors.New("capabilities: the result is not what was declared")
	// ErrArguments is returned when the parameters of a step do not fit the tool.
	ErrArguments = errors.New("capabilities: the parameters do not fit the tool")
)

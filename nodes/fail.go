package nodes

import (
	"context"

	"github.com/weftrun/weft/graph/workflow"
)

// Fail ends the run as failed, with a *FailError. Nothing follows it.
//
//	give_up:
//	  fail:
//	    code: no_sources
//	    message: nothing found for ${{ state.topic }}
type Fail struct {
	// Message says what went wrong, to a person.
	Message string `json:"message"`
	// Code says it to a program.
	Code string `json:"code,omitempty"`
}

// Run returns a *FailError.
func (f *Fail) Run(context.Context, workflow.Env) (any, error) {
	return nil, &FailError{Code: f.Code, Message: f.Message}
}

// FailError is returned when a run came to a node that ends it as failed.
type FailError struct {
	Code    string
	Message string
}

func (e *FailError) Error() string {
	if e.Code == "" {
		return e.Message
	}
	return e.Code + ": " + e.Message
}

// Retryable reports false: the file says that it ends here.
func (e *FailError) Retryable() bool { return false }

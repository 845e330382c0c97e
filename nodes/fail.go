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
	// Message is the error for a person.
	Message string `json:"message"`
	// Code is the error for a program.
	Code string `json:"code,omitempty"`
}

// Run returns a *FailError.
func (f *Fail) Run(context.Context, workflow.Env) (any, error) {
	return nil, &FailError{Code: f.Code, Message: f.Message}
}

// FailError is returned by a node that ends the run as failed.
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

// Unwrap returns an error that has the code, for a caller that searches the chain.
func (e *FailError) Unwrap() error { return failCode{e} }

// failCode is a FailError as an error with a method Code.
type failCode struct{ err *FailError }

func (c failCode) Error() string { return c.err.Error() }

func (c failCode) Code() string { return c.err.Code }

// Retryable reports false: the file ends the run here.
func (e *FailError) Retryable() bool { return false }

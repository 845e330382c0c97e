package mcp

import (
	"context"
	"encoding/json"
	"time"
)

// Backend is a server as one caller sees it. It is safe for concurrent use. Clients see the texts
// of its errors.
type Backend interface {
	// Assistants returns those that the caller may run, in an order that does not change.
	Assistants(ctx context.Context) ([]Assistant, error)
	// Run runs an assistant on a new thread, which stays if the run asks. When ctx ends, the run is
	// cancelled.
	Run(ctx context.Context, assistant string, input json.RawMessage) (Result, error)
	// Questions returns at most limit open questions of a thread, or with "" of all threads.
	Questions(ctx context.Context, thread string, limit int) ([]Question, error)
	// Answer answers a question, and returns the result of the run that goes on.
	Answer(ctx context.Context, thread, question string, answer json.RawMessage) (Result, error)
	// State returns the state of a thread.
	State(ctx context.Context, thread string) (json.RawMessage, error)
}

// Assistant is a tool.
type Assistant struct {
	ID          string
	Name        string
	Description string
	Input       json.RawMessage // the JSON Schema of its arguments
}

// Result is how a run has ended.
type Result struct {
	Thread    string          `json:"thread_id,omitempty"` // "" if it does not exist any more
	Values    json.RawMessage `json:"values,omitempty"`    // the state
	Waiting   bool            `json:"waiting,omitempty"`   // for answers, or at a breakpoint
	Questions []Question      `json:"questions,omitempty"`
	Failure   string          `json:"error,omitempty"` // why it failed; "" if it did not
	// Ignored are the names of the arguments that the graph does not have.
	Ignored string `json:"ignored,omitempty"`
}

// Question is an open question.
type Question struct {
	ID        string          `json:"question_id"`
	Thread    string          `json:"thread_id"`
	Assistant string          `json:"assistant_id,omitempty"`
	Prompt    string          `json:"prompt,omitempty"`
	Value     json.RawMessage `json:"value"`            // what is asked
	Schema    json.RawMessage `json:"schema,omitempty"` // of the answer
	Expires   *time.Time      `json:"expires_at,omitempty"`
}

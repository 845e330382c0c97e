package model

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/weftrun/weft/state/message"
)

// Model answers requests. It is safe for concurrent use.
type Model interface {
	// Stream sends the request and yields the answer as it arrives. Nothing follows a chunk with a
	// Stop, or an error. A failure is an [*Error], or the error of ctx if that has ended. The
	// caller may stop early. Each loop over the result is a call of its own.
	Stream(ctx context.Context, r Request) iter.Seq2[Chunk, error]
}

// Func is a function that is a Model.
type Func func(ctx context.Context, r Request) iter.Seq2[Chunk, error]

// Stream implements Model.
func (f Func) Stream(ctx context.Context, r Request) iter.Seq2[Chunk, error] { return f(ctx, r) }

// Request is a request to a model. Except for Messages, a zero field leaves the choice to the
// model.
type Request struct {
	// ID is the ID of the message with the answer. Its calls have this ID with their index
	// appended, so that the IDs are unique in a conversation. Without it they have the model's IDs.
	ID string `json:"id,omitempty"`
	// Model is the name of the model, for a Model that has several.
	Model    string            `json:"model,omitempty"`
	Messages []message.Message `json:"messages"`
	// Tools are the tools that the model may call. Choice is whether it must call one.
	Tools  []Tool `json:"tools,omitempty"`
	Choice Choice `json:"choice,omitempty"`
	// Output is the form of the answer; nil is text.
	Output *Schema `json:"output,omitempty"`
	// Temperature is from 0, the most likely words, up; nil is the model's own.
	Temperature *float64 `json:"temperature,omitempty"`
	// MaxTokens limits the answer; 0 is the model's own limit.
	MaxTokens int `json:"max_tokens,omitempty"`
	// StopAt are texts at which the answer ends.
	StopAt []string `json:"stop_at,omitempty"`
	// Options are settings of the provider, by their names in its protocol.
	Options map[string]json.RawMessage `json:"options,omitempty"`
}

// Tool describes a tool to a model.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Schema is the JSON Schema of the arguments, an object; nil is no arguments.
	Schema json.RawMessage `json:"schema,omitempty"`
}

// Schema is the form of an answer.
type Schema struct {
	// Name is the schema's name for the provider; "" is "answer".
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	// JSON is the JSON Schema, of an object.
	JSON json.RawMessage `json:"schema"`
}

// Choice is whether a model may or must call tools.
type Choice string

// The choices. [Use] returns one for a single tool.
const (
	Auto     Choice = ""         // it may
	None     Choice = "none"     // it must not
	Required Choice = "required" // it must, any of them
)

const use = "tool:"

// Use returns the Choice of one tool, which the model must call.
func Use(tool string) Choice { return Choice(use + tool) }

// Tool returns the tool that the choice names.
func (c Choice) Tool() (name string, ok bool) {
	if len(c) <= len(use) || c[:len(use)] != use {
		return "", false
	}
	return string(c[len(use):]), true
}

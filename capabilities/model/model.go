package model

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/weftrun/weft/state/message"
)

// Model answers requests. It is safe for concurrent use.
type Model interface {
	// Stream sends the request and yields the answer as it comes. After the chunk with a Stop,
	// or after an error, nothing follows. A failure is an [*Error], or the error of ctx where that
	// has ended. The reader may stop early. Each loop is a call of its own.
	Stream(ctx context.Context, r Request) iter.Seq2[Chunk, error]
}

// Func is a Model made of a function.
type Func func(ctx context.Context, r Request) iter.Seq2[Chunk, error]

// Stream implements Model.
func (f Func) Stream(ctx context.Context, r Request) iter.Seq2[Chunk, error] { return f(ctx, r) }

// Request is what a model is asked. The zero value of each field but Messages leaves it to the model.
type Request struct {
	// ID names the answer: its message has this ID, and its calls ID with their index behind it, which
	// no other call of the conversation has. Without it they have the ids that the model made up.
	ID string `json:"id,omitempty"`
	// Model is its name, for a Model that has several.
	Model    string            `json:"model,omitempty"`
	Messages []message.Message `json:"messages"`
	// Tools are what the model may ask for, and Choice whether it has to.
	Tools  []Tool `json:"tools,omitempty"`
	Choice Choice `json:"choice,omitempty"`
	// Output is the form of the answer; nil is text.
	Output *Schema `json:"output,omitempty"`
	// Temperature is from 0, the most likely words, up; nil is the model's own.
	Temperature *float64 `json:"temperature,omitempty"`
	// MaxTokens bounds the answer; 0 is the model's own bound.
	MaxTokens int `json:"max_tokens,omitempty"`
	// StopAt are texts at which the answer ends.
	StopAt []string `json:"stop_at,omitempty"`
	// Options are settings of the provider's own, by their names on its wire.
	Options map[string]json.RawMessage `json:"options,omitempty"`
}

// Tool is what a model is told of a tool.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Schema is the JSON Schema of the arguments, an object; nil is no arguments.
	Schema json.RawMessage `json:"schema,omitempty"`
}

// Schema is the form that an answer must have.
type Schema struct {
	// Name is a word for the provider; "" is "answer".
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	// JSON is the JSON Schema, of an object.
	JSON json.RawMessage `json:"schema"`
}

// Choice says whether a model may ask for tools.
type Choice string

// The choices. [Use] makes one that names a tool.
const (
	Auto     Choice = ""         // it may
	None     Choice = "none"     // it must not
	Required Choice = "required" // it must, any of them
)

const use = "tool:"

// Use is the Choice of one tool: the model must ask for it.
func Use(tool string) Choice { return Choice(use + tool) }

// Tool returns the tool that the choice names.
func (c Choice) Tool() (name string, ok bool) {
	if len(c) <= len(use) || c[:len(use)] != use {
		return "", false
	}
	return string(c[len(use):]), true
}

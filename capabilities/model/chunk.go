package model

import (
	"encoding/json"

	"github.com/weftrun/weft/state/message"
)

// Chunk is a piece of an answer. Any of its fields may be set.
type Chunk struct {
	// Text is appended to the answer.
	Text string
	// Reasoning is the model's reasoning, if it is separate from the answer.
	Reasoning string
	// Part is content of a type of the provider, such as a thought with its signature; nil is none.
	// It is part of the message, because the provider needs it again in the next request. Other
	// providers leave it out.
	Part *message.Part
	// Call is a piece of a call of a tool; nil is none.
	Call *CallDelta
	// Usage is the cost of the answer, as far as it is known; a later one replaces it.
	Usage *message.Usage
	// Model is the name of the model that answers, as reported by the provider.
	Model string
	// Stop is why the answer ended. It is set once, at the end; only Usage may follow.
	Stop Stop
}

// CallDelta is a piece of a call of a tool.
type CallDelta struct {
	// Index identifies the call within the answer, from 0.
	Index int
	// ID and Name are set once; Arguments come in pieces.
	ID, Name, Arguments string
	// Extra holds fields of the provider, which it needs again in the next request.
	Extra map[string]json.RawMessage
}

// Stop is why an answer ended.
type Stop string

// The ways in which an answer ends.
const (
	StopEnd    Stop = "stop"       // it is complete
	StopCalls  Stop = "tool_calls" // it waits for the results of its calls
	StopLength Stop = "length"     // it was cut off at the limit of tokens
	StopFilter Stop = "filter"     // the provider withholds the rest
)

// Response is a whole answer.
type Response struct {
	// Message is the assistant's, with its Usage.
	Message message.Message
	// Usage is the cost. If the provider did not report it, all counts are 0 and Counted is false.
	Usage   message.Usage
	Counted bool
	Stop    Stop
	// Model is the name of the model that answered, or "" if it is not known.
	Model string
	// Reasoning is the model's reasoning. It is not part of the conversation.
	Reasoning string
}

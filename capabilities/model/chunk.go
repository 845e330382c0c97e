package model

import (
	"github.com/weftrun/weft/state/message"
)

// Chunk is a piece of an answer. Any of its fields may be set.
type Chunk struct {
	// Text is what the answer grows by.
	Text string
	// Reasoning is what the model thinks aloud, where it says so apart from the answer.
	Reasoning string
	// Call is a piece of a call of a tool; nil is none.
	Call *CallDelta
	// Usage is what the answer costs, as far as it is known; a later one replaces it.
	Usage *message.Usage
	// Model is the name of the model that answers, as the provider has it.
	Model string
	// Stop is set once, when the answer has ended: why. Usage may still follow it.
	Stop Stop
}

// CallDelta is a piece of a call of a tool.
type CallDelta struct {
	// Index tells the calls of an answer apart, from 0.
	Index int
	// ID and Name come once, Arguments in pieces.
	ID, Name, Arguments string
}

// Stop says why an answer has ended.
type Stop string

// The ways in which an answer ends.
const (
	StopEnd    Stop = "stop"       // it is complete
	StopCalls  Stop = "tool_calls" // it waits for the results of its calls
	StopLength Stop = "length"     // it was cut off at the bound of its tokens
	StopFilter Stop = "filter"     // the provider withholds the rest
)

// Response is a whole answer.
type Response struct {
	// Message is the assistant's, with its Usage.
	Message message.Message
	// Usage is what it cost; where the provider did not say, all its counts are 0 and Counted is false.
	Usage   message.Usage
	Counted bool
	Stop    Stop
	// Model is the name of the model that answered, "" where it is not known.
	Model string
	// Reasoning is what it thought aloud. It is no part of the conversation.
	Reasoning string
}

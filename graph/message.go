package graph

import (
	"context"
	"errors"
	"sync"
)

// Token is a piece of the output of a model: some text that a message grows by, or the
// whole of a message that is complete.
type Token struct {
	// ID names the message; all its tokens share it, and no other message of the run
	// has it. It must not be "".
	ID string `json:"id"`
	// Role is who speaks, such as "assistant".
	Role string `json:"role,omitempty"`
	// Delta is the text that the message grows by, Reasoning that of the model's reasoning, and
	// Call that of a call of a tool; nil is none.
	Delta     string     `json:"delta,omitempty"`
	Reasoning string     `json:"reasoning,omitempty"`
	Call      *TokenCall `json:"call,omitempty"`
	// Final is true when the message is complete. Text is then the whole of it, unless it
	// was sent as deltas and need not be repeated.
	Final bool   `json:"final,omitempty"`
	Text  string `json:"text,omitempty"`
	// Usage is what the message cost, where Final is true and it is known.
	Usage *TokenUsage `json:"usage,omitempty"`
	// Metadata is anything else that readers may want, such as the model's name.
	Metadata map[string]string `json:"metadata,omitempty"`

	// Index counts the tokens of the message, from 0; 0 starts it, or, where the node is
	// tried again, starts it anew. The run sets it.
	Index int `json:"index"`
	// Streamed is true where this reader has had the message already: all its tokens,
	// or its end. So who shows deltas shows Text only where Streamed is false. The run
	// sets it, for each reader.
	Streamed bool `json:"streamed,omitempty"`
}

// TokenCall is a piece of a call of a tool.
type TokenCall struct {
	Index     int    `json:"index"`               // of the call in its message, from 0
	ID        string `json:"id,omitempty"`        // in the first piece
	Name      string `json:"name,omitempty"`      // of the tool, in the first piece
	Arguments string `json:"arguments,omitempty"` // what the JSON of the arguments grows by
}

// TokenUsage is how many tokens a model read and wrote.
type TokenUsage struct {
	Input  int `json:"input"`
	Output int `json:"output"`
}

// ErrToken is returned by EmitMessage for a token without an ID.
var ErrToken = errors.New("graph: a token needs the ID of its message")

type silentKey struct{}

// Silent returns a context in which EmitMessage does nothing: for a model whose words
// are not meant for the reader, for a subgraph, or for a whole run.
func Silent(ctx context.Context) context.Context {
	return context.WithValue(ctx, silentKey{}, true)
}

// EmitMessage sends a token to the readers of Messages. It waits as Emit does, and like
// it does nothing without readers or outside a run.
func EmitMessage(ctx context.Context, tok Token) error {
	if tok.ID == "" {
		return ErrToken
	}
	t := taskOf(ctx)
	switch {
	case t == nil:
		return nil
	case ctx.Value(silentKey{}) != nil:
		t.alive()
		return nil
	case t.run.session.events != nil && !t.isGivenUp(): // else it would count for the next attempt
		tok.Index, tok.Streamed = t.run.session.events.tokens.next(tok.ID, restartOf(t)), false
	}
	return t.emit(ctx, Event{Mode: Messages, Token: tok})
}

// restart identifies one of the times that the node of a task runs.
type restart struct {
	task string
	n    int
}

func restartOf(t *task) restart {
	s := t.scope()
	s.mu.Lock()
	defer s.mu.Unlock()
	return restart{t.id(), s.restarts}
}

// tokenCounts numbers the tokens of messages.
type tokenCounts struct {
	mu       sync.Mutex
	messages map[string]tokenCount
}

// tokenCount is how many tokens of a message were sent, and by what.
type tokenCount struct {
	by   restart
	next int
}

// next returns the index of the next token of a message. Tokens that no reader takes
// count, so that a reader that joins in the middle of a message notices.
func (c *tokenCounts) next(id string, by restart) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.messages == nil {
		c.messages = map[string]tokenCount{}
	}
	m := c.messages[id]
	if m.by.task == by.task && m.by.n != by.n {
		m.next = 0 // the node was tried again, and sends the message anew
	}
	c.messages[id] = tokenCount{by, m.next + 1}
	return m.next
}

// seenTokens follows the messages of one reader: how many tokens of each it has had without
// a gap.
type seenTokens map[string]int

// mark sets Streamed in a token that the reader takes now.
func (h seenTokens) mark(t *Token) {
	const broken = -1
	n := h[t.ID]
	switch {
	case t.Index == 0:
		h[t.ID] = 1
	case n == t.Index:
		t.Streamed = t.Final
		h[t.ID]++
	case t.Final:
		h[t.ID] = t.Index + 1 // its Text is the whole
	default:
		h[t.ID] = broken
	}
}

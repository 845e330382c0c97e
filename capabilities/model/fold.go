package model

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weftrun/weft/state/message"
)

// MaxAnswer limits an answer, in bytes of its text, reasoning and calls, and of the provider's own
// fields. A longer one fails with [BadAnswer].
const MaxAnswer = 8 << 20

// maxCalls limits the calls of one answer.
const maxCalls = 1024

// Generate sends a request and returns the whole answer. An answer without text and calls is a
// [BadAnswer], and so is one that calls a tool if [Request.Tools] is empty. An answer that the
// provider withholds is [Refused], and one without a [Stop] is [CutOff]. An answer that reached its
// limit of tokens is returned with [StopLength], or is [Truncated] if it has no text and no calls.
func Generate(ctx context.Context, m Model, r Request) (Response, error) {
	f := Fold{Request: r}
	for c, err := range m.Stream(ctx, r) {
		if err == nil {
			err = f.Add(c)
		}
		if err != nil {
			return Response{}, err
		}
	}
	if f.stop == "" && ctx.Err() != nil {
		return Response{}, context.Cause(ctx)
	}
	return f.Response()
}

// Fold assembles an answer, chunk by chunk. It is for one goroutine.
type Fold struct {
	// Request is the request. Its ID determines the IDs of the message and its calls. An answer may
	// call tools only if the request offers some.
	Request Request

	text, reasoning strings.Builder
	parts           []placed
	calls           []call
	usage           *message.Usage
	model           string
	stop            Stop
	size            int
	place           int // the index in calls of the call that grew last
}

// call is an incomplete call of a tool.
type call struct {
	index    int
	id, name string
	args     []byte
	extra    map[string]json.RawMessage
}

// placed is a part of the provider that comes after the first at bytes of text.
type placed struct {
	part message.Part
	at   int
}

// Add adds a chunk. It returns an [*Error] for an answer that is invalid or too large.
func (f *Fold) Add(c Chunk) error {
	f.size += len(c.Text) + len(c.Reasoning)
	f.text.WriteString(c.Text)
	f.reasoning.WriteString(c.Reasoning)
	if c.Part != nil {
		f.size += sizeOf(c.Part.Extra)
		f.parts = append(f.parts, placed{*c.Part, f.text.Len()})
	}
	if c.Usage != nil {
		f.usage = c.Usage
	}
	if c.Model != "" {
		f.model = c.Model
	}
	if c.Stop != "" {
		f.stop = c.Stop
	}
	if c.Call != nil {
		if err := f.call(*c.Call); err != nil {
			return err
		}
	}
	if f.size > MaxAnswer {
		return f.fail(BadAnswer, "the answer is larger than %d bytes", MaxAnswer)
	}
	return nil
}

// note adds a chunk even if it is invalid, because its cost must be paid. It drops chunks beyond
// MaxAnswer, except those with a Usage.
func (f *Fold) note(c Chunk) {
	if f.size <= MaxAnswer || c.Usage != nil {
		_ = f.Add(c)
	}
}

// cost returns the cost of the answer: as the provider reports it, or else counted.
func (f *Fold) cost(by message.Counter) message.Usage {
	if f.usage != nil {
		return *f.usage
	}
	if by == nil {
		by = message.Estimate{}
	}
	answer := message.Assistant(f.text.String() + f.reasoning.String())
	for i := range f.calls {
		c := &f.calls[i]
		answer.Calls = append(answer.Calls, message.Call{ID: c.id, Name: c.name, Arguments: json.RawMessage(c.args)})
	}
	var u message.Usage
	u.Input, _ = message.Total(by, f.Request.Messages)
	u.Output, _ = by.Count(answer)
	for _, t := range f.Request.Tools {
		u.Input += message.ApproxTokens(t.Name + t.Description + string(t.Schema))
	}
	return u
}

// call adds a piece of a call. A piece with a new ID at the same index is another call, because
// some servers use index 0 for every call.
func (f *Fold) call(d CallDelta) error {
	f.size += len(d.ID) + len(d.Name) + len(d.Arguments) + sizeOf(d.Extra)
	at := -1
	for i := range f.calls {
		if f.calls[i].index == d.Index {
			at = i
		}
	}
	if at < 0 || d.ID != "" && f.calls[at].id != "" && d.ID != f.calls[at].id {
		if at = len(f.calls); at == maxCalls {
			return f.fail(BadAnswer, "the answer asks for more than %d calls", maxCalls)
		}
		f.calls = append(f.calls, call{index: d.Index})
	}
	f.place = at
	c := &f.calls[at]
	if d.ID != "" {
		c.id = d.ID
	}
	if c.name == "" {
		c.name = d.Name
	}
	c.args = append(c.args, d.Arguments...)
	if d.Extra != nil {
		c.extra = d.Extra
	}
	return nil
}

// Grown returns the place in the answer, from 0, and the ID of the call that the newest piece of a
// call belongs to. Fold.Request must have an ID.
func (f *Fold) Grown() (place int, id string) {
	return f.place, f.Request.ID + "-" + strconv.Itoa(f.place)
}

// sizeOf returns the size of a provider's fields.
func sizeOf(extra map[string]json.RawMessage) (n int) {
	for name, v := range extra {
		n += len(name) + len(v)
	}
	return n
}

// content returns the text and the parts of the provider, in order.
func (f *Fold) content() (all []message.Part) {
	text, from := f.text.String(), 0
	addText := func(to int) {
		if to > from {
			all = append(all, message.Text(strings.ToValidUTF8(text[from:to], "\uFFFD")))
			from = to
		}
	}
	for _, p := range f.parts {
		addText(p.at)
		all = append(all, p.part)
	}
	addText(len(text))
	return all
}

// Response returns the whole answer: see [Generate] for the errors.
func (f *Fold) Response() (Response, error) {
	r := Response{Stop: f.stop, Model: f.model, Reasoning: f.reasoning.String()}
	r.Message = message.Message{Role: message.RoleAssistant, Content: f.content()}
	r.Message.ID = f.Request.ID
	if f.usage != nil {
		u := *f.usage
		r.Usage, r.Counted, r.Message.Usage = u, true, &u
	}
	var err error
	if r.Message.Calls, err = f.named(); err != nil {
		return r, err
	}
	switch {
	case f.stop == "":
		return r, f.fail(CutOff, "the answer has no end")
	case f.stop == StopFilter:
		return r, f.fail(Refused, "the provider withholds the answer")
	case f.unoffered(r):
		return r, f.fail(BadAnswer, "the answer calls the tool %q, and no tool was offered", r.Message.Calls[0].Name)
	case r.Message.Calls == nil && strings.TrimSpace(f.text.String()) == "" && f.stop == StopLength:
		return r, f.fail(Truncated, "all its tokens were spent before it said anything")
	case r.Message.Calls == nil && strings.TrimSpace(f.text.String()) == "":
		return r, f.fail(BadAnswer, "the answer is empty")
	}
	return r, nil
}

// unoffered reports whether the answer calls a tool although the request offers none. The text of
// such an answer is not used, since the model waits for results.
func (f *Fold) unoffered(r Response) bool {
	return len(f.Request.Tools) == 0 && len(r.Message.Calls) > 0
}

// named returns the calls, each with an ID of its own. If the request has an ID, those of the calls
// are made from it. Otherwise they are the model's, unless one is missing or repeated.
func (f *Fold) named() ([]message.Call, error) {
	var calls []message.Call
	prefix, seen := f.Request.ID, map[string]bool{"": true}
	for i := range f.calls {
		c := &f.calls[i]
		if c.name == "" {
			return nil, f.fail(BadAnswer, "call %d names no tool", i)
		}
		if seen[c.id] && prefix == "" {
			prefix = "call"
		}
		seen[c.id] = true
		calls = append(calls, message.Call{ID: c.id, Name: c.name, Arguments: json.RawMessage(c.args), Extra: c.extra})
	}
	for i := range calls {
		if !utf8.Valid(calls[i].Arguments) {
			calls[i].Arguments = bytes.ToValidUTF8(calls[i].Arguments, []byte("\uFFFD"))
		}
		if prefix != "" {
			calls[i].ID = prefix + "-" + strconv.Itoa(i)
		}
	}
	return calls, nil
}

// fail returns a failure of this answer.
func (f *Fold) fail(k Kind, format string, args ...any) error {
	name := f.model
	if name == "" {
		name = f.Request.Model
	}
	return &Error{Kind: k, Model: name, Message: fmt.Sprintf(format, args...)}
}

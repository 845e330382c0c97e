package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/state/message"
)

// maxRefusal limits the text of a refusal in a stream, in bytes.
const maxRefusal = 64 << 10

// answer reads one response of the API and yields its chunks.
type answer struct {
	m       *Model
	name    string // the name of the model
	yield   func(model.Chunk) bool
	begun   bool // text, reasoning or a call was yielded
	stopped bool // the caller stopped reading
	stop    model.Stop
	calls   bool // a call was yielded
	refusal string
}

// read reads a successful response, streamed or in one piece.
func (a *answer) read(res *http.Response) error {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if media == "application/json" {
		return a.whole(res.Body)
	}
	res.Header.Del("Content-Type") // so that NewDecoder reads events, whatever type a server names
	return a.events(ssestream.NewDecoder(res))
}

// bad returns a BadAnswer error of this model.
func (a *answer) bad(format string, args ...any) error {
	return &model.Error{Kind: model.BadAnswer, Model: a.name, Message: fmt.Sprintf(format, args...)}
}

// events reads a stream to [DONE] or its end.
func (a *answer) events(events ssestream.Decoder) error {
	for events.Next() {
		data := bytes.TrimSpace(events.Event().Data)
		switch {
		case len(data) == 0:
			continue
		case bytes.Equal(data, []byte("[DONE]")):
			return a.end(true)
		}
		if err := a.event(data); err != nil || a.stopped {
			return err
		}
	}
	if err := events.Err(); err != nil {
		return err
	}
	return a.end(false)
}

// event reads one event of a stream.
func (a *answer) event(data []byte) error {
	var failed struct {
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(data, &failed); err != nil {
		return a.bad("an event must be a JSON object: %s", a.m.http.Clean(string(data)))
	}
	if len(failed.Error) > 0 && !bytes.Equal(failed.Error, []byte("null")) {
		return a.m.serverError(a.name, failed.Error)
	}
	var c sdk.ChatCompletionChunk
	if err := json.Unmarshal(data, &c); err != nil {
		return a.bad("an event must be a chunk of a chat completion: %s", a.m.http.Clean(string(data)))
	}
	return a.chunk(c)
}

// chunk yields the first choice of a chunk.
func (a *answer) chunk(c sdk.ChatCompletionChunk) error {
	out := model.Chunk{Model: c.Model, Usage: usage(c.Usage)}
	var calls []model.CallDelta
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue // the request asks for one
		}
		d := ch.Delta
		out.Text += d.Content
		out.Reasoning += reasoning(d.JSON.ExtraFields["reasoning_content"].Raw(), d.JSON.ExtraFields["reasoning"].Raw())
		if a.refusal += d.Refusal; len(a.refusal) > maxRefusal {
			return a.bad("the refusal is larger than %d bytes", maxRefusal)
		}
		for _, t := range d.ToolCalls {
			calls = append(calls, model.CallDelta{Index: int(t.Index), ID: t.ID, Name: t.Function.Name, Arguments: t.Function.Arguments})
		}
		if err := a.finish(string(ch.FinishReason)); err != nil {
			return err
		}
	}
	a.put(out, calls)
	return nil
}

// put yields a chunk, and one more for each call beyond the first.
func (a *answer) put(out model.Chunk, calls []model.CallDelta) {
	for i := range calls {
		a.calls = true
		if i > 0 {
			a.emit(out)
			out = model.Chunk{}
		}
		out.Call = &calls[i]
	}
	a.emit(out)
}

func (a *answer) emit(c model.Chunk) {
	if a.stopped || c == (model.Chunk{}) {
		return
	}
	a.begun = a.begun || c.Text != "" || c.Call != nil || c.Reasoning != ""
	a.stopped = !a.yield(c)
}

// finish stores the finish reason, which end yields because calls and usage may follow it. Reasons
// that are not known here mean StopEnd.
func (a *answer) finish(reason string) error {
	switch reason {
	case "":
	case "length":
		a.stop = model.StopLength
	case "tool_calls", "function_call":
		a.stop = model.StopCalls
	case "content_filter":
		a.stop = model.StopFilter
	case "error":
		return a.bad("the server reports that the answer failed")
	default:
		a.stop = model.StopEnd
	}
	return nil
}

// end yields the Stop, or returns why the answer is not valid. complete reports whether the
// response is known to have ended, for servers that send no finish reason.
func (a *answer) end(complete bool) error {
	switch {
	case a.refusal != "":
		return &model.Error{Kind: model.Refused, Model: a.name, Message: a.m.http.Clean(a.refusal)}
	case a.stop == "" && !complete:
		return io.ErrUnexpectedEOF
	case a.stop == "" && !a.begun:
		return a.bad("the answer is empty")
	case a.stop == "", a.stop == model.StopEnd && a.calls: // some servers send no reason, or stop, after calls
		a.stop = model.StopEnd
		if a.calls {
			a.stop = model.StopCalls
		}
	}
	a.emit(model.Chunk{Stop: a.stop})
	return nil
}

// whole reads an answer that is not streamed. Its reasoning is left out.
func (a *answer) whole(body io.Reader) error {
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	var head struct {
		Error json.RawMessage `json:"error"`
	}
	var c sdk.ChatCompletion
	switch err := errors.Join(json.Unmarshal(data, &head), json.Unmarshal(data, &c)); {
	case err != nil:
		return a.bad("the answer must be a chat completion: %s", a.m.http.Clean(string(data)))
	case len(head.Error) > 0 && !bytes.Equal(head.Error, []byte("null")):
		return a.m.serverError(a.name, head.Error)
	case len(c.Choices) == 0:
		return a.bad("the answer has no choices")
	}
	said := c.Choices[0].Message
	out := model.Chunk{Model: c.Model, Usage: usage(c.Usage), Text: said.Content}
	a.refusal = said.Refusal
	var calls []model.CallDelta
	for i, t := range said.ToolCalls {
		calls = append(calls, model.CallDelta{Index: i, ID: t.ID, Name: t.Function.Name, Arguments: t.Function.Arguments})
	}
	if err := a.finish(c.Choices[0].FinishReason); err != nil {
		return err
	}
	a.put(out, calls)
	return a.end(true)
}

// usage returns the numbers of tokens, or nil if they were not reported. Servers send negative and
// absurd numbers, so they are bounded.
func usage(u sdk.CompletionUsage) *message.Usage {
	if !u.JSON.TotalTokens.Valid() && !u.JSON.PromptTokens.Valid() && !u.JSON.CompletionTokens.Valid() {
		return nil
	}
	count := func(n int64) int { return int(min(max(n, 0), 1<<40)) }
	out := &message.Usage{Input: count(u.PromptTokens), Output: count(u.CompletionTokens)}
	out.Cached = min(count(u.PromptTokensDetails.CachedTokens), out.Input)
	return out
}

// reasoning returns the first of these fields that is a string with text.
func reasoning(fields ...string) (text string) {
	for _, f := range fields {
		if json.Unmarshal([]byte(f), &text) == nil && text != "" {
			return text
		}
	}
	return ""
}

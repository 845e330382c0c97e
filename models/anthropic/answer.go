package anthropic

import (
	"encoding/json"
	"errors"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/internal/modelhttp"
	"github.com/weftrun/weft/state/message"
)

// The types of parts of a message that only this provider has. Their fields are in Extra.
const (
	PartThinking = "anthropic.thinking" // thinking and signature
	PartRedacted = "anthropic.redacted" // data
)

// answer reads an answer from the wire.
type answer struct {
	m       *Model
	yield   func(model.Chunk) bool
	stopped bool // the caller stopped reading
	open    bool // there is a stream to close
	usage   message.Usage
	blocks  map[int64]*block
	calls   int
	stop    model.Stop
	refusal string
	refused bool
}

// block is a block of content that is not complete.
type block struct {
	kind                string
	call                int // index of the call
	args                bool
	thinking, signature string
}

// maxBlocks limits the blocks of an answer.
const maxBlocks = 4096

func (a *answer) close(stream *ssestream.Stream[sdk.MessageStreamEventUnion]) error {
	if !a.open {
		return nil
	}
	return stream.Close()
}

// read reads a stream up to its end.
func (a *answer) read(stream *ssestream.Stream[sdk.MessageStreamEventUnion]) error {
	if err := stream.Err(); err != nil {
		return a.failed(err)
	}
	a.open = true
	a.blocks = map[int64]*block{}
	for !a.stopped && stream.Next() {
		end, err := a.event(stream.Current())
		if err != nil {
			return err
		}
		if end {
			return a.end()
		}
	}
	if err := stream.Err(); err != nil {
		return a.failed(err)
	}
	return a.end()
}

// failed returns the failure that an error of the library reports.
func (a *answer) failed(err error) error {
	var reported *sdk.Error
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &reported):
		e := errorResponse(0, []byte(reported.RawJSON()))
		e.Message = a.m.http.Clean(e.Message)
		return e
	case errors.As(err, &syntax), errors.As(err, &typ):
		return a.m.http.Bad("an event is not the expected JSON: %v", err)
	}
	return err
}

// event takes one event of a stream. end reports that nothing follows. Unknown events are skipped,
// because the API adds some.
func (a *answer) event(e sdk.MessageStreamEventUnion) (end bool, err error) {
	switch e.Type {
	case "":
		return false, a.m.http.Bad("an event has no type: %s", e.RawJSON())
	case "message_start":
		a.count(e.Message.Usage.InputTokens, e.Message.Usage.CacheCreationInputTokens, e.Message.Usage.CacheReadInputTokens, e.Message.Usage.OutputTokens)
		a.emit(model.Chunk{Model: string(e.Message.Model)})
	case "content_block_start":
		return false, a.begin(e)
	case "content_block_delta":
		return false, a.delta(e)
	case "content_block_stop":
		a.finish(e.Index)
	case "message_delta":
		a.usage.Output = bounded(e.Usage.OutputTokens)
		if e.Usage.JSON.InputTokens.Valid() {
			a.count(e.Usage.InputTokens, e.Usage.CacheCreationInputTokens, e.Usage.CacheReadInputTokens, e.Usage.OutputTokens)
		}
		if e.Usage.JSON.OutputTokens.Valid() {
			usage := a.usage
			a.emit(model.Chunk{Usage: &usage})
		}
		a.refusal = e.Delta.StopDetails.Explanation
		return false, a.reason(e.Delta.StopReason)
	case "message_stop":
		return true, nil
	}
	return false, nil
}

// count stores the cost. Input includes what was written to the cache and read from it.
func (a *answer) count(input, written, read, output int64) {
	a.usage = message.Usage{Input: bounded(input) + bounded(written) + bounded(read), Cached: bounded(read), Output: bounded(output)}
}

func bounded(n int64) int { return int(min(max(n, 0), 1<<40)) }

// begin takes the beginning of a block.
func (a *answer) begin(e sdk.MessageStreamEventUnion) error {
	if len(a.blocks) >= maxBlocks {
		return a.m.http.Bad("the answer has more than %d blocks", maxBlocks)
	}
	c := e.ContentBlock
	b := &block{kind: c.Type, thinking: c.Thinking, signature: c.Signature}
	a.blocks[e.Index] = b
	switch c.Type {
	case "text":
		a.emit(model.Chunk{Text: c.Text})
	case "thinking":
		a.emit(model.Chunk{Reasoning: c.Thinking})
	case "redacted_thinking":
		a.part(PartRedacted, map[string]string{"data": c.Data})
	case "tool_use":
		b.call, a.calls = a.calls, a.calls+1
		a.emit(model.Chunk{Call: &model.CallDelta{Index: b.call, ID: c.ID, Name: c.Name}})
		if in := c.JSON.Input.Raw(); in != "" && in != "{}" && in != "null" {
			b.args = true
			a.emit(model.Chunk{Call: &model.CallDelta{Index: b.call, Arguments: in}})
		}
	}
	return nil
}

// delta takes a piece of a block.
func (a *answer) delta(e sdk.MessageStreamEventUnion) error {
	b := a.blocks[e.Index]
	if b == nil {
		return a.m.http.Bad("an event continues block %d, which did not begin", e.Index)
	}
	switch e.Delta.Type {
	case "text_delta":
		a.emit(model.Chunk{Text: e.Delta.Text})
	case "thinking_delta":
		if b.thinking += e.Delta.Thinking; len(b.thinking) > model.MaxAnswer {
			return a.m.http.Bad("a thought is larger than %d bytes", model.MaxAnswer)
		}
		a.emit(model.Chunk{Reasoning: e.Delta.Thinking})
	case "signature_delta":
		if b.signature += e.Delta.Signature; len(b.signature) > model.MaxAnswer {
			return a.m.http.Bad("a signature is larger than %d bytes", model.MaxAnswer)
		}
	case "input_json_delta":
		if b.kind == "tool_use" && e.Delta.PartialJSON != "" {
			b.args = true
			a.emit(model.Chunk{Call: &model.CallDelta{Index: b.call, Arguments: e.Delta.PartialJSON}})
		}
	}
	return nil
}

// finish takes the end of a block.
func (a *answer) finish(index int64) {
	b := a.blocks[index]
	switch {
	case b == nil:
	case b.kind == "tool_use" && !b.args:
		a.emit(model.Chunk{Call: &model.CallDelta{Index: b.call, Arguments: "{}"}})
	case b.kind == "thinking":
		a.part(PartThinking, map[string]string{"thinking": b.thinking, "signature": b.signature})
	}
}

// part yields a part that only this provider has.
func (a *answer) part(typ string, fields map[string]string) {
	p := &message.Part{Type: typ, Extra: map[string]json.RawMessage{}}
	for name, v := range fields {
		p.Extra[name], _ = json.Marshal(v)
	}
	a.emit(model.Chunk{Part: p})
}

func (a *answer) emit(c model.Chunk) {
	if !a.stopped && c != (model.Chunk{}) {
		a.stopped = !a.yield(c)
	}
}

// reason stores why the answer ended.
func (a *answer) reason(r sdk.StopReason) error {
	switch r {
	case "":
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		a.stop = model.StopLength
	case sdk.StopReasonToolUse:
		a.stop = model.StopCalls
	case sdk.StopReasonRefusal:
		a.refused = true
	case sdk.StopReasonPauseTurn:
		return a.m.http.Bad("the answer is paused for a tool of the server, which is not supported")
	default:
		a.stop = model.StopEnd
	}
	return nil
}

// end ends the answer.
func (a *answer) end() error {
	switch {
	case a.stopped:
		return nil
	case a.refused:
		text := a.refusal
		if text == "" {
			text = "the model refuses to answer"
		}
		return &model.Error{Kind: model.Refused, Message: a.m.http.Clean(text)}
	case a.stop == "":
		return modelhttp.CutOff()
	case a.stop == model.StopEnd && a.calls > 0:
		a.stop = model.StopCalls
	}
	a.emit(model.Chunk{Stop: a.stop})
	return nil
}

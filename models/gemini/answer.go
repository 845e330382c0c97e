package gemini

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"

	"google.golang.org/genai"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/internal/modelhttp"
	"github.com/weftrun/weft/state/message"
)

// PartSignature is the type of a part that holds the signature of a thought. Its field signature is
// in Extra.
const PartSignature = "gemini.signature"

// callSignature is the field of a call that holds the signature of a thought.
const callSignature = "gemini_signature"

// answer reads an answer from the wire.
type answer struct {
	m       *Model
	yield   func(model.Chunk) bool
	stopped bool // the caller stopped reading
	begun   bool // an event was received
	calls   int
	stop    model.Stop
}

// read reads a stream up to its end.
func (a *answer) read(ctx context.Context, events iter.Seq2[*genai.GenerateContentResponse, error]) error {
	for r, err := range events {
		if err != nil {
			return a.failed(ctx, err)
		}
		a.begun = true
		if err := a.event(r); err != nil || a.stopped {
			return err
		}
	}
	return a.end()
}

// failed returns the failure that an error of the library reports.
func (a *answer) failed(ctx context.Context, err error) error {
	var failed *model.Error
	var reported genai.APIError
	switch {
	case errors.As(err, &failed):
		return failed
	case errors.As(err, &reported):
		body, _ := json.Marshal(map[string]any{"error": reported})
		e := errorResponse(0, body)
		e.Status, e.Message = reported.Code, a.m.http.Clean(e.Message)
		return e
	case modelhttp.Torn(ctx):
		return modelhttp.CutOff()
	}
	return a.m.http.Bad("an event is no part of an answer: %v", err)
}

// event takes one event of a stream.
func (a *answer) event(r *genai.GenerateContentResponse) error {
	if f := r.PromptFeedback; f != nil && f.BlockReason != "" {
		return a.refused(cmp.Or(f.BlockReasonMessage, "the provider blocks the request: "+string(f.BlockReason)))
	}
	a.emit(model.Chunk{Model: r.ModelVersion, Usage: usage(r.UsageMetadata)})
	if len(r.Candidates) == 0 || r.Candidates[0] == nil {
		return nil
	}
	c := r.Candidates[0] // one answer was asked for
	if c.Content != nil {
		for _, p := range c.Content.Parts {
			if p != nil {
				a.part(p)
			}
		}
	}
	return a.reason(c.FinishReason, c.FinishMessage)
}

func (a *answer) part(p *genai.Part) {
	switch {
	case p.FunctionCall != nil:
		args := []byte("{}")
		if p.FunctionCall.Args != nil {
			args, _ = json.Marshal(p.FunctionCall.Args) // it was JSON
		}
		d := &model.CallDelta{Index: a.calls, ID: p.FunctionCall.ID, Name: p.FunctionCall.Name, Arguments: string(args)}
		if len(p.ThoughtSignature) > 0 {
			d.Extra = signed(callSignature, p.ThoughtSignature)
		}
		a.calls++
		a.emit(model.Chunk{Call: d})
		return
	case p.Thought:
		a.emit(model.Chunk{Reasoning: p.Text})
	default:
		a.emit(model.Chunk{Text: p.Text})
	}
	if len(p.ThoughtSignature) > 0 {
		a.emit(model.Chunk{Part: &message.Part{Type: PartSignature, Extra: signed("signature", p.ThoughtSignature)}})
	}
}

func signed(name string, signature []byte) map[string]json.RawMessage {
	data, _ := json.Marshal(signature)
	return map[string]json.RawMessage{name: data}
}

func (a *answer) emit(c model.Chunk) {
	if !a.stopped && c != (model.Chunk{}) {
		a.stopped = !a.yield(c)
	}
}

func (a *answer) refused(text string) error {
	return &model.Error{Kind: model.Refused, Message: a.m.http.Clean(text)}
}

// reason stores why the answer ended. The Stop is yielded at the end of the stream, because usage
// may follow.
func (a *answer) reason(r genai.FinishReason, text string) error {
	switch r {
	case "", genai.FinishReasonUnspecified:
	case genai.FinishReasonMaxTokens:
		a.stop = model.StopLength
	case genai.FinishReasonSafety, genai.FinishReasonRecitation, genai.FinishReasonBlocklist, genai.FinishReasonProhibitedContent,
		genai.FinishReasonSPII, genai.FinishReasonImageSafety, genai.FinishReasonImageProhibitedContent, genai.FinishReasonImageRecitation:
		return a.refused(cmp.Or(text, "the provider withholds the answer: "+string(r)))
	case genai.FinishReasonMalformedFunctionCall, genai.FinishReasonUnexpectedToolCall, genai.FinishReasonTooManyToolCalls,
		genai.FinishReasonLanguage, genai.FinishReasonOther, genai.FinishReasonNoImage, genai.FinishReasonImageOther:
		return a.m.http.Bad("the answer failed: %s %s", r, text)
	default:
		a.stop = model.StopEnd
	}
	return nil
}

// end ends the answer.
func (a *answer) end() error {
	if a.stop == "" {
		return modelhttp.CutOff()
	}
	if a.stop == model.StopEnd && a.calls > 0 {
		a.stop = model.StopCalls
	}
	a.emit(model.Chunk{Stop: a.stop})
	return nil
}

// usage returns the cost of an answer, or nil if it was not reported. The output includes thoughts.
func usage(u *genai.GenerateContentResponseUsageMetadata) *message.Usage {
	if u == nil {
		return nil
	}
	count := func(n int32) int { return int(max(n, 0)) }
	out := &message.Usage{
		Input:  count(u.PromptTokenCount) + count(u.ToolUsePromptTokenCount),
		Output: count(u.CandidatesTokenCount) + count(u.ThoughtsTokenCount),
	}
	out.Cached = min(count(u.CachedContentTokenCount), out.Input)
	return out
}

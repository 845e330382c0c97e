package otel

import (
	"context"
	"errors"
	"iter"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/message"
)

// Provider returns a provider whose models are observed. name is that of the conventions, such as
// "openai", "anthropic" or "gcp.gemini".
func (o *Observer) Provider(name string, p model.Provider) model.Provider {
	open := p.Open
	p.Open = func(c model.Config) (model.Model, error) {
		m, err := open(c)
		if err != nil {
			return nil, err
		}
		return observedModel{Model: m, observer: o, provider: name, name: c.Model}, nil
	}
	return p
}

// Model returns a model whose calls are observed. provider is as for [Observer.Provider], and name
// is the name of the model where a request does not have one.
func (o *Observer) Model(provider, name string, m model.Model) model.Model {
	return observedModel{Model: m, observer: o, provider: provider, name: name}
}

type observedModel struct {
	model.Model
	observer       *Observer
	provider, name string
}

// Stream implements model.Model.
func (m observedModel) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		c := modelCall{observedModel: m, began: time.Now(), asked: m.name}
		if r.Model != "" {
			c.asked = r.Model
		}
		ctx := c.begin(ctx, r)
		defer c.end(ctx)
		for chunk, err := range m.Model.Stream(ctx, r) {
			c.note(chunk, err)
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// modelCall is a call of a model.
type modelCall struct {
	observedModel
	span  trace.Span
	asked string // the name in the request
	began time.Time
	first time.Duration // until the first chunk; 0 before it
	usage *message.Usage
	stop  model.Stop
	gave  string // the name in the answer
	err   error
}

func (c *modelCall) begin(ctx context.Context, r model.Request) context.Context {
	attrs := []attribute.KeyValue{semconv.GenAIOperationNameChat, semconv.GenAIProviderNameKey.String(c.provider), semconv.GenAIRequestModel(c.asked)}
	if a, ok := ctx.Value(placeKey{}).(graph.Activity); ok {
		if a.Thread != "" {
			attrs = append(attrs, semconv.GenAIConversationID(a.Thread))
		}
		attrs = append(attrs, nodeKey.String(a.Node), runKey.String(a.Run))
	}
	if r.Temperature != nil {
		attrs = append(attrs, semconv.GenAIRequestTemperature(*r.Temperature))
	}
	if r.MaxTokens > 0 {
		attrs = append(attrs, semconv.GenAIRequestMaxTokens(r.MaxTokens))
	}
	if len(r.StopAt) > 0 {
		attrs = append(attrs, semconv.GenAIRequestStopSequences(r.StopAt...))
	}
	if r.Output != nil {
		attrs = append(attrs, semconv.GenAIOutputTypeJSON)
	}
	name := "chat"
	if c.asked != "" {
		name += " " + c.asked
	}
	ctx, c.span = c.observer.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attrs...), trace.WithTimestamp(c.began))
	return ctx
}

func (c *modelCall) note(chunk model.Chunk, err error) {
	if c.err = err; err == nil && c.first == 0 {
		c.first = time.Since(c.began)
	}
	if chunk.Usage != nil {
		c.usage = chunk.Usage
	}
	if chunk.Stop != "" {
		c.stop = chunk.Stop
	}
	if chunk.Model != "" {
		c.gave = chunk.Model
	}
}

func (c *modelCall) end(ctx context.Context) {
	took := time.Since(c.began)
	provider := genaiconv.ProviderNameAttr(c.provider)
	var attrs []attribute.KeyValue
	if c.asked != "" {
		attrs = append(attrs, semconv.GenAIRequestModel(c.asked))
	}
	if c.gave != "" {
		c.span.SetAttributes(semconv.GenAIResponseModel(c.gave))
		attrs = append(attrs, semconv.GenAIResponseModel(c.gave))
	}
	if c.stop != "" {
		c.span.SetAttributes(semconv.GenAIResponseFinishReasons(string(c.stop)))
	}
	if c.first > 0 {
		c.observer.first.Record(ctx, c.first.Seconds(), genaiconv.OperationNameChat, provider, attrs...)
	}
	if u := c.usage; u != nil {
		c.span.SetAttributes(semconv.GenAIUsageInputTokens(u.Input), semconv.GenAIUsageOutputTokens(u.Output))
		if u.Cached > 0 {
			c.span.SetAttributes(semconv.GenAIUsageCacheReadInputTokens(u.Cached))
		}
		c.observer.tokens.Record(ctx, int64(u.Input), genaiconv.OperationNameChat, provider, genaiconv.TokenTypeInput, attrs...)
		c.observer.tokens.Record(ctx, int64(u.Output), genaiconv.OperationNameChat, provider, genaiconv.TokenTypeOutput, attrs...)
	}
	if c.err != nil {
		kind := modelErrorType(c.err)
		c.span.SetStatus(codes.Error, c.err.Error())
		c.span.SetAttributes(semconv.ErrorTypeKey.String(kind))
		attrs = append(attrs, semconv.ErrorTypeKey.String(kind))
	}
	c.observer.models.Record(ctx, took.Seconds(), genaiconv.OperationNameChat, provider, attrs...)
	c.span.End()
}

func modelErrorType(err error) string {
	var e *model.Error
	if errors.As(err, &e) {
		return string(e.Kind)
	}
	return errorType(err)
}

package otel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	api "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftrun/weft/graph"
)

// Scope is the name of the instrumentation scope.
const Scope = "github.com/weftrun/weft/otel"

// Config configures an [Observer]. The zero Config is usable.
type Config struct {
	// Tracer and Meter make the spans and the instruments; nil is the global provider, also one
	// that is set later.
	Tracer trace.TracerProvider
	Meter  metric.MeterProvider
	// Log gets a line for each run that ends and each attempt that fails; nil logs nothing. The
	// lines have run, thread and node if the handler is a [Handler].
	Log *slog.Logger
}

// Observer observes the runs of graphs: see graph.Config.Observer. It is safe for concurrent use.
type Observer struct {
	tracer trace.Tracer
	log    *slog.Logger
	meters
}

// New returns an Observer. The error is that of an instrument that the provider refuses.
func New(c Config) (*Observer, error) {
	if c.Tracer == nil {
		c.Tracer = api.GetTracerProvider()
	}
	if c.Meter == nil {
		c.Meter = api.GetMeterProvider()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	o := &Observer{tracer: c.Tracer.Tracer(Scope, trace.WithSchemaURL(semconv.SchemaURL)), log: c.Log}
	var err error
	o.meters, err = newMeters(c.Meter.Meter(Scope, metric.WithSchemaURL(semconv.SchemaURL)))
	if err != nil {
		return nil, fmt.Errorf("otel: an instrument: %w", err)
	}
	return o, nil
}

// The attributes that the conventions do not have.
const (
	runKey       = attribute.Key("weft.run.id")
	operationKey = attribute.Key("weft.operation") // what a run does: invoke, resume, call, …
	namespaceKey = attribute.Key("weft.namespace") // of a subgraph
	turnKey      = attribute.Key("weft.turn")
	stepKey      = attribute.Key("weft.step")
	stepsKey     = attribute.Key("weft.steps") // how many a run took
	nodeKey      = attribute.Key("weft.node")
	taskKey      = attribute.Key("weft.task.id")
	attemptKey   = attribute.Key("weft.attempt")
	handlingKey  = attribute.Key("weft.handling") // the attempt is one of the node's error handler
	statusKey    = attribute.Key("weft.status")   // of a run: done, interrupted, pending, failed
	resultKey    = attribute.Key("weft.result")   // of a task: finished, failed, asking, draining
	questionsKey = attribute.Key("weft.questions")
	cachedKey    = attribute.Key("weft.cached")
	linkKey      = attribute.Key("weft.link")
)

// Begin implements graph.Observer.
func (o *Observer) Begin(ctx context.Context, a graph.Activity) (context.Context, func(graph.Outcome)) {
	began := time.Now()
	name, kind, attrs := describe(a)
	ctx, span := o.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attrs...), trace.WithTimestamp(began))
	if a.Kind != graph.StoreActivity {
		ctx = context.WithValue(ctx, placeKey{}, a)
	}
	if a.Kind == graph.RunActivity {
		o.running.Add(ctx, 1, graphOf(a))
	}
	return ctx, func(out graph.Outcome) {
		ended := time.Now()
		span.SetAttributes(o.results(a, out)...)
		if link := linkTo(out.Before); link.IsValid() {
			span.AddLink(trace.Link{SpanContext: link, Attributes: []attribute.KeyValue{linkKey.String("goes on from")}})
		}
		if out.Err != nil {
			span.SetStatus(codes.Error, out.Err.Error())
			span.SetAttributes(semconv.ErrorTypeKey.String(errorType(out.Err)))
		}
		span.End(trace.WithTimestamp(ended))
		o.measure(ctx, a, out, ended.Sub(began).Seconds())
		o.write(ctx, a, out)
	}
}

// describe returns the span of an activity.
func describe(a graph.Activity) (name string, kind trace.SpanKind, attrs []attribute.KeyValue) {
	attrs = []attribute.KeyValue{semconv.GenAIWorkflowName(a.Graph), runKey.String(a.Run)}
	if a.Thread != "" {
		attrs = append(attrs, semconv.GenAIConversationID(a.Thread))
	}
	if a.Namespace != "" {
		attrs = append(attrs, namespaceKey.String(a.Namespace))
	}
	if a.Step > 0 {
		attrs = append(attrs, turnKey.Int(a.Turn), stepKey.Int(a.Step))
	}
	if a.Node != "" {
		attrs = append(attrs, nodeKey.String(a.Node), taskKey.String(a.Task))
	}
	switch kind = trace.SpanKindInternal; a.Kind {
	case graph.RunActivity:
		return "invoke_workflow " + a.Graph, kind, append(attrs, semconv.GenAIOperationNameInvokeWorkflow, operationKey.String(a.Name))
	case graph.TaskActivity:
		return "task " + a.Node, kind, attrs
	case graph.AttemptActivity:
		return "attempt " + a.Node, kind, append(attrs, attemptKey.Int(a.Attempt), handlingKey.Bool(a.Handling))
	case graph.ToolActivity:
		return "execute_tool " + a.Name, kind, append(attrs, semconv.GenAIOperationNameExecuteTool,
			semconv.GenAIToolName(a.Name), semconv.GenAIToolCallID(a.Call), semconv.GenAIToolType("function"))
	case graph.StoreActivity:
		return "store " + a.Name, trace.SpanKindClient, append(attrs, semconv.DBOperationName(a.Name))
	}
	return string(a.Kind), kind, attrs
}

// results returns the attributes that are known at the end.
func (o *Observer) results(a graph.Activity, out graph.Outcome) (attrs []attribute.KeyValue) {
	if out.Status != "" {
		attrs = append(attrs, statusKey.String(string(out.Status)))
	}
	if a.Kind == graph.RunActivity {
		attrs = append(attrs, stepsKey.Int(out.Steps))
	}
	if out.Phase != "" {
		attrs = append(attrs, resultKey.String(string(out.Phase)), cachedKey.Bool(out.Cached))
	}
	if n := len(out.Interrupts); n > 0 {
		attrs = append(attrs, questionsKey.Int(n))
	}
	return attrs
}

// write logs the end of a run at the root, and an attempt that has failed.
func (o *Observer) write(ctx context.Context, a graph.Activity, out graph.Outcome) {
	switch {
	case a.Kind == graph.AttemptActivity && out.Err != nil:
		o.log.WarnContext(ctx, "an attempt has failed", "attempt", a.Attempt, "error", out.Err)
	case a.Kind != graph.RunActivity || a.Namespace != "":
	case out.Err != nil:
		o.log.ErrorContext(ctx, "the run has failed", "operation", a.Name, "error", out.Err)
	default:
		o.log.InfoContext(ctx, "the run has ended", "operation", a.Name, "status", string(out.Status), "steps", out.Steps)
	}
}

// coded is an error with a code that is stored with the failure.
type coded interface{ Code() string }

// errorType returns a short name of an error, of which there are few.
func errorType(err error) string {
	var c coded
	var timeout *graph.TimeoutError
	var panicked *graph.PanicError
	switch {
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.As(err, &timeout), errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.As(err, &panicked):
		return "panic"
	case errors.As(err, &c) && c.Code() != "":
		return c.Code()
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return fmt.Sprintf("%T", err)
		}
		err = inner
	}
}

// propagator writes the trace context that a thread keeps.
var propagator propagation.TraceContext

// Carrier implements graph.Observer: it returns the W3C trace context of a run.
func (o *Observer) Carrier(ctx context.Context) map[string]string {
	c := propagation.MapCarrier{}
	propagator.Inject(ctx, c)
	return c
}

// linkTo returns the span of the run that has left a carrier.
func linkTo(carrier map[string]string) trace.SpanContext {
	if len(carrier) == 0 {
		return trace.SpanContext{}
	}
	return trace.SpanContextFromContext(propagator.Extract(context.Background(), propagation.MapCarrier(carrier)))
}

var _ graph.Observer = (*Observer)(nil)

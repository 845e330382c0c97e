package otel

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"github.com/weftrun/weft/graph"
)

// placeKey is the key of the graph.Activity in a context.
type placeKey struct{}

// Handler returns a handler that adds to each record what its context belongs to: trace_id and
// span_id, and in a run graph, thread, run, and in a node node, step and attempt. Nodes log with
// their context, as with slog.InfoContext.
func Handler(next slog.Handler) slog.Handler { return handler{next} }

type handler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	sc := trace.SpanContextFromContext(ctx)
	a, inRun := ctx.Value(placeKey{}).(graph.Activity)
	if !sc.IsValid() && !inRun {
		return h.Handler.Handle(ctx, r)
	}
	r = r.Clone()
	if sc.IsValid() {
		r.AddAttrs(slog.String("trace_id", sc.TraceID().String()), slog.String("span_id", sc.SpanID().String()))
	}
	if inRun {
		r.AddAttrs(slog.String("graph", a.Graph), slog.String("run", a.Run))
		if a.Thread != "" {
			r.AddAttrs(slog.String("thread", a.Thread))
		}
	}
	if a.Node != "" {
		r.AddAttrs(slog.String("node", a.Node), slog.Int("step", a.Step))
	}
	if a.Attempt > 0 {
		r.AddAttrs(slog.Int("attempt", a.Attempt))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler. What a context belongs to is in the group too.
func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }

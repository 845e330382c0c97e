package otel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"

	"github.com/weftrun/weft/graph"
)

// meters are the instruments of an observer. Durations are in seconds.
type meters struct {
	running metric.Int64UpDownCounter
	runs    metric.Float64Histogram
	tasks   metric.Float64Histogram
	failed  metric.Int64Counter
	tools   metric.Float64Histogram
	stores  metric.Float64Histogram

	models genaiconv.ClientOperationDuration
	first  genaiconv.ClientOperationTimeToFirstChunk
	tokens genaiconv.ClientTokenUsage
}

// buckets of durations, in seconds: from a fast store to a run that takes minutes.
var buckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800}

func newMeters(m metric.Meter) (s meters, err error) {
	first := func(e error) {
		if err == nil {
			err = e
		}
	}
	histogram := func(name, what string) metric.Float64Histogram {
		h, e := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(what), metric.WithExplicitBucketBoundaries(buckets...))
		first(e)
		return h
	}
	var e error
	s.running, e = m.Int64UpDownCounter("weft.runs.active", metric.WithUnit("{run}"), metric.WithDescription("Runs that are under way, with those of subgraphs."))
	first(e)
	s.failed, e = m.Int64Counter("weft.attempts.failed", metric.WithUnit("{attempt}"), metric.WithDescription("Attempts of nodes that have failed."))
	first(e)
	s.runs = histogram("weft.run.duration", "Duration of runs.")
	s.tasks = histogram("weft.task.duration", "Duration of tasks, with all attempts.")
	s.tools = histogram("weft.tool.duration", "Duration of calls of tools.")
	s.stores = histogram("weft.store.duration", "Duration of calls of the store.")
	s.models, e = genaiconv.NewClientOperationDuration(m, metric.WithExplicitBucketBoundaries(buckets...))
	first(e)
	s.first, e = genaiconv.NewClientOperationTimeToFirstChunk(m, metric.WithExplicitBucketBoundaries(buckets...))
	first(e)
	s.tokens, e = genaiconv.NewClientTokenUsage(m, metric.WithExplicitBucketBoundaries(1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576))
	first(e)
	return s, err
}

func graphOf(a graph.Activity) metric.MeasurementOption {
	return metric.WithAttributes(semconv.GenAIWorkflowName(a.Graph))
}

// measure records an activity that has ended. No attribute has more values than a program has
// nodes, tools or errors: threads and runs are in the spans.
func (s *meters) measure(ctx context.Context, a graph.Activity, out graph.Outcome, seconds float64) {
	attrs := []attribute.KeyValue{semconv.GenAIWorkflowName(a.Graph)}
	if out.Err != nil {
		attrs = append(attrs, semconv.ErrorTypeKey.String(errorType(out.Err)))
	}
	switch a.Kind {
	case graph.RunActivity:
		s.running.Add(ctx, -1, graphOf(a))
		s.runs.Record(ctx, seconds, metric.WithAttributes(append(attrs, operationKey.String(a.Name), statusKey.String(string(out.Status)))...))
	case graph.TaskActivity:
		s.tasks.Record(ctx, seconds, metric.WithAttributes(append(attrs, nodeKey.String(a.Node), resultKey.String(string(out.Phase)))...))
	case graph.AttemptActivity:
		if out.Err != nil {
			s.failed.Add(ctx, 1, metric.WithAttributes(append(attrs, nodeKey.String(a.Node))...))
		}
	case graph.ToolActivity:
		s.tools.Record(ctx, seconds, metric.WithAttributes(append(attrs, semconv.GenAIToolName(a.Name))...))
	case graph.StoreActivity:
		s.stores.Record(ctx, seconds, metric.WithAttributes(append(attrs, semconv.DBOperationName(a.Name))...))
	}
}

// Package otlp sends the traces and metrics of package otel to an OpenTelemetry collector, by OTLP
// over HTTP.
//
//	t, err := otlp.Start(ctx, otlp.Config{Endpoint: "http://localhost:4318"})
//	defer t.Close(context.Background())
//	g, err := b.Compile(graph.Config{Observer: t.Observer})
//
// The environment variables of OpenTelemetry have their usual meaning, such as
// OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES and OTEL_TRACES_SAMPLER.
package otlp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"time"

	api "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/otel"
)

// ErrEndpoint is returned when the address of the collector is no URL of http or https.
var ErrEndpoint = errors.New("otlp: the endpoint must be a URL of http or https without a query")

// Config configures the export.
type Config struct {
	// Endpoint is the URL of the collector, such as http://localhost:4318: the traces go to
	// /v1/traces below it, the metrics to /v1/metrics. "" takes it from the environment
	// (OTEL_EXPORTER_OTLP_ENDPOINT), or else http://localhost:4318.
	Endpoint string
	// Service is the name of the service; "" is that of the environment, or weft.
	Service string
	// Every is how often metrics are sent; 0 is that of the environment, or a minute.
	Every time.Duration
	// Timeout bounds each request, and Close; 0 is 5 seconds.
	Timeout time.Duration
	// Global makes the providers those of the program, for libraries that use them.
	Global bool
	// Log is that of the Observer.
	Log *slog.Logger
}

// Telemetry is an export that has started.
type Telemetry struct {
	// Observer observes graphs and models.
	Observer *otel.Observer

	traces  *trace.TracerProvider
	metrics *metric.MeterProvider
	timeout time.Duration
}

// Start starts the export. It connects to nothing: a collector that cannot be reached is reported
// by Close, and never stops a run.
func Start(ctx context.Context, c Config) (*Telemetry, error) {
	t := &Telemetry{timeout: cmp.Or(c.Timeout, 5*time.Second)}
	traceTo := []otlptracehttp.Option{otlptracehttp.WithTimeout(t.timeout), otlptracehttp.WithRetry(otlptracehttp.RetryConfig{})}
	metricTo := []otlpmetrichttp.Option{otlpmetrichttp.WithTimeout(t.timeout), otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{})}
	if c.Endpoint != "" {
		u, err := url.Parse(c.Endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.User != nil {
			return nil, fmt.Errorf("%w (got %q)", ErrEndpoint, redacted(u))
		}
		traceTo = append(traceTo, otlptracehttp.WithEndpointURL(u.JoinPath("v1/traces").String()))
		metricTo = append(metricTo, otlpmetrichttp.WithEndpointURL(u.JoinPath("v1/metrics").String()))
	}
	about, err := about(ctx, c)
	if err != nil {
		return nil, err
	}
	spans, err := otlptracehttp.New(ctx, traceTo...)
	if err != nil {
		return nil, fmt.Errorf("otlp: the traces: %w", err)
	}
	measures, err := otlpmetrichttp.New(ctx, metricTo...)
	if err != nil {
		return nil, fmt.Errorf("otlp: the metrics: %w", err)
	}
	var every []metric.PeriodicReaderOption
	if c.Every > 0 {
		every = append(every, metric.WithInterval(c.Every))
	}
	t.traces = trace.NewTracerProvider(trace.WithBatcher(spans), trace.WithResource(about))
	t.metrics = metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(measures, every...)), metric.WithResource(about))
	t.Observer, err = otel.New(otel.Config{Tracer: t.traces, Meter: t.metrics, Log: c.Log})
	if err != nil {
		return nil, errors.Join(err, t.Close(ctx))
	}
	if c.Global {
		api.SetTracerProvider(t.traces)
		api.SetMeterProvider(t.metrics)
	}
	return t, nil
}

// redacted returns a URL without its password.
func redacted(u *url.URL) string {
	if u == nil {
		return ""
	}
	return u.Redacted()
}

// about describes the program.
func about(ctx context.Context, c Config) (*resource.Resource, error) {
	own := resource.NewSchemaless(semconv.ServiceName("weft"))
	env, err := resource.New(ctx, resource.WithFromEnv(), resource.WithTelemetrySDK(), resource.WithHost(), resource.WithProcessPID())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("otlp: the resource of the environment: %w", err)
	}
	all, err := resource.Merge(own, env)
	if err == nil && c.Service != "" && os.Getenv("OTEL_SERVICE_NAME") == "" {
		all, err = resource.Merge(all, resource.NewSchemaless(semconv.ServiceName(c.Service)))
	}
	if err != nil {
		return nil, fmt.Errorf("otlp: the resource: %w", err)
	}
	return all, nil
}

// Flush sends what is left now.
func (t *Telemetry) Flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	return errors.Join(t.traces.ForceFlush(ctx), t.metrics.ForceFlush(ctx))
}

// Close sends what is left, and ends the export. Its error names what could not be sent.
func (t *Telemetry) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	return errors.Join(t.traces.Shutdown(ctx), t.metrics.Shutdown(ctx))
}

// FromEnvironment is the endpoint with which [Open] takes the address from the environment.
const FromEnvironment = "env"

// Open starts an export for a command line: it is weftcli.Config.Telemetry. The providers become
// those of the program.
func Open(ctx context.Context, endpoint string) (graph.Observer, func(context.Context) error, error) {
	if endpoint == FromEnvironment {
		endpoint = ""
	}
	t, err := Start(ctx, Config{Endpoint: endpoint, Global: true})
	if err != nil {
		return nil, nil, err
	}
	return t.Observer, t.Close, nil
}

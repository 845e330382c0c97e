package otlp_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	collectmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collecttraces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/otel/otlp"
	"github.com/weftrun/weft/state"
)

// collector is a receiver of OTLP over HTTP.
type collector struct {
	mu      sync.Mutex
	spans   []*traces.Span
	metrics []string
	service string
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = z
	}
	data, err := io.ReadAll(body)
	var answer proto.Message
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil || r.Header.Get("Content-Type") != "application/x-protobuf":
		http.Error(w, "no protobuf", http.StatusBadRequest)
		return
	case r.URL.Path == "/otel/v1/traces":
		var q collecttraces.ExportTraceServiceRequest
		err, answer = proto.Unmarshal(data, &q), new(collecttraces.ExportTraceServiceResponse)
		for _, of := range q.ResourceSpans {
			for _, a := range of.Resource.Attributes {
				if a.Key == "service.name" {
					c.service = a.Value.GetStringValue()
				}
			}
			for _, s := range of.ScopeSpans {
				c.spans = append(c.spans, s.Spans...)
			}
		}
	case r.URL.Path == "/otel/v1/metrics":
		var q collectmetrics.ExportMetricsServiceRequest
		err, answer = proto.Unmarshal(data, &q), new(collectmetrics.ExportMetricsServiceResponse)
		for _, of := range q.ResourceMetrics {
			for _, s := range of.ScopeMetrics {
				for _, m := range s.Metrics {
					c.metrics = append(c.metrics, m.Name)
				}
			}
		}
	default:
		http.NotFound(w, r)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	out, _ := proto.Marshal(answer)
	_, _ = w.Write(out)
}

type count struct {
	N state.Sum[int] `json:"n"`
}

func graphOf(t *testing.T, o graph.Observer, store checkpoint.Store) *graph.Graph[count] {
	t.Helper()
	b := graph.New[count]("counts")
	b.Node("one", graph.Func(func(_ context.Context, s *count) error { s.N.Add(1); return nil }))
	b.Edge(graph.Start, "one")
	b.Edge("one", graph.End)
	g, err := b.Compile(graph.Config{Store: store, Observer: o})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestStart_SendsToACollector(t *testing.T) {
	c := &collector{}
	s := httptest.NewServer(c)
	defer s.Close()
	store := new(checkpoint.Memory)
	for range 2 { // two processes
		x, err := otlp.Start(t.Context(), otlp.Config{Endpoint: s.URL + "/otel", Service: "counter"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := graphOf(t, x.Observer, store).Invoke(t.Context(), count{}, graph.RunOptions{Thread: "t"}); err != nil {
			t.Fatal(err)
		}
		if err := x.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var runs []*traces.Span
	for _, s := range c.spans {
		if s.Name == "invoke_workflow counts" {
			runs = append(runs, s)
		}
	}
	if len(runs) != 2 || c.service != "counter" {
		t.Fatalf("%d runs of %d spans of %q have arrived, want 2", len(runs), len(c.spans), c.service)
	}
	if links := runs[1].Links; len(links) != 1 || string(links[0].SpanId) != string(runs[0].SpanId) {
		t.Errorf("the second turn has the links %v, want one to %x", links, runs[0].SpanId)
	}
	if !slices.Contains(c.metrics, "weft.run.duration") {
		t.Errorf("the metrics are %q", c.metrics)
	}
}

// A collector that does not answer costs a run nothing, and the end of the program its timeout.
func TestClose_ReportsACollectorThatCannotBeReached(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	address := s.URL
	s.Close()
	x, err := otlp.Start(t.Context(), otlp.Config{Endpoint: address, Timeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	res, err := graphOf(t, x.Observer, nil).Invoke(t.Context(), count{}, graph.RunOptions{})
	if err != nil || res.State.N.Get() != 1 {
		t.Errorf("the run: %v, %v", res, err)
	}
	if err := x.Close(t.Context()); err == nil {
		t.Error("Close must report what was not sent")
	}
}

func TestStart_RefusesInvalidEndpoints(t *testing.T) {
	for _, address := range []string{"localhost:4318", "ftp://host", "http://", "http://host/?a=b", "http://u:secret@host", "::"} {
		_, err := otlp.Start(t.Context(), otlp.Config{Endpoint: address})
		if !errors.Is(err, otlp.ErrEndpoint) {
			t.Errorf("%s: got %v, want ErrEndpoint", address, err)
		}
	}
	if _, _, err := otlp.Open(t.Context(), "nowhere"); !errors.Is(err, otlp.ErrEndpoint) {
		t.Errorf("got %v, want ErrEndpoint", err)
	}
}

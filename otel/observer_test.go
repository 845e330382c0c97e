package otel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/otel"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

// process is an observer with what it has sent, as one process has it.
type process struct {
	*otel.Observer
	spans  *tracetest.InMemoryExporter
	reader *metric.ManualReader
	log    *bytes.Buffer
}

func newProcess(t *testing.T) process {
	t.Helper()
	p := process{spans: tracetest.NewInMemoryExporter(), reader: metric.NewManualReader(), log: new(bytes.Buffer)}
	var err error
	p.Observer, err = otel.New(otel.Config{
		Tracer: trace.NewTracerProvider(trace.WithSyncer(p.spans)), Meter: metric.NewMeterProvider(metric.WithReader(p.reader)),
		Log: slog.New(otel.Handler(slog.NewJSONHandler(p.log, nil))),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tree returns the names of the spans, each behind those around it, without calls of the store.
func (p process) tree() (all []string) {
	byID := map[string]tracetest.SpanStub{}
	for _, s := range p.spans.GetSpans() {
		byID[s.SpanContext.SpanID().String()] = s
	}
	for _, s := range byID {
		path := s.Name
		for up, ok := byID[s.Parent.SpanID().String()]; ok; up, ok = byID[up.Parent.SpanID().String()] {
			path = up.Name + " > " + path
		}
		if !strings.Contains(path, "> store ") {
			all = append(all, path)
		}
	}
	slices.Sort(all)
	return all
}

// span returns the only span with the name.
func (p process) span(t *testing.T, name string) tracetest.SpanStub {
	t.Helper()
	var found []tracetest.SpanStub
	for _, s := range p.spans.GetSpans() {
		if s.Name == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		t.Fatalf("there are %d spans %q, want 1; all are %q", len(found), name, p.tree())
	}
	return found[0]
}

func has(t *testing.T, s tracetest.SpanStub, want map[string]any) {
	t.Helper()
	got := map[string]any{}
	for _, a := range s.Attributes {
		got[string(a.Key)] = a.Value.AsInterface()
	}
	for key, v := range want {
		if fmt.Sprint(got[key]) != fmt.Sprint(v) {
			t.Errorf("the span %q has %s = %v, want %v", s.Name, key, got[key], v)
		}
	}
}

type trip struct {
	Log state.List[string] `json:"log"`
}

// weather is a graph whose node asks a model, calls a tool and then asks a person.
func weather(t *testing.T, p process, store checkpoint.Store) *graph.Graph[trip] {
	t.Helper()
	m := p.Model("openai", "small", model.Script(model.Answer{Text: "it rains", Usage: &message.Usage{Input: 12, Output: 3}}))
	set, err := tool.NewSet(tool.Func(tool.Info{Name: "forecast"}, func(context.Context, struct{}) (string, error) { return "", errors.New("no network") }))
	if err != nil {
		t.Fatal(err)
	}
	b := graph.New[trip]("weather")
	b.Node("ask", graph.Func(func(ctx context.Context, s *trip) error {
		r, err := model.Generate(ctx, m, model.Request{Messages: []message.Message{message.User("and now?")}})
		if err != nil {
			return err
		}
		set.Do(ctx, message.Call{ID: "c1", Name: "forecast", Arguments: json.RawMessage("{}")}, "c1", tool.Limits{})
		s.Log.Append(r.Message.Text())
		return nil
	}))
	b.Node("review", graph.Func(func(ctx context.Context, s *trip) error {
		_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "Go?"})
		return err
	}))
	b.Edge(graph.Start, "ask")
	b.Edge("ask", "review")
	b.Edge("review", graph.End)
	g, err := b.Compile(graph.Config{Store: store, Observer: p})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestObserver_TracesARunOverAPause(t *testing.T) {
	store := new(checkpoint.Memory)
	first := newProcess(t)
	o := graph.RunOptions{Thread: "t1"}
	res, err := weather(t, first, store).Invoke(t.Context(), trip{}, o)
	if err != nil || res.Status != graph.Interrupted {
		t.Fatal(res.Status, err)
	}
	const run, ask = "invoke_workflow weather", "task ask > attempt ask"
	want := []string{
		run, run + " > step", run + " > step",
		run + " > step > " + "task ask", run + " > step > " + ask, run + " > step > " + ask + " > chat small", run + " > step > " + ask + " > execute_tool forecast",
		run + " > step > task review", run + " > step > task review > attempt review",
	}
	slices.Sort(want)
	if got := first.tree(); !slices.Equal(got, want) {
		t.Errorf("the spans are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	paused := first.span(t, run)
	has(t, paused, map[string]any{
		"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": "weather", "gen_ai.conversation.id": "t1",
		"weft.operation": "invoke", "weft.status": "interrupted", "weft.questions": 1, "weft.run.id": res.Run,
	})
	has(t, first.span(t, "chat small"), map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "small", "gen_ai.conversation.id": "t1",
		"gen_ai.usage.input_tokens": 12, "gen_ai.usage.output_tokens": 3, "gen_ai.response.finish_reasons": "[stop]", "weft.node": "ask",
	})
	failed := first.span(t, "execute_tool forecast")
	has(t, failed, map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "forecast", "gen_ai.tool.call.id": "c1", "error.type": "*errors.errorString"})
	if failed.Status.Code != codes.Error || paused.Status.Code != codes.Unset || len(paused.Links) > 0 {
		t.Errorf("the tool has %v, the run %v and the links %v", failed.Status, paused.Status, paused.Links)
	}
	has(t, first.span(t, "attempt review"), map[string]any{"weft.attempt": 1, "weft.questions": 1, "weft.step": 2, "weft.turn": 1})

	second := newProcess(t)
	res, err = weather(t, second, store).Resume(t.Context(), graph.Answer(res.Interrupts[0].ID, true), o)
	if err != nil || res.Status != graph.Done {
		t.Fatal(res.Status, err)
	}
	resumed := second.span(t, run)
	has(t, resumed, map[string]any{"weft.operation": "resume", "weft.status": "done"})
	if len(resumed.Links) != 1 || resumed.Links[0].SpanContext.SpanID() != paused.SpanContext.SpanID() || resumed.Links[0].SpanContext.TraceID() != paused.SpanContext.TraceID() {
		t.Errorf("the resumed run has the links %v, want one to %v", resumed.Links, paused.SpanContext)
	}
	if resumed.SpanContext.TraceID() == paused.SpanContext.TraceID() {
		t.Error("the two runs have one trace")
	}
}

func TestObserver_MeasuresWithoutThreads(t *testing.T) {
	p := newProcess(t)
	if _, err := weather(t, p, new(checkpoint.Memory)).Invoke(t.Context(), trip{}, graph.RunOptions{Thread: "secret-thread"}); err != nil {
		t.Fatal(err)
	}
	var data metricdata.ResourceMetrics
	if err := p.reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	counts := map[string]uint64{}
	for _, s := range data.ScopeMetrics {
		for _, m := range s.Metrics {
			var sets []attribute.Set
			switch d := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					counts[m.Name] += p.Count
					sets = append(sets, p.Attributes)
				}
			case metricdata.Histogram[int64]:
				for _, p := range d.DataPoints {
					counts[m.Name] += uint64(p.Sum)
					sets = append(sets, p.Attributes)
				}
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					counts[m.Name] += uint64(p.Value)
				}
			}
			for _, set := range sets {
				if text := set.Encoded(attribute.DefaultEncoder()); strings.Contains(text, "secret") {
					t.Errorf("%s has the thread: %s", m.Name, text)
				}
			}
		}
	}
	for name, want := range map[string]uint64{
		"weft.run.duration": 1, "weft.task.duration": 2, "weft.tool.duration": 1, "weft.runs.active": 0,
		"gen_ai.client.operation.duration": 1, "gen_ai.client.operation.time_to_first_chunk": 1, "gen_ai.client.token.usage": 15,
	} {
		if got, ok := counts[name]; !ok || got != want {
			t.Errorf("%s is %d (%v), want %d", name, got, ok, want)
		}
	}
	if counts["weft.store.duration"] < 3 {
		t.Errorf("%d calls of the store were measured", counts["weft.store.duration"])
	}
}

func TestHandler_AddsRunThreadAndNode(t *testing.T) {
	p := newProcess(t)
	log := slog.New(otel.Handler(slog.NewJSONHandler(p.log, nil)))
	b := graph.New[trip]("logs")
	b.Node("fails", graph.Func(func(ctx context.Context, _ *trip) error {
		log.InfoContext(ctx, "from the node")
		return &model.Error{Kind: model.Overloaded}
	}))
	b.Edge(graph.Start, "fails")
	b.Edge("fails", graph.End)
	g, err := b.Compile(graph.Config{Store: new(checkpoint.Memory), Observer: p})
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Invoke(t.Context(), trip{}, graph.RunOptions{Thread: "t1"})
	if err == nil {
		t.Fatal("the run must fail")
	}
	log.Info("outside")
	lines := strings.Split(strings.TrimSpace(p.log.String()), "\n")
	messages := []string{"from the node", "an attempt has failed", "the run has failed", "outside"}
	if len(lines) != len(messages) {
		t.Fatalf("got\n%s", p.log)
	}
	attempt := p.span(t, "attempt fails").SpanContext
	for i, line := range lines {
		var got map[string]any
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"msg": messages[i], "run": res.Run, "thread": "t1", "graph": "logs"}
		switch i {
		case 0, 1:
			want["node"], want["step"], want["span_id"], want["trace_id"] = "fails", 1.0, attempt.SpanID().String(), attempt.TraceID().String()
			want["attempt"] = 1.0
		case 2:
			want["node"] = nil
		case 3:
			want = map[string]any{"msg": "outside", "run": nil, "trace_id": nil}
		}
		for key, v := range want {
			if got[key] != v {
				t.Errorf("line %d has %s = %v, want %v: %s", i, key, got[key], v, line)
			}
		}
	}
	if s := p.span(t, "invoke_workflow logs"); s.Status.Code != codes.Error {
		t.Errorf("the run has the status %v", s.Status)
	}
}

func TestModel_RecordsFailuresByTheirKind(t *testing.T) {
	p := newProcess(t)
	for name, a := range map[string]model.Answer{
		"rate_limited": {Err: &model.Error{Kind: model.RateLimited}},
		"cut_off":      {Text: "half", Err: &model.Error{Kind: model.CutOff}},
	} {
		m := p.Model("openai", "m", model.Script(a))
		if _, err := model.Generate(t.Context(), m, model.Request{Model: name, MaxTokens: 5}); err == nil {
			t.Fatal("the call must fail")
		}
		s := p.span(t, "chat "+name)
		has(t, s, map[string]any{"error.type": name, "gen_ai.request.max_tokens": 5, "gen_ai.request.model": name})
	}
	m := p.Model("openai", "early", model.Script(model.Say("one two three")))
	for range m.Stream(t.Context(), model.Request{}) {
		break // the reader leaves
	}
	if s := p.span(t, "chat early"); s.Status.Code != codes.Unset {
		t.Errorf("a call that was left has the status %v", s.Status)
	}
}

func TestProvider_ObservesItsModels(t *testing.T) {
	p := newProcess(t)
	own := errors.New("no key")
	made := p.Provider("acme", model.Provider{URL: "u", Open: func(c model.Config) (model.Model, error) {
		if c.Key == "" {
			return nil, own
		}
		return model.Script(model.Say("hi")), nil
	}})
	if _, err := made.Open(model.Config{}); !errors.Is(err, own) || made.URL != "u" {
		t.Errorf("got %v and %+v", err, made)
	}
	m, err := made.Open(model.Config{Key: "k", Model: "big"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := model.Generate(t.Context(), m, model.Request{}); err != nil {
		t.Fatal(err)
	}
	has(t, p.span(t, "chat big"), map[string]any{"gen_ai.provider.name": "acme", "gen_ai.request.model": "big"})
}

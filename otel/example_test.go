package otel_test

import (
	"context"
	"fmt"
	"log"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/otel"
	"github.com/weftrun/weft/state"
)

type draft struct {
	Text state.Value[string] `json:"text"`
}

// A run that a person lets go on has a link to the run that has asked.
func Example() {
	spans := tracetest.NewInMemoryExporter() // a program sends them, with package otlp
	o, err := otel.New(otel.Config{Tracer: trace.NewTracerProvider(trace.WithSyncer(spans))})
	if err != nil {
		log.Fatal(err)
	}
	b := graph.New[draft]("publish")
	b.Node("review", graph.Func(func(ctx context.Context, d *draft) error {
		_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "Publish " + d.Text.Get() + "?"})
		return err
	}))
	b.Edge(graph.Start, "review")
	b.Edge("review", graph.End)
	g, err := b.Compile(graph.Config{Store: new(checkpoint.Memory), Observer: o})
	if err != nil {
		log.Fatal(err)
	}
	ctx, options := context.Background(), graph.RunOptions{Thread: "t1"}
	res, err := g.Invoke(ctx, draft{Text: state.Of("the news")}, options)
	if err != nil {
		log.Fatal(err)
	}
	if _, err = g.Resume(ctx, graph.Answer(res.Interrupts[0].ID, true), options); err != nil {
		log.Fatal(err)
	}
	var asked trace.ReadOnlySpan
	for _, s := range spans.GetSpans().Snapshots() {
		if s.Name() != "invoke_workflow publish" {
			continue
		}
		for _, l := range s.Links() {
			fmt.Println("the second run goes on from the first:", l.SpanContext.SpanID() == asked.SpanContext().SpanID())
		}
		asked = s
	}
	// Output: the second run goes on from the first: true
}

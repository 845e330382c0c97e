// Package otel observes the runs of graphs with OpenTelemetry: traces, metrics, and the place of a
// run in logs.
//
//	o, err := otel.New(otel.Config{}) // with the providers that the program has set globally
//	g, err := b.Compile(graph.Config{Store: store, Observer: o})
//	m := o.Model("openai", openaiModel)
//	slog.SetDefault(slog.New(otel.Handler(slog.Default().Handler())))
//
// Package otlp sends them to a collector.
//
// # Spans
//
//   - "invoke_workflow GRAPH": a run, or the run of a subgraph
//   - "step": a superstep
//   - "task NODE" and "attempt NODE"
//   - "chat MODEL": a call of a model, if [Observer.Model] or [Observer.Provider] wraps it
//   - "execute_tool TOOL": a call of a tool by package tool
//   - "store CALL": a call of the store that the run makes
//
// Names and attributes are those of the semantic conventions for generative AI (version 1.41) where
// they have one: the thread is gen_ai.conversation.id. The others begin with "weft.". A question is
// no error: its run ends with the weft.status "interrupted".
//
// No span has the content of messages, states, arguments or results. The text of an error is the
// status of its span.
//
// # Links
//
// The thread keeps the W3C trace context of the run that wrote to it last, encrypted if the store
// is. The span of the run that goes on with the thread has a link to that run, after a pause or a
// crash, in this process or another one. A link, and not a parent, because the wait for a person
// may last days.
//
// # Limits
//
// The runs of the Temporal engine consist of calls ("plan", "run task", "commit"), each with a span
// of its own, which is linked in the same way. Calls of a store that no run makes, as those of a
// server, have no span.
package otel

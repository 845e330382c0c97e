// Package model is the interface to language models: one method that streams an answer, and
// functions that most callers need.
//
//	m, err := openai.New(openai.Config{Model: "gpt-4.1-mini"}) // or any other Model
//
//	asked := []message.Message{message.User("hello")}
//	r, err := model.Generate(ctx, m, model.Request{Messages: asked})
//	fmt.Println(r.Message.Text(), r.Usage.Output)
//
//	type Verdict struct {
//		Fits   bool   `json:"fits"`
//		Reason string `json:"reason" jsonschema:"one sentence"`
//	}
//	v, err := model.Decode[Verdict](ctx, m, model.Request{Messages: asked})
//
// # Terms
//
//   - A [Model] answers a [Request] with a stream of [Chunk]s; [Func] makes one of a function. A
//     complete stream ends with a [Stop].
//   - [Generate] folds a stream into a [Response]; a [Fold] does so chunk by chunk, for callers
//     that stream the text.
//   - [Decode] returns the answer as a Go value. The schema is that of its type, and the answer
//     must match it.
//   - An [Error] is a failure of a model, with a [Kind]; [Retriable] reports whether another
//     attempt may succeed. An [OutputError] is an answer that does not fit its schema.
//   - A [Meter] counts what many calls cost together ([Spend]) and keeps them within a [Budget];
//     [Limited] is a model under a meter.
//   - A [Fallback] asks the next of several models if one cannot answer.
//   - An [Embedder] returns the vectors of texts ([Embeddings]); [Vectors] makes of it the function
//     that an index of package checkpoint/memory needs.
//   - A [Scripted] model returns prepared answers, for tests and demonstrations: [Script],
//     [ScriptFunc].
//
// # Guarantees
//
//  1. A stream ends with a Stop or with an error. So [Generate] returns an error for an answer that
//     was cut off.
//  2. A failure is an [*Error], or the error of the context if it has ended. No failure holds
//     a key.
//  3. The message that Generate returns can be added to a log: it has text or calls, and its calls
//     have different IDs. Arguments that are not JSON are not changed.
//  4. A reader of a stream may stop early; the call is then over.
//  5. No call begins when its budget is spent.
//
// # Limits
//
// The package knows no provider; packages openai, anthropic and gemini do. It runs no tools;
// package tool does. It retries nothing, except that Decode repairs an answer once. Use the policy
// of a node for retries; they continue after a crash.
package model

// Package model is the port to language models: one method that streams an answer, and what every
// caller of it needs.
//
//	m, err := openai.New(openai.Config{Model: "gpt-4.1-mini"}) // or any other Model
//
//	said, err := model.Generate(ctx, m, model.Request{Messages: []message.Message{message.User("hello")}})
//	fmt.Println(said.Message.Text(), said.Usage.Output)
//
//	type Verdict struct {
//		Fits   bool   `json:"fits"`
//		Reason string `json:"reason" jsonschema:"one sentence"`
//	}
//	v, err := model.Decode[Verdict](ctx, m, model.Request{Messages: asked})
//
// # The nouns
//
//   - A [Model] answers a [Request] with a stream of [Chunk]s; [Func] makes one of a function. A stream
//     that is whole ends with a [Stop].
//   - [Generate] folds a stream into a [Response]; a [Fold] does so chunk by chunk, for those who pass on
//     the text as it comes.
//   - [Decode] has the answer as a Go value: the schema comes from its type, and the answer is held to it.
//   - An [Error] is a failure of a model, with a [Kind]; [Retriable] says whether another attempt may help.
//     An [OutputError] is an answer that does not fit its schema.
//   - A [Meter] counts what many calls cost together ([Spend]) and keeps them within a [Budget];
//     [Limited] is a model under a meter.
//   - A [Scripted] model says what a test or a demonstration wants it to say: [Script], [ScriptFunc].
//
// # Laws
//
//  1. A stream ends with a Stop or with an error, never with neither: [Generate] takes what was cut off
//     for an error.
//  2. A failure is an [*Error], or the error of the context where that has ended. No failure holds a key.
//  3. The message that Generate returns can be added to a log: it says or asks for something, and its calls have
//     ids that differ. Arguments that are not JSON are kept as they came.
//  4. A reader of a stream may stop early; the call is then over.
//  5. No call is begun that a budget has no room for.
//
// # What it does not do
//
// It knows no provider: package openai below it does. It runs no tools: package tool beside it does. It
// retries nothing by itself but the one repair of Decode: a node's policy retries, where it survives a
// crash.
package model

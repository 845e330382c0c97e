// Package gemini is a [model.Model] for the Gemini API of Google, by its official library.
//
//	m, err := gemini.New(gemini.Config{Model: "gemini-2.5-flash"}) // the key is in GEMINI_API_KEY
//
// Answers are streamed. The package retries nothing: every failure is a [*model.Error] whose kind
// determines whether another attempt may succeed, with the wait that the server asks for. No
// failure contains the key or a configured header.
//
// # Reasoning
//
// Thoughts are streamed as Reasoning if the request asks for them:
//
//	thoughts := json.RawMessage(`{"thinkingConfig":{"includeThoughts":true}}`)
//	r.Options = map[string]json.RawMessage{"generationConfig": thoughts}
//
// The signature of a thought belongs to the message: it is in the Extra of a call, or a part of
// type [PartSignature]. The package sends it back in later requests.
//
// # Limits
//
// The answer must begin within Config.Idle, must not pause longer than that, and must end within
// Config.Timeout. An event has at most 16 MiB, and an answer at most [model.MaxAnswer]. A stream
// that breaks off is an error, and so is a response that is not a stream.
//
// System messages are sent as the system instruction, in their order. The library decodes the
// arguments of calls, so integers beyond 2⁵³ lose digits. Images in answers are left out.
package gemini

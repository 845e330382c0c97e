// Package anthropic is a [model.Model] for the Messages API of Anthropic, by its official library.
//
//	m, err := anthropic.New(anthropic.Config{Model: "claude-sonnet-4-5"})
//
// The key is in the environment variable ANTHROPIC_API_KEY.
//
// Answers are streamed. The package retries nothing: every failure is a [*model.Error] whose kind
// determines whether another attempt may succeed, with the wait that the server asks for. No
// failure contains the key or a configured header.
//
// # Reasoning
//
// The model thinks if the request asks for it:
//
//	r.Options = map[string]json.RawMessage{
//		"thinking": json.RawMessage(`{"type":"enabled","budget_tokens":2048}`),
//	}
//
// A thought is streamed as Reasoning. The whole thought with its signature is a part of the
// message, of type [PartThinking] or [PartRedacted]. The package sends it back in later requests,
// because the API needs it together with the results of tools.
//
// # Limits
//
// The answer must begin within Config.Idle, must not pause longer than that, and must end within
// Config.Timeout. An event has at most 16 MiB, and an answer at most [model.MaxAnswer]. A stream
// that breaks off is an error, and so is a response that is not a stream.
//
// System messages are sent before the conversation, in their order. Names of speakers are not sent.
// Tools that run on the server are not supported.
package anthropic

// Package tokens counts the tokens of messages with a real tokenizer, whose vocabulary
// is in the binary: some 10 MB, which only programs that import this package carry.
//
//	counter, err := tokens.ForModel("gpt-4o")
//	window := message.Window{MaxTokens: 100_000, Counter: &message.Cached{Counter: counter}}
//
// The vocabularies are OpenAI's. For models of others they are an estimate that is
// better than message.Estimate on its own. What surrounds the texts is counted by the
// formula of message.Estimate, and a text with long runs of white space may count as
// a few tokens more than it is.
package tokens

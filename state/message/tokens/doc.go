// Package tokens counts the tokens of messages with a real tokenizer. Its vocabularies add about 10
// MB to a program that imports this package.
//
//	counter, err := tokens.ForModel("gpt-4o")
//	window := message.Window{MaxTokens: 100_000, Counter: &message.Cached{Counter: counter}}
//
// The vocabularies are those of OpenAI. For other models the counts are estimates, but better than
// those of message.Estimate alone. The formula of message.Estimate counts the data around the
// texts. The count of a text with long runs of white space may be a few tokens too high.
package tokens

// Package message holds conversations: messages, the channel that keeps them, the part
// of them that fits into a prompt, and summaries of the rest.
//
//	type State struct {
//		Messages message.Log `json:"messages"`
//	}
//
//	func answer(ctx context.Context, s *State) error {
//		fit, err := message.Window{MaxTokens: 8000}.Fit(s.Messages.Slice())
//		if err != nil {
//			return err
//		}
//		said, err := model(ctx, fit.Messages)
//		if err != nil {
//			return err
//		}
//		return s.Messages.Add(message.Assistant(said))
//	}
//
//	in := State{Messages: message.LogOf(message.User("hello"))}
//	res, err := g.Invoke(ctx, in, graph.RunOptions{Thread: "t1"})
//
// # Terms
//
//   - A [Message] has a [Role] and parts of content, the [Call]s of an assistant, or the [Result]s
//     of tools. Create one with System, User, UserParts, Assistant or Tool.
//   - A [Log] is the channel of a conversation. It belongs to the thread, unless its field has the
//     tag weft:"turn".
//   - A round is a user message with all messages up to the next one.
//   - [Pairs] and [Orphans] match results with calls. [Validate] reports everything that a provider
//     would reject.
//   - A [Window] selects the part of a conversation that fits limits of messages and tokens.
//   - A [Counter] counts tokens: [Estimate], or a tokenizer of package tokens in a [Cached].
//   - A [Summarizer] replaces the oldest rounds with a summary. The caller runs its steps Plan,
//     Summarize and Apply, or all of them with Compact.
//
// # Guarantees
//
//  1. The log holds all messages; a window is a view of it. Only an applied summary and the writes
//     of the program remove messages.
//  2. The writes of a step are replayed in canonical order. Of several messages with one id, the
//     last replaces the first in its place. Messages without ids are always distinct, even if two
//     tasks add equal ones.
//  3. Equal writes to equal logs give equal ids and equal bytes.
//  4. A call and its results stay or go together, in a window and in a summary.
//  5. Unknown data is preserved: unknown fields, parts of providers, and arguments of calls that
//     are not JSON.
//  6. All mistakes in a write are reported at once, by index and id. Nothing is written then.
//
// # Limits
//
// The package calls no model, starts no goroutine and reads no clock. It does not convert to the
// formats of providers.
//
// It makes no deep copies. Treat a message as immutable after you add or read it; [Message.Clone]
// returns a copy. The log is in the order of writes, not of times.
package message

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
//	res, err := g.Invoke(ctx, State{Messages: message.LogOf(message.User("hello"))}, graph.RunOptions{Thread: "t1"})
//
// # The nouns
//
//   - A [Message] has a [Role], and parts of content, or the [Call]s of an assistant,
//     or the [Result]s of tools. System, User, UserParts, Assistant and Tool make one.
//   - A [Log] is the channel: Add, Replace, Remove, RemoveAll, Overwrite; At, ByID,
//     Last, LastFrom, All, FromRole, Slice. It belongs to the thread, as other channels
//     do, unless its field is tagged weft:"turn".
//   - [Pairs] and [Orphans] say which result answers which call. [Validate] reports all
//     that a provider would refuse.
//   - A [Window] cuts what fits from a conversation, by messages and by tokens.
//   - A [Counter] counts tokens: [Estimate], or a tokenizer of package tokens, behind a
//     [Cached].
//   - A [Summarizer] replaces the oldest rounds by a summary, in steps that the caller
//     runs: Plan, Summarize, Apply, or all of them in Compact.
//
// # Laws
//
//  1. The log keeps everything; what is sent is a view of it. Only a summary that was
//     applied, and what the program itself removes, is gone.
//  2. Writes of one step are replayed in canonical order. Of several messages with one
//     id the last stays, in the place of the first. Messages without ids never fall
//     together, not even when two tasks say the same.
//  3. The same writes to the same log give the same ids and the same bytes.
//  4. A call and its results stay or go together, in a window and in a summary.
//  5. What is not known is kept: unknown fields, parts of providers, arguments of calls
//     that are not JSON.
//  6. All mistakes in what is given are reported at once, by index and id, and then
//     nothing is written.
//
// # What it does not do
//
// It calls no model, starts no goroutine and reads no clock. It does not convert to the
// formats of providers. It copies nothing deeply: treat a message as immutable once it
// was added or read ([Message.Clone] gives a copy). It does not order by time: the log
// has the order of writes, and what was written in one millisecond keeps it.
package message

// Package conversation keeps what people and agents said in a thread, and tells those who listen.
//
// It keeps them in the documents of a store: those of sqlite, redis and postgres by
// Store.Documents(ctx), or a document.Map. The examples of this package are whole programs.
//
// The nouns are few. A [Repository] keeps messages. A [Manager] checks, lets the repository
// persist, and then notifies its [Socket]s. A [Feed] is a socket that others subscribe to, in
// this process or another one. Exchange is a whole turn: history, question, answer, both kept.
//
// # Laws
//
//  1. What was added is persisted first, in one batch for a thread, and then told. No failure
//     and no panic of who is told fails or undoes an Add; nor does anybody who listens slowly hold it up.
//  2. Messages are sorted by Created. Those of one instant are in the order in which they were
//     added. A message without an id or a time is given one.
//  3. Get narrows in this order: Before and After, which are exclusive; Roles; Limit. The store
//     does it: the last twenty messages cost the same whatever lies before them.
//  4. Page gives each message a [Cursor], by which the pages of a thread are read one after another. A
//     time alone is no cursor: messages of one Add have one time.
//  5. A message with the id of another one of its thread takes its place. What is returned
//     belongs to the caller.
//  6. The repository keeps everything. What is sent to a model is a view: the last N by
//     Options.Limit, a message.Window, or a summary of message.Summarizer.
//
// # Limits
//
// A limit of 0 is no message, and one of -n all but the n oldest: so the founding documents
// have it. What takes a limit from outside asks Options.Check first, which refuses those
// with ErrInvalidLimit. One Add is at most document.MaxBatch messages.
package conversation

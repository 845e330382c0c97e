// Package conversation stores the messages of threads and notifies subscribers of new ones.
//
// It stores them in the documents of a store: Store.Documents(ctx) of sqlite, redis or postgres, or
// a document.Map. The examples of this package are whole programs.
//
// A [Repository] stores messages. A [Manager] adds messages to the repository and then notifies its
// [Socket]s. A [Feed] is a socket with subscribers in this process or in others. [Manager.Exchange]
// is a whole turn: it reads the history, asks for an answer, and stores the question and the
// answer.
//
// # Guarantees
//
//  1. Add stores the messages of a thread in one batch, and then notifies the sockets. A socket
//     that fails or panics does not fail or undo an Add. A slow socket delays it by Config.RetryFor
//     at most.
//  2. Messages are sorted by Created. Messages of one time keep the order in which they were added.
//     A message without an id or a time gets one.
//  3. Get filters in this order: Before and After, which are exclusive; Roles; Limit. The store
//     does it: the last twenty messages cost the same in a thread of any length.
//  4. Page returns a [Cursor] for each message, to read a thread page by page. A time is not enough
//     for that: the messages of one Add have one time.
//  5. A message replaces an earlier message of its thread with the same id. The caller owns all
//     returned messages.
//  6. The repository removes no message by itself. A model gets a view of the thread: the last N by
//     Options.Limit, a message.Window, or a summary of message.Summarizer.
//
// # Limits
//
// A limit of 0 selects no message, and -n selects all but the n oldest. A program that gets a limit
// from outside calls Options.Check, which rejects negative limits with ErrInvalidLimit. One Add has
// at most document.MaxBatch messages.
package conversation

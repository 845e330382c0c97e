// Package document stores JSON documents by collection, partition and id. Repositories of threads,
// conversations, sessions and tasks use it. It works the same on every backend.
//
//	var store document.Map // or sqlite, redis or postgres: (*Store).Documents
//
//	chat := document.At("conversations", "thread-1")
//	doc, err := store.Set(ctx, chat, document.Change{
//		ID:    "message-1",
//		Value: json.RawMessage(`{"role": "user", "content": "Hello"}`),
//		Order: document.AtTime(now),
//	})
//	_, err = store.Set(ctx, chat, document.Change{
//		ID: "message-1", Value: edited, Order: doc.Order, If: &doc.Version,
//	})
//	last, err := store.Query(ctx, document.Query{
//		Place:   chat,
//		Where:   document.Filter{{Path: "role", Value: "user"}},
//		Reverse: true, // the newest first
//		Limit:   new(20),
//	})
//
// A [Place] is a partition of a collection, and a [Doc] is a document in it with an id. A [Change]
// sets or deletes a document; a batch of changes is atomic in its partition. A [Query] filters,
// sorts, skips and limits. A backend implements [Table], and [Over] makes a [Store] of it.
//
// # What every store guarantees
//
//  1. The same call has the same result on every store, since the same code compares and sorts.
//     Package documenttest tests that.
//  2. A batch is atomic. With Change.If it fails if another writer has changed the document. A
//     version of an id is never used again.
//  3. Documents are ordered by Order and then by their insertion, and the store has an index on
//     that order. Reading the last documents of a partition is one round trip. Its time depends on
//     their number, not on the size of the partition. A query with a Sort reads all documents
//     between From and Until.
//  4. Conditions may come from untrusted input: paths and values are compared, never executed.
//  5. A missing collection or partition is empty, a missing document is not found, and deleting
//     either is no error.
//  6. A query that reads several pages sees each page as of its read. A document that exists all
//     the time and does not change its Order is returned exactly once.
//  7. Everything has a limit. A typed error names the place.
//
// # What it does not do
//
// Values are plain JSON, neither compressed nor sealed. Documents do not expire. A batch does not
// span partitions, so a cluster can distribute them.
//
// A store on a server repeats a write whose reply was lost, and detects that it was made by the
// documents that it has set. If other writers have replaced or deleted all of these meanwhile, the
// write is made again, or returns a conflict although it was made. So the change that a conflict
// lets you repeat must be detectable in the value, for instance by an id in it.
package document

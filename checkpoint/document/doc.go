// Package document keeps JSON documents by collection, partition and id: what repositories
// of threads, conversations, sessions and tasks stand on, the same on every backend.
//
//	var store document.Map // or sqlite, redis or postgres: (*Store).Documents
//
//	chat := document.At("conversations", "thread-1")
//	doc, err := store.Set(ctx, chat, document.Change{
//		ID:    "message-1",
//		Value: json.RawMessage(`{"role": "user", "content": "Hello"}`),
//		Order: document.AtTime(now),
//	})
//	_, err = store.Set(ctx, chat, document.Change{ID: "message-1", Value: edited, Order: doc.Order, If: &doc.Version})
//	last, err := store.Query(ctx, document.Query{
//		Place:   chat,
//		Where:   document.Filter{{Path: "role", Op: document.In, Value: []string{"user", "assistant"}}},
//		Reverse: true, // the newest first
//		Limit:   new(20),
//	})
//
// The nouns are few. A [Place] is a partition of a collection, and a [Doc] lies in one by its id.
// A [Change] sets or deletes one; a batch of them is atomic in its partition. A [Query] filters,
// sorts, skips and limits. A [Table] is what a backend brings; [Over] makes a [Store] of it.
//
// # What every store promises
//
//  1. The same call has the same answer on every store, since one piece of code compares and
//     sorts. Package documenttest judges that.
//  2. A batch is made whole or not at all. With Change.If it is made only if nobody else was
//     faster; a version of an id never comes back.
//  3. Documents have an order of their own, by Order and then by when they entered, and the
//     store has an index on it: the last documents of a partition are one round trip, and take as long
//     as their number, however many lie before them. A query with a Sort reads all that
//     lies between From and Until.
//  4. Conditions may come from a stranger: paths and values are compared, never run.
//  5. A collection, a partition or a document that is not there is empty, or not found, and
//     deleting it is no error.
//  6. A query that reads more than one page sees each page as it is then: what is there all the
//     time and keeps its Order comes exactly once.
//  7. Everything has a limit, and a typed error that names the place.
//
// # What it does not do
//
// Values are plain JSON, neither compressed nor sealed. Documents do not expire. A batch does not
// span partitions, so that a cluster can spread them.
package document

// Package memory stores what agents know beyond one thread: items under a namespace and a key,
// which any run in any process can put, get and search. The state of a thread is in package
// checkpoint; data that must outlive the thread belongs here.
//
//	var store memory.Map // or sqlite, redis or postgres: (*Store).Memory
//
//	me := []string{"users", "ada", "preferences"}
//	green, black := json.RawMessage(`{"kind": "green"}`), json.RawMessage(`{"kind": "black"}`)
//	item, err := store.Put(ctx, me, "tea", green, memory.Options{})
//	_, err = store.Put(ctx, me, "tea", black, memory.Options{If: &item.Version})
//	page, err := store.Search(ctx, memory.Query{
//		Prefix: []string{"users", "ada"},
//		Where:  memory.Filter{{Path: "kind", Op: memory.Eq, Value: "black"}},
//		Text:   "black tea",
//	})
//
// A [Store] stores items. An [Item] is JSON under a key in a namespace, with a version. A namespace
// is a path of labels, such as users/ada/preferences; a prefix selects all namespaces below it. A
// [Query] is a prefix, conditions and words. A backend implements [Table], and [Over] makes a Store
// of it. An [Index] is a Store that also searches by meaning, with your embedder. A [Cache] shares
// the results of nodes between processes.
//
// # What every store guarantees
//
//  1. The same call has the same result on every store, since the same code compares, ranks and
//     sorts. An index of a database only reduces the number of candidates. Package memorytest
//     tests that.
//  2. A Put, and a Batch for one namespace, are atomic. With Options.If they fail if another writer
//     has changed the item. A version is never used again.
//  3. Conditions and words may come from untrusted input. The set of operators is closed. Paths,
//     values and words are compared and never become a part of a query language.
//  4. Results have one order. A cursor of ByKey or ByCreated continues from its position whatever
//     was written meanwhile: an item that exists all the time is returned exactly once. For
//     ByUpdated and ByRank that holds for items that do not change.
//  5. An expired item is not found from that moment on, by the store's clock. Later writes remove
//     its bytes.
//  6. Everything has a limit. A typed error names the place.
//
// # What it does not do
//
// Values are plain JSON, neither compressed nor sealed, because a database must read them to search
// them. Encrypt secret fields before you put them. The search of words knows no stems,
// stop words or languages. A
// search in any other order than ByKey reads all items below its prefix, at most MaxScan. A batch
// does not span namespaces, so a cluster can distribute them.
//
// A store on a server repeats a write whose reply was lost, and detects that it was made by the
// items that it has put. If other writers have replaced or deleted all of these meanwhile, the
// write is made again, or returns a conflict although it was made.
package memory

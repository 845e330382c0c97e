// Package memory is what agents know beyond one thread: items under a namespace and a key,
// which any run in any process can put, get and search. Threads have their own state in
// package checkpoint; what should outlive them goes here.
//
//	var store memory.Map // or sqlite, redis or postgres: (*Store).Memory
//
//	me := []string{"users", "ada", "preferences"}
//	item, err := store.Put(ctx, me, "tea", json.RawMessage(`{"kind": "green", "cups": 3}`), memory.Options{})
//	_, err = store.Put(ctx, me, "tea", json.RawMessage(`{"kind": "black"}`), memory.Options{If: &item.Version})
//	page, err := store.Search(ctx, memory.Query{
//		Prefix: []string{"users", "ada"},
//		Where:  memory.Filter{{Path: "kind", Op: memory.Eq, Value: "black"}},
//		Text:   "black tea",
//	})
//
// The nouns are few. A [Store] keeps items. An [Item] is JSON under a key in a namespace,
// with a version. A namespace is a path of labels, like users/ada/preferences, and a prefix
// of it selects what lies below. A [Query] is a prefix, conditions and words. A [Table] is
// what a backend brings; [Over] makes a Store of it. An [Index] is a Store that also finds
// by meaning, with an embedder of yours. A [Cache] keeps results of nodes for all processes.
//
// # What every store promises
//
//  1. The same call has the same answer on every store, since one piece of code compares,
//     ranks and sorts: an index of a database may narrow what it looks at, and no more.
//     Package memorytest judges that.
//  2. A Put, and a Batch for one namespace, are made whole or not at all. With Options.If
//     they are made only if nobody else was faster; a version never comes back.
//  3. Conditions and words may come from a stranger. The set of operators is closed; paths,
//     values and words are compared and never become a part of a query language.
//  4. Results have one order. A cursor of ByKey or ByCreated goes on where it stood,
//     whatever was written meanwhile: what is there all the time comes exactly once. By
//     ByUpdated and ByRank that holds for items that do not change.
//  5. An item that has expired is not found, by the store's clock, from that moment on. Its
//     bytes go with later writes.
//  6. Everything has a limit, and a typed error that names the place.
//
// # What it does not do
//
// Values are plain JSON, neither compressed nor sealed: a database must read them to search
// them. Whoever may read the database reads them; encrypt a field before you put it if
// that is too much. Words have no stems and no stop words, and no language. A search by any
// other order than ByKey looks at all that is below its prefix, at most MaxScan items. A batch
// does not span namespaces, so that a cluster can spread them.
package memory

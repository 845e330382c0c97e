// Package checkpoint holds what must survive: the record of a run after each step,
// the port that stores meet, and the codec between them.
//
// A thread has namespaces, a namespace is a chain of commits, and a commit holds a
// [Record] (where the run stands) and the fields of its state. A [Chain] reads and
// writes one namespace: it knows the schema of the state, writes only what a step
// changed, and stores a list or a map as a base and one chunk a step. A [Store]
// holds the bytes: [Memory] in this process, package sqlite in a file, package redis on a server.
//
//	chain, err := checkpoint.Open(ctx, store, checkpoint.Key{Thread: "t1"}, schema)
//	// chain.Record is nil for a new thread; chain.State is the restored state
//	err = chain.Commit(ctx, id, &checkpoint.Record{Source: checkpoint.Step, Step: 1}, view, changed)
//
// A store may also lease threads to writers ([Leaser]), drop old commits ([Dropper]) and
// let threads end ([Expirer]). On these stand [Hold], which keeps a thread for as long as
// somebody works on it, [Prune] and [DeleteRuns]. [Copy], [Export] and [Import] move whole
// threads between any two stores.
//
// Its duties:
//
//  1. A commit is whole or not at all, and moves the head by compare-and-set.
//  2. What a commit stores does not grow with what earlier commits stored.
//  3. Every stored value is sealed: a flipped bit, a cut, or a value in the place of
//     another, of any thread, is an [ErrCorrupt] that names the place, never wrong data.
//  4. Values are decoded into the types that the program declares; stored bytes
//     never choose a type.
//  5. A field that the program no longer knows is carried along untouched.
//  6. Who was overtaken writes nothing any more, however late it wakes, and a request for
//     a lease is granted once ([LeaseRequest], [LeaseLog]).
//  7. What is dropped is never needed by what stays; what expires goes as a whole.
//  8. What was ever stored can be read, by this version and every later one.
//  9. What is too large is a [TooLargeError] before anything is sent to a store.
//
// # The codec
//
// A value is JSON, in an envelope with a checksum that covers its place; from 4 KiB on it
// is compressed with zstd where that saves a tenth. [Sealed] gives a store another
// [Codec]: other [Limits], no compression, encryption. The store that it returns is all
// that anything else needs, since it carries its codec:
//
//	keys := &checkpoint.Keys{Current: "2026-01", Ring: map[string][]byte{"2026-01": key}}
//	store, err = checkpoint.Sealed(store, checkpoint.Codec{Keys: keys})
//
// With [Keys], all values are encrypted with AES-256-GCM: records, fields, and the entries
// beside a head. A value that is moved, renamed or put into another thread or beside another
// commit cannot be read.
// In the clear stay the ids of threads, commits and keys, the names of namespaces, fields, tasks
// and slots, the labels with the run's metadata, references, and sizes. That a whole
// thread, or its newest commits, were put back to what they once were cannot be noticed. [Export] through a sealed store
// writes a file that is not encrypted. A missing or another key is a [KeyError]. To
// change the key, make a new one current and keep the old; [Reseal] writes a thread anew.
//
// [Sizes] tells which field makes a thread large.
//
// # Fields that change
//
// A stored value is decoded into the type that the field has now. When that type changes,
// the field gets weft:"version=2" and the schema a migration, [state.Schema.Migrating]
// (graph.Config.Migrate does it): it gets the whole old value as JSON, whatever channel
// stored it, and what it returns is stored whole with the next commit. A field that is
// called otherwise now has weft:"was=NAME". A value of a later version than the program's is an
// [ErrNewerSchema], one that does not fit an [ErrSchema]; nothing is changed then.
package checkpoint

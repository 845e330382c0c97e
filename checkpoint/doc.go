// Package checkpoint stores the position and the state of a run after each step, so that a run
// survives a crash. It defines the records, the interface of stores, and the codec between them.
//
// A thread has namespaces, and a namespace is a chain of commits. A commit holds a [Record], which
// is the position of the run, and the fields of its state. The newest commit is the head. Pending
// entries belong to a head: they are stored before the next commit and dropped by it.
//
// A [Chain] reads and writes one namespace. It knows the schema of the state and writes only what
// a step changed. It stores a list or a map as a base and one chunk for each step. A [Store] holds
// the bytes: [Memory] in this process, package sqlite in a file, packages postgres and redis on a
// server.
//
//	chain, err := checkpoint.Open(ctx, store, checkpoint.Key{Thread: "t1"}, schema)
//	// chain.Record is nil for a new thread; chain.State is the restored state
//	rec := &checkpoint.Record{Source: checkpoint.Step, Step: 1}
//	err = chain.Commit(ctx, id, rec, view, changed)
//
// A store may also lease threads to writers ([Leaser]), drop old commits ([Dropper]) and let
// threads expire ([Expirer]). [Hold] renews a lease while a caller works on the thread. [Prune] and
// [DeleteRuns] drop commits. [Copy], [Export] and [Import] transfer whole threads between stores.
//
// The package guarantees:
//
//  1. A commit is atomic and moves the head by compare-and-set.
//  2. The size of a commit does not grow with the number of earlier commits.
//  3. Every stored value is sealed. A flipped bit, a truncated value, or a value that was moved to
//     another place or thread is an [ErrCorrupt] that names the place. It is never wrong data.
//  4. Values are decoded into the types that the program declares; stored bytes never choose a
//     type.
//  5. A field that the program no longer declares is carried along unchanged.
//  6. A writer that lost its lease cannot write, however late it wakes. A request for a lease is
//     granted once ([LeaseRequest], [LeaseLog]).
//  7. Dropping commits never removes what a remaining commit needs. A thread expires as a whole.
//  8. This version and every later one can read what any earlier version stored.
//  9. A value beyond a limit is a [TooLargeError] before anything is sent to a store.
//
// # The codec
//
// A value is stored as JSON in an envelope, with a checksum that covers its place. Values of 4 KiB
// or more are compressed with zstd if that saves a tenth. [Sealed] gives a store another [Codec]:
// other [Limits], no compression, or encryption. The returned store carries its codec, so callers
// pass only the store:
//
//	keys := &checkpoint.Keys{Current: "2026-01", Ring: map[string][]byte{"2026-01": key}}
//	store, err = checkpoint.Sealed(store, checkpoint.Codec{Keys: keys})
//
// With [Keys], all values are encrypted with AES-256-GCM: records, fields and pending entries. A
// value that is moved, renamed, or put into another thread or commit cannot be read.
//
// The following is not encrypted: the ids of threads, commits and keys; the names of namespaces,
// fields, tasks and slots; the labels with the run's metadata; references and sizes. A rollback of
// a whole thread, or of its newest commits, to an older stored state is not detected. [Export] from
// a sealed store writes a file that is not encrypted. A missing or wrong key is a [KeyError]. To
// change the key, make a new one current and keep the old one in the ring; [Reseal] rewrites a
// thread.
//
// [Sizes] reports the size of each field of a thread.
//
// # Fields that change
//
// A stored value is decoded into the type that the field has now. When that type changes, tag the
// field with weft:"version=2" and give the schema a migration: [state.Schema.Migrating], or
// graph.Config.Migrate. The migration gets the whole old value as JSON, whatever channel stored it.
// Its result is stored whole with the next commit. A renamed field is tagged weft:"was=NAME". A
// value of a later version than the program's is an [ErrNewerSchema]. A value that does not fit is
// an [ErrSchema]. Both leave the stored bytes as they are.
package checkpoint

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
//     another of its thread is an [ErrCorrupt] that names the place, never wrong data.
//  4. Values are decoded into the types that the program declares; stored bytes
//     never choose a type.
//  5. A field that the program no longer knows is carried along untouched.
//  6. Who was overtaken writes nothing any more, however late it wakes.
//  7. What is dropped is never needed by what stays; what expires goes as a whole.
package checkpoint

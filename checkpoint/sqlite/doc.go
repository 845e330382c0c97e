// Package sqlite keeps checkpoints in one file on this machine. It is the store for
// a command line, a single server or a test that must outlive its process: no
// server to run, no C compiler, and any number of processes may share the file.
//
//	store, err := sqlite.Open(ctx, "threads.db")
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//
// The nouns are few. A Store is an open file. Inside it, one goroutine owns the only
// connection that writes; what callers want written waits in a queue, and all that
// waits when the file's lock is had goes into one transaction with one fsync (group
// commit). A few more connections read, each from a consistent snapshot; they never
// wait for the writer, nor the writer for them.
//
// # What it promises
//
//  1. A commit that returned nil survives the death of the process, of the machine
//     and of the power supply, as far as the disk tells the truth (WAL,
//     synchronous=FULL).
//  2. Each call in a group succeeds or fails on its own.
//  3. A caller whose context ends does not wait any longer. If its call was still in
//     the queue, nothing is written, and the error is the context's. If the call was
//     already picked up, the error says that the outcome is unknown; making the same
//     commit again, with the same ID, settles it.
//  4. Close waits for what was accepted.
//  5. Errors are those of package checkpoint: ErrBusy when another process held the
//     file too long, ErrFull, ErrUnavailable, ErrUnsupported for a file that is not
//     ours or is newer than this package, ErrCorrupt when SQLite finds the file
//     damaged. Each names the file. A file that is not ours is never changed.
//  6. Doctor looks at the whole file and at what it lies on, and says what that costs.
//
// # What it does not do
//
// It does not detect changed bytes inside a value: SQLite has no checksums on pages,
// so that is the duty of the layer above. It must not be used on a network file
// system. A copy of a file in use needs its -wal file too; use the sqlite3 tool's
// .backup instead. Nothing else in the process may open and close the file, since
// with POSIX locks that takes SQLite's locks away.
//
// # Long-term memory
//
// [Store.Memory] is a memory.Store in the same file: items across threads, with search. Its
// tables, in memories.sql, are made when it is called first; to older programs they do not
// matter.
//
// # Layout
//
// A row of head is a chain of commits: a thread, a namespace, and the number and ID of
// the newest commit. All other tables name the chain by its small number, which is
// never used twice. A row of commits has the header, the labels and the references, a row
// of blobs one piece of a field, a row of pending one entry, and a row of threads the
// lease of a thread and when it ends. A thread that has ended is not there for anybody;
// its rows are removed a few at a time, by later writes. schema.sql and layout2.sql are the
// whole of it; application_id and user_version in the file's header say whose it is and
// which layout it has. A file of an older layout is brought up to date when it is opened.
package sqlite

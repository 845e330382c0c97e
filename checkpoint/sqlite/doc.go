// Package sqlite stores checkpoints in one file on this machine. Use it for a command line, a
// single server or a test that must outlive its process. It needs no server and no C compiler, and
// any number of processes may share the file.
//
//	store, err := sqlite.Open(ctx, "threads.db")
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//
// A [Store] is an open file. One goroutine, the writer, owns the only connection that writes. Calls
// that write wait in a queue. When the writer has the file's lock, it applies all queued calls in
// one transaction with one fsync (group commit). Other connections read, each from a consistent
// snapshot. Readers never wait for the writer, and the writer never waits for readers.
//
// # Guarantees
//
//  1. A commit that returned nil survives a crash of the process or the machine and a loss of
//     power, if the disk honours fsync (WAL, synchronous=FULL). With [SyncNormal] it survives a
//     crash of the process, and a loss of power can undo the last commits.
//  2. Each call in a group succeeds or fails on its own.
//  3. A call returns when its context ends. If it was still in the queue, nothing is written, and
//     the error is the context's. If the writer had already taken it, the error is
//     ErrUnknownOutcome. Repeat the same commit, with the same ID, to learn the outcome.
//  4. Close waits for the calls in the queue.
//  5. Errors are those of package checkpoint, and each names the file. ErrBusy means that another
//     process held the lock too long. ErrUnsupported means that another program, or a newer
//     version of this package, wrote the file. ErrCorrupt means that SQLite found damage. ErrFull
//     and ErrUnavailable have their usual meaning. A file of another program is never changed.
//  6. Doctor examines the whole file and its file system, and reports the consequences.
//
// # What it does not do
//
// It does not detect changed bytes inside a value: SQLite has no checksums on pages, so the layer
// above has to. Do not use it on a network file system. A copy of a file in use needs its -wal file
// too; use the sqlite3 tool's .backup instead. No other code in the process may open and close the
// file, since closing it releases SQLite's POSIX locks.
//
// # Long-term memory
//
// [Store.Memory] is a memory.Store in the same file: items across threads, with search. The first
// call creates its tables, which memories.sql defines. Older programs ignore them.
//
// # Layout
//
// A row of head is a chain of commits: a thread, a namespace, and the number and ID of the newest
// commit. All other tables name the chain by an integer that is never used twice:
//
//   - commits: the header, the labels and the references of a commit
//   - blobs: one chunk of a field
//   - pending: one pending entry
//   - threads: the lease of a thread and its expiry
//
// No call returns a thread that has expired; later writes remove its rows, a few at a time.
// schema.sql, layout2.sql and layout3.sql define the tables. The file's header has an
// application_id, which marks the file as Weft's, and its layout as user_version. Open upgrades an
// older layout.
package sqlite

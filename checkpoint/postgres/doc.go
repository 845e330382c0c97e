// Package postgres keeps checkpoints in PostgreSQL. It is the store for services that
// have a PostgreSQL already, that run on several machines, and that must not lose what
// was acknowledged.
//
//	store, err := postgres.Open(ctx, "postgres://weft@db.internal/weft", postgres.Config{})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//
// The nouns are few. A Store is a pool of connections and the name of a schema, which
// belongs to this package alone and which Open makes and brings up to date. Every write
// is one call of a function in that schema, every read one statement.
//
// # What it promises
//
//  1. A commit, a put, a load, a lease, a drop, a delete and a page of a listing are each
//     one round trip, whatever the outcome; on a new connection one more, the first time.
//  2. A commit that returned nil survives the death of the server and, as far as the disk
//     tells the truth, the loss of power, with PostgreSQL's own settings. Doctor says when
//     the server's settings are others.
//  3. A write is made once, however often a connection breaks: the store repeats the call,
//     and the commit's ID says whether it was done. Only when the server stays away for
//     longer than Config.RetryFor is the error an ErrUnknownOutcome; the same commit again
//     settles it.
//  4. After Acquire returned, no writer without the new fence writes to the thread, not
//     even one whose commit was under way. Leases and expiry go by the server's clock.
//  5. It keeps nothing in a session: no prepared statement, no setting, no lock beyond a
//     transaction. PgBouncer in transaction mode and poolers like it may stand before it.
//  6. What callers name (threads, namespaces, fields, labels) is always a parameter and
//     never a part of a statement.
//  7. Errors are those of package checkpoint: ErrFull when the disk is full, ErrBusy when
//     lock_timeout or statement_timeout struck, ErrUnavailable when the server cannot be
//     reached or refuses the role, each with what to do about it.
//
// # What it does not do
//
// It does not detect changed bytes inside a value, which is the duty of the layer above.
// It does not read from standbys, which may be behind. It does not gather the commits of
// several writers into one transaction: the server does the like with its log, and more
// brought nothing that could be measured. Tables are not partitioned, for a thread is
// never scanned and a schema a tenant does the same with less.
//
// # Long-term memory
//
// [Store.Memory] is a memory.Store in the same schema: items across threads, with search.
// Its table, in sql/memory.sql, is made when it is called first. A write to it takes a few
// round trips and an advisory lock of the namespace; promise 1 is about threads.
//
// # Layout
//
// threads has a row for each thread, with its lease and its end; a writer locks it first,
// shared. heads has a row for each chain of commits. commits, blobs and pending name the
// chain by a small number that is never used twice. sql/0001.sql is the whole of it, and
// the table layout says which of those files have been run. Function names end in the
// layout that brought them and stay, so that processes of two versions can share a schema.
package postgres

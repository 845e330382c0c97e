// Package postgres stores checkpoints in PostgreSQL. Use it for services that run on several
// machines, already have a PostgreSQL server, and must not lose acknowledged commits.
//
//	store, err := postgres.Open(ctx, "postgres://weft@db.internal/weft", postgres.Config{})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//
// A [Store] is a pool of connections and the name of a schema. The schema belongs to this package
// alone; Open creates and upgrades it. Every write is one call of a function in that schema, every
// read one statement.
//
// # Guarantees
//
//  1. A commit, a put, a load, a lease, a drop, a delete and a page of a listing are each
//     one round trip, whatever the outcome; on a new connection one more, the first time.
//  2. A commit that returned nil survives a crash of the server with PostgreSQL's default
//     settings. It also survives a loss of power, if the disk honours fsync. Doctor reports
//     settings that weaken this.
//  3. A write is made once, however often a connection breaks: the store repeats the call, and
//     finds a commit that was made by its ID. If the server is unreachable for longer than
//     Config.RetryFor, the error is ErrUnknownOutcome. Repeat the same commit to learn the
//     outcome.
//  4. After Acquire returned, no writer without the new fence writes to the thread, not
//     even one whose commit was under way. Leases and expiry go by the server's clock.
//  5. It keeps nothing in a session: no prepared statement, no setting, no lock beyond a
//     transaction. So PgBouncer in transaction mode and similar poolers work.
//  6. What callers name (threads, namespaces, fields, labels) is always a parameter and
//     never a part of a statement.
//  7. Errors are those of package checkpoint: ErrFull when the disk is full, ErrBusy when
//     lock_timeout or statement_timeout passed, ErrUnavailable when the server is
//     unreachable or refuses the role. Each text has an advice.
//
// # What it does not do
//
// It does not work with a default_transaction_isolation other than "read committed": Open and New
// return an ErrUnsupported. It does not detect changed bytes inside a value; the layer above does.
// It does not read from standbys, which may lag. It does not group the commits of several writers
// into one transaction: the server already groups writes to its log, and measurements showed no
// further gain. Tables are not partitioned, since no query scans a thread; use one schema for each
// tenant instead.
//
// # Long-term memory
//
// [Store.Memory] is a memory.Store in the same schema: items across threads, with search.
// The first call creates its table, which sql/memory.sql defines. A write to it takes several round
// trips and an advisory lock of the namespace; guarantee 1 covers threads only.
//
// # Layout
//
// threads has a row for each thread, with its lease and its expiry. A writer first takes a shared
// lock of that row. heads has a row for each chain of commits. commits, blobs and pending name the
// chain by an integer that is never used twice. The numbered files in sql define the tables, and
// the table layout has the number of the last one that ran. The name of a function ends in the
// layout that introduced it. Old functions stay, so processes of two versions can share a schema.
// Documents, events, blobs and memory have tables and functions of their own, which are not part of
// the layout. The first use of each creates what is missing.
package postgres

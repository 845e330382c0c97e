// Package redis keeps checkpoints in Redis: the store for several processes or
// machines that share threads. Redis from 6.2 on and Valkey will do, alone, as a Cluster or
// behind Sentinels; no modules, no KEYS, no SCAN.
//
//	store, err := redis.OpenURL(ctx, "redis://localhost:6379")
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//
// Or give Open a client of your own, of go-redis, with all its options:
//
//	store, err := redis.Open(client, redis.Config{Prefix: "billing"})
//
// The nouns are few. A thread is one key, a hash: whatever there is of it expires, moves,
// is evicted and is deleted at once, never in part. A call is one script on that key, and one
// round trip: a commit, a load with all blobs and entries, a put. A pipeline
// sends to one server; calls that come while its batches are under way share the next batch.
//
// # What it promises
//
//  1. A commit is whole or not at all, whatever dies when, and moves the head by
//     compare-and-set. A commit of usual size is one HSET.
//  2. How long an acknowledged commit lasts is up to the server. With appendfsync always it
//     survives a kill of the server; with everysec the last second or two may be lost,
//     and with a failover what the replica had not got. Then the thread is at an earlier
//     commit, whole, and a conflict names it. [Store.Doctor] reports the
//     settings of your server.
//  3. A reply that is lost is asked for again. A call knows its own work, so a commit is
//     made once however often the connection breaks, and is acknowledged even when others
//     have gone on since. What cannot be settled within Config.RetryFor is an
//     ErrUnknownOutcome; the same commit again settles it.
//  4. A caller whose context ends does not wait any longer, whether or not the client
//     honours contexts; the command ends on its own, within the client's timeouts.
//  5. Servers that load, change their master, or are cut off are waited for, for as long as
//     Config.RetryFor. What will not get better is an error at once: ErrFull for a server
//     without memory, ErrUnavailable for a wrong password, missing rights or a key that
//     belongs to another program.
//  6. Leases run by the server's clock. No order depends on any clock.
//  7. Ids may be any text: no id reaches another's key, and none is a pattern.
//
// # What it does not do
//
// It does not detect changed bytes inside a value; that is the duty of the layer above. It
// does not spread one thread over several nodes. A thread is one big key, which a cluster
// moves in one piece: prune threads that grow for ever. History filters labels in this
// process, page by page.
//
// The list of threads is an index beside them, and a hint: it is repaired when it is found to be
// wrong. In a cluster a thread and the index lie on different nodes. If the node of the index was
// down at a thread's first commit, the list may lack the thread until its 64th commit.
//
// # Long-term memory
//
// [Store.Memory] is a memory.Store under the same prefix: items across threads, with search.
// scripts/memory_common.lua describes the three keys of a namespace. [Store.Vectors] compares the
// vectors of a memory.Index by the vector sets of Redis 8, where the server has them.
//
// # Speed
//
// Measured over loopback with appendfsync everysec, a commit of 1.4 KB takes about 1.7 times as
// long as a SET of the same bytes. With 64 writers both have about the same throughput.
// BenchmarkCommitBesideSet measures both in turns. The ratio of a single writer needs a client
// that honours deadlines, as OpenURL makes it:
// ContextTimeoutEnabled and no retries of its own (MaxRetries -1).
//
// # Layout
//
// The key of a thread is the prefix and, in braces, its id. An id that is long or has special
// characters of Redis is replaced by a hash. scripts/common.lua lists the fields. The field @ has
// the layout's version and the whole id. The index is in sixteen sorted sets.
package redis

// Package journal stores the commits of one namespace of a thread, a chain, while a run owns the
// thread. It also stores pending writes: entries that are added to the newest commit.
//
// A [Journal] commits the state of its [Source], the run, when its [Durability] requires it. Tasks
// may put pending writes while a step runs; all earlier commits and writes are stored before them.
// A journal of a subgraph depends on that of its parent: before the subgraph commits, all commits
// of the parent are stored.
//
// A store may lose the newest commits that it had acknowledged: a server that was killed before its
// log was on the disk, a failover to a replica that lagged, an eviction. The run still has the
// whole state, so it does not fail: the journal stores the complete state and all pending writes
// after the last commit that is left, and goes on. That commit must be one of the run, or the one
// it started from; or no commit is left at all.
//
// A journal knows nothing of graphs, and calls no node. Of a user's code it calls the store, the
// observer, Keep, and what encodes the state.
package journal

// Package journal keeps one chain of a thread in its store while a run owns the thread: the commits
// of the chain and the pending writes, which are entries beside the newest commit.
//
// A [Journal] commits what its [Source], the run, has come to, as its [Durability] asks. Tasks may
// put pending writes while a step runs; everything that comes before them is stored first. A
// journal of a subgraph depends on that of its parent: what the parent has come to is stored before
// the subgraph's first commit.
//
// A store may lose the newest commits that it had acknowledged: a server that was killed before its
// log was on the disk, a failover to a replica that lagged, an eviction. The run still holds all of
// the state, so it does not fail: the journal stores the state whole, on top of what is left and
// with all that was pending, and goes on. What is left must be the run's own past, or nothing.
//
// A journal knows nothing of graphs and nodes. It runs no code of a user but the store's.
package journal

// Package checkpointtest tests a checkpoint.Store. Every rule of the port is a sub-test here, and
// runs may use a store that passes them all.
//
// A backend's whole test is one call, with a function that opens an empty store:
//
//	func TestStore(t *testing.T) {
//		checkpointtest.RunFull(t, func(t testing.TB) checkpoint.Store {
//			store, err := mystore.Open(t.TempDir())
//			if err != nil {
//				t.Fatal(err)
//			}
//			return underTest{store, clock}
//		})
//	}
//
// Run opens a store for each sub-test and closes it at its end. It judges leases, drops
// and expiry when the store has them, and notes with t.Log what is not offered; RunFull
// demands them. The rules about time need a store that is a [Clock], and those about
// damaged bytes one that is a [Damager] and a [Spoiler]: embed the store in a type of the
// test that is. RunDurable is for stores that outlive their process, Bench measures, and
// BenchBeside compares with a plain write of the same bytes. With -short, the rules Damage
// and PruneRules try fewer cases. With [Long] in the environment some rules take ten times
// as long.
//
// RunProcesses is for stores that many processes use at once: it starts the test's binary
// again, as a [Worker], lets eight of them race for a thread and kills them in the middle
// of calls; with [Soak] in the environment, 2,200 times:
//
//	func TestMain(m *testing.M) {
//		checkpointtest.Worker(openAddress)
//		os.Exit(m.Run())
//	}
//
//	func TestProcesses(t *testing.T) {
//		checkpointtest.RunProcesses(t, t.TempDir()+"/file", openAddress)
//	}
//
// A failure names the broken rule, what the store did and what it should have done. Run it under
// the race detector too: some rules are about slices that a store must not retain, and about use by
// many goroutines.
//
// The suite does not judge what a store cannot be asked through the port: whether a
// commit survives a loss of power, what a lost reply does. A backend tests that beside
// itself; checkpoint/sqlite and checkpoint/redis are examples.
//
// The suite tests itself: stores that are broken on purpose must be caught, each by
// the sub-test whose rule it breaks.
//
// # Conformance
//
// The 89 tests that other runtimes' stores are held to, by the number they have there, and
// the rules that hold a store to the same here.
//
//	put            1, 7-9    CommitThenLoad, Isolation, Namespaces
//	               2-4, 13   ChainValues, ChainVersions, LoadAtOlderCommits
//	               5, 17     not offered: a commit does not hold what a node has seen. It holds
//	                         what is due, and the state of joins: ChainRecord
//	               6, 16     ChainRecord, Labels
//	               10-11     History, LoadAtOlderCommits, Isolation
//	               12        ChainRecord; the parent is the commit before, or that of the record
//	               14-15     ChainVersions, CommitThenLoad
//	put_writes     18-24     Pending, PendingKeep, ChainRecord
//	               25        ChainRecord
//	               26-27     PendingBelongsToHead, Beside
//	get            28-30, 37 NotFound, ChainValues, CommitThenLoad
//	               31-33     CommitThenLoad, ChainRecord, Labels
//	               34        ChainRecord
//	               35-36     Pending, Isolation
//	list           38-41, 50 History, Isolation, Namespaces
//	               42-43     LabelsInHistory, ChainRecord
//	               44-46     History, HistoryWithGaps, HistoryByCursor
//	               47-48     LabelsInHistory
//	               49        History: only the head has pending entries
//	               51-53     LabelsInHistory, HostileLabels
//	delete         54-58     Delete, DeleteAllNamespaces
//	delete runs    59-65     DeleteRuns
//	copy           66-73     Copy, CopyBetweenStores, CopyRefuses
//	prune          74-81     Prune, PruneRules; 75 and 80 are a loop of the caller's
//	delta          82-84     ChainDelta, BaseAndChunks
//	               85-86, 89 ChainDelta
//	               87        MissingBlobIsDamage: a field without its base is damaged, not smaller
//	               88        ChainSeed
//
// Also taken over: a bad thread id is refused (BadThreadIDs), and a field that was not
// changed is read at the head and by number (LoadAtOlderCommits). That entries of one
// step are ordered by task is Pending.
//
// All other rules are our own.
package checkpointtest

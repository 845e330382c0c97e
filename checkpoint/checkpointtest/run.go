package checkpointtest

import (
	"testing"

	"github.com/weftrun/weft/checkpoint"
)

// Run tests a store. Each sub-test calls open for an empty store of its own, and closes that store
// at its end. A store need not be a checkpoint.Leaser, Dropper or Expirer: the rules about what it
// lacks are skipped, with a t.Log. Rules about time need a Clock, and rules about damage a Damager
// or a Spoiler.
func Run(t *testing.T, open func(t testing.TB) checkpoint.Store) { run(t, open, false) }

// RunFull is Run for a store that has all these interfaces. A missing one fails the test, except
// for Damager and Spoiler.
func RunFull(t *testing.T, open func(t testing.TB) checkpoint.Store) { run(t, open, true) }

func run(t *testing.T, open func(t testing.TB) checkpoint.Store, full bool) {
	for _, r := range allRules() {
		t.Run(r.name, func(t *testing.T) { r.judge(t, open, full) })
	}
}

// rule is a sub-test, which demands something of a store.
type rule struct {
	name  string
	check func(p *probe)
	needs []offer // the interfaces of the store that check uses
}

// allRules returns every rule, in the order in which they are judged.
func allRules() []rule {
	var all []rule
	for _, group := range [][]rule{
		commitRules, headRules, idRules, valueRules, pendingRules, listingRules, labelRules, deletionRules,
		leaseRules, dropRules, expiryRules, chainRules, mannerRules, randomRules,
	} {
		all = append(all, group...)
	}
	return all
}

var commitRules = []rule{
	{"CommitThenLoad", commitThenLoad, nil},
	{"LoadAtOlderCommits", loadAtOlderCommits, nil},
	{"BaseAndChunks", baseAndChunks, nil},
	{"SharedReferences", sharedReferences, nil},
	{"MissingBlobIsDamage", missingBlobIsDamage, nil},
	{"BlobsAreWrittenOnce", blobsAreWrittenOnce, nil},
	// Requirement: ErrNotFound of Put: there is no commit
	{"NotFound", notFound, nil},
}

var headRules = []rule{
	// Requirement: a commit is atomic and moves the head by compare-and-set
	// Requirement: ErrConflict: nothing was written
	{"StaleHead", staleHead, nil},
	// Requirement: the same commit twice is one commit, so a lost reply is safe to retry
	// Requirement: ErrUnknownOutcome: repeating the commit decides the outcome
	{"SameCommitTwice", sameCommitTwice, nil},
	{"Numbers", numbers, nil},
	{"NumbersAgain", numbersAgain, nil},
	// Requirement: ErrTooLarge, ErrRequest, ErrThreadID: the store was not called
	{"BadCommits", badCommits, nil},
	// Requirement: ErrConflict: nothing was written
	{"OneWinner", oneWinner, nil},
	// Requirement: a commit is atomic and moves the head by compare-and-set
	// Requirement: the same request for a lease twice is one lease
	// Requirement: ErrConflict: nothing was written
	{"Linearizable", linearizable, nil},
}

var idRules = []rule{
	{"Isolation", isolation, nil},
	// Requirement: hostile names
	{"HostileIDs", hostileIDs, nil},
	// Requirement: hostile names
	{"SimilarIDs", similarIDs, nil},
	// Requirement: hostile names
	// Requirement: ErrTooLarge, ErrRequest, ErrThreadID: the store was not called
	{"BadThreadIDs", badThreadIDs, nil},
}

var valueRules = []rule{
	{"EmptyValues", emptyValues, nil},
	{"EveryByte", everyByteEverywhere, nil},
	// Requirement: a state is huge
	{"BigValues", bigValues, nil},
	// Requirement: a state is huge
	{"ManyFields", manyFields, nil},
}

var pendingRules = []rule{
	// Requirement: ErrNotFound of Put: there is no commit
	{"Pending", pendingEntries, nil},
	{"PendingKeep", pendingKeep, nil},
	// Requirement: ErrConflict: nothing was written
	{"PendingBelongsToHead", pendingBelongsToHead, nil},
	{"PendingRaces", pendingRaces, nil},
	{"Beside", pendingOfCommit, nil},
	{"BesideIsAtomic", besideIsAtomic, nil},
}

var listingRules = []rule{
	{"History", historyOrder, nil},
	{"HistoryWithGaps", historyWithGaps, nil},
	{"HistoryWhileWriting", historyWhileWriting, nil},
	{"HistoryByCursor", historyByCursor, nil},
	{"LongHistory", longHistory, nil},
	{"Threads", threadsListing, nil},
	{"Namespaces", namespaces, nil},
}

var labelRules = []rule{
	{"Labels", labelsComeBack, nil},
	{"LabelsInHistory", labelsInHistory, nil},
	// Requirement: listings are searched by label
	{"LabelsInThreads", labelsInThreads, nil},
	// Requirement: listings are searched by label
	{"HostileLabels", hostileLabels, nil},
	// Requirement: ErrTooLarge, ErrRequest, ErrThreadID: the store was not called
	{"BadLabels", badLabels, nil},
}

var deletionRules = []rule{
	{"Delete", deletion, nil},
	{"DeleteAllNamespaces", deleteAllNamespaces, nil},
}

var leaseRules = []rule{
	{"Lease", leaseGrant, []offer{leases}},
	// Requirement: ErrOwned: the lease was not given
	{"LeaseBusy", leaseBusy, []offer{leases}},
	// Requirement: a lease is renewed by the store's clock and fences late writers
	{"LeaseRenew", leaseRenew, []offer{leases, clock}},
	// Requirement: clocks differ, or jump
	{"LeaseRunsOut", leaseRunsOut, []offer{leases, clock}},
	{"LeaseForCenturies", leaseForCenturies, []offer{leases, clock}},
	{"LeaseForce", leaseForce, []offer{leases}},
	// Requirement: ErrOwned: the lease was not given
	{"LeaseOver", leaseOver, []offer{leases}},
	// Requirement: the same request for a lease twice is one lease
	{"LeaseAgain", leaseAgain, []offer{leases}},
	// Requirement: the same request for a lease twice is one lease
	{"LeaseLog", leaseLog, []offer{leases}},
	{"LeaseRelease", leaseRelease, []offer{leases}},
	{"LeaseOfOneThread", leaseOfOneThread, []offer{leases}},
	{"LeaseIsNoThread", leaseIsNoThread, []offer{leases}},
	// Requirement: a lease is renewed by the store's clock and fences late writers
	// Requirement: ErrFenced: nothing was written
	{"FencedWritesNothing", fencedWritesNothing, []offer{leases}},
	// Requirement: ErrFenced: nothing was written
	{"FencedBeforeAll", fencedBeforeAll, []offer{leases}},
	// Requirement: ErrFenced: nothing was written
	{"FencedDrop", fencedDrop, []offer{leases, drops}},
	{"FencesStayInvalid", fencesStayInvalid, []offer{leases}},
	{"FencesAreNew", fencesAreNew, []offer{leases}},
	// Requirement: a lease is renewed by the store's clock and fences late writers
	// Requirement: two processes want one thread
	// Requirement: clocks differ, or jump
	// Requirement: ErrFenced: nothing was written
	{"LateWriter", lateWriter, []offer{leases, clock}},
	{"LeaseRace", leaseRace, []offer{leases}},
	// Requirement: ErrOwned: the lease was not given
	{"LeaseOverRace", leaseOverRace, []offer{leases}},
	{"LeasedWriters", leasedWriters, []offer{leases}},
	// Requirement: ErrTooLarge, ErrRequest, ErrThreadID: the store was not called
	{"BadLeases", badLeases, []offer{leases}},
}

var dropRules = []rule{
	// Requirement: old commits can be pruned without severing a chain
	{"Drop", dropCommits, []offer{drops}},
	{"DropBlobs", dropBlobs, []offer{drops}},
	// Requirement: ErrConflict: nothing was written
	{"DropIsBoundToTheHead", dropConflict, []offer{drops}},
	{"DropNeverTheHead", dropHead, []offer{drops}},
	{"DropWhatIsNotThere", dropNothing, []offer{drops}},
	{"DropNamespace", dropNamespace, []offer{drops}},
	// Requirement: pruning, copying or deleting during a commit
	{"DropWhileReading", dropWhileReading, []offer{drops}},
	// Requirement: old commits can be pruned without severing a chain
	// Requirement: pruning, copying or deleting during a commit
	{"DropRace", dropRace, []offer{drops}},
}

var expiryRules = []rule{
	// Requirement: clocks differ, or jump
	{"CommitTTL", commitTTL, []offer{clock}},
	{"LaterTTL", laterTTL, []offer{clock}},
	{"Expire", expire, []offer{expiry, clock}},
	{"ExpireNever", expireNever, []offer{expiry, clock}},
	{"ExpireInCenturies", expireInCenturies, []offer{expiry, clock}},
	{"ExpireUnknown", expireUnknown, []offer{expiry}},
	// Requirement: a thread can expire, as a whole
	// Requirement: a thread is evicted, or expires
	{"ExpiredIsWhollyGone", expiredIsGone, []offer{expiry, clock}},
	{"ExpiredStartsAnew", expiredStartsAnew, []offer{expiry, clock}},
	// Requirement: a thread is evicted, or expires
	{"ExpiredInListings", expiredInListings, []offer{expiry, clock}},
	{"ExpiredLease", expiredLease, []offer{expiry, clock, leases}},
	{"ExpireMany", expireMany, []offer{expiry, clock}},
}

var mannerRules = []rule{
	// Requirement: a context ends during a write
	// Requirement: the error of a context alone: nothing was written
	{"CancelledContext", cancelledContext, nil},
	{"SlicesAreNotShared", slicesAreNotShared, nil},
	{"ConcurrentUse", concurrentUse, nil},
	{"AfterClose", afterClose, nil},
}

var randomRules = []rule{
	// Requirement: old commits can be pruned without severing a chain
	// Requirement: pruning, copying or deleting during a commit
	{"Model", likeTheModel, nil},
}

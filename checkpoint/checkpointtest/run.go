package checkpointtest

import (
	"testing"

	"github.com/weftrun/weft/checkpoint"
)

// Run judges a store. Each sub-test calls open for an empty store of its own and
// closes it; open need not. What a store may leave out (checkpoint.Leaser, Dropper and
// Expirer) is judged when it is there, and else noted with t.Log. Rules about time
// need a Clock, rules about damage a Damager or a Spoiler.
func Run(t *testing.T, open func(t testing.TB) checkpoint.Store) { run(t, open, false) }

// RunFull is Run for a store that leaves nothing out: what is missing fails the test.
// Only a Damager and a Spoiler may be missing.
func RunFull(t *testing.T, open func(t testing.TB) checkpoint.Store) { run(t, open, true) }

func run(t *testing.T, open func(t testing.TB) checkpoint.Store, full bool) {
	for _, r := range allRules() {
		t.Run(r.name, func(t *testing.T) { r.judge(t, open, full) })
	}
}

// rule is a group of demands on a store.
type rule struct {
	name  string
	check func(p *probe)
	needs []offer
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
	{"NotFound", notFound, nil},
}

var headRules = []rule{
	{"StaleHead", staleHead, nil},
	{"SameCommitTwice", sameCommitTwice, nil},
	{"Numbers", numbers, nil},
	{"NumbersAgain", numbersAgain, nil},
	{"BadCommits", badCommits, nil},
	{"OneWinner", oneWinner, nil},
	{"Linearizable", linearizable, nil},
}

var idRules = []rule{
	{"Isolation", isolation, nil},
	{"HostileIDs", hostileIDs, nil},
	{"SimilarIDs", similarIDs, nil},
	{"BadThreadIDs", badThreadIDs, nil},
}

var valueRules = []rule{
	{"EmptyValues", emptyValues, nil},
	{"EveryByte", everyByteEverywhere, nil},
	{"BigValues", bigValues, nil},
	{"ManyFields", manyFields, nil},
}

var pendingRules = []rule{
	{"Pending", pendingEntries, nil},
	{"PendingKeep", pendingKeep, nil},
	{"PendingBelongsToHead", pendingBelongsToHead, nil},
	{"PendingRaces", pendingRaces, nil},
	{"Beside", besideTheHead, nil},
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
	{"LabelsInThreads", labelsInThreads, nil},
	{"HostileLabels", hostileLabels, nil},
	{"BadLabels", badLabels, nil},
}

var deletionRules = []rule{
	{"Delete", deletion, nil},
	{"DeleteAllNamespaces", deleteAllNamespaces, nil},
}

var leaseRules = []rule{
	{"Lease", leaseGrant, []offer{leases}},
	{"LeaseBusy", leaseBusy, []offer{leases}},
	{"LeaseRenew", leaseRenew, []offer{leases, clock}},
	{"LeaseRunsOut", leaseRunsOut, []offer{leases, clock}},
	{"LeaseForce", leaseForce, []offer{leases}},
	{"LeaseOver", leaseOver, []offer{leases}},
	{"LeaseAgain", leaseAgain, []offer{leases}},
	{"LeaseLog", leaseLog, []offer{leases}},
	{"LeaseRelease", leaseRelease, []offer{leases}},
	{"LeaseOfOneThread", leaseOfOneThread, []offer{leases}},
	{"LeaseIsNoThread", leaseIsNoThread, []offer{leases}},
	{"FencedWritesNothing", fencedWritesNothing, []offer{leases}},
	{"FencedBeforeAll", fencedBeforeAll, []offer{leases}},
	{"FencedDrop", fencedDrop, []offer{leases, drops}},
	{"FencesStaySpent", fencesStaySpent, []offer{leases}},
	{"FencesAreNew", fencesAreNew, []offer{leases}},
	{"LateWriter", lateWriter, []offer{leases, clock}},
	{"LeaseRace", leaseRace, []offer{leases}},
	{"LeaseOverRace", leaseOverRace, []offer{leases}},
	{"LeasedWriters", leasedWriters, []offer{leases}},
	{"BadLeases", badLeases, []offer{leases}},
}

var dropRules = []rule{
	{"Drop", dropCommits, []offer{drops}},
	{"DropBlobs", dropBlobs, []offer{drops}},
	{"DropIsBoundToTheHead", dropConflict, []offer{drops}},
	{"DropNeverTheHead", dropHead, []offer{drops}},
	{"DropWhatIsNotThere", dropNothing, []offer{drops}},
	{"DropNamespace", dropNamespace, []offer{drops}},
	{"DropWhileReading", dropWhileReading, []offer{drops}},
	{"DropRace", dropRace, []offer{drops}},
}

var expiryRules = []rule{
	{"CommitTTL", commitTTL, []offer{clock}},
	{"LaterTTL", laterTTL, []offer{clock}},
	{"Expire", expire, []offer{expiry, clock}},
	{"ExpireNever", expireNever, []offer{expiry, clock}},
	{"ExpireUnknown", expireUnknown, []offer{expiry}},
	{"ExpiredIsWhollyGone", expiredIsGone, []offer{expiry, clock}},
	{"ExpiredStartsAnew", expiredStartsAnew, []offer{expiry, clock}},
	{"ExpiredInListings", expiredInListings, []offer{expiry, clock}},
	{"ExpiredLease", expiredLease, []offer{expiry, clock, leases}},
	{"ExpireMany", expireMany, []offer{expiry, clock}},
}

var mannerRules = []rule{
	{"CancelledContext", cancelledContext, nil},
	{"SlicesAreNotShared", slicesAreNotShared, nil},
	{"ConcurrentUse", concurrentUse, nil},
	{"AfterClose", afterClose, nil},
}

var randomRules = []rule{
	{"Model", likeTheModel, nil},
}

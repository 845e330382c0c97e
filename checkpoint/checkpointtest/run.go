package checkpointtest

import (
	"testing"

	"github.com/weftrun/weft/checkpoint"
)

// Run judges a store. Each sub-test calls open for an empty store of its own and
// closes it; open need not.
func Run(t *testing.T, open func(t testing.TB) checkpoint.Store) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) { r.judge(t, open) })
	}
}

// rule is a group of demands on a store.
type rule struct {
	name  string
	check func(p *probe)
}

var rules = []rule{
	{"CommitThenLoad", commitThenLoad},
	{"LoadAtOlderCommits", loadAtOlderCommits},
	{"BaseAndChunks", baseAndChunks},
	{"MissingBlobIsDamage", missingBlobIsDamage},
	{"NotFound", notFound},
	{"StaleHead", staleHead},
	{"SameCommitTwice", sameCommitTwice},
	{"OneWinner", oneWinner},
	{"Isolation", isolation},
	{"HostileIDs", hostileIDs},
	{"BadThreadIDs", badThreadIDs},
	{"Pending", pendingEntries},
	{"PendingKeep", pendingKeep},
	{"PendingBelongsToHead", pendingBelongsToHead},
	{"History", historyOrder},
	{"HistoryWhileWriting", historyWhileWriting},
	{"Threads", threadsListing},
	{"Delete", deletion},
	{"CancelledContext", cancelledContext},
	{"SlicesAreNotShared", slicesAreNotShared},
	{"ConcurrentUse", concurrentUse},
	{"AfterClose", afterClose},
	{"Model", likeTheModel},
}

// judge runs one rule on a fresh store.
func (r rule) judge(t testing.TB, open func(t testing.TB) checkpoint.Store) {
	s := open(t)
	defer s.Close()
	r.check(&probe{TB: t, store: s})
}

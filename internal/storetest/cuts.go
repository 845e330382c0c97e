package storetest

import (
	"path"
	"slices"
	"testing"
)

// rulesOfCuts are the rules of checkpointtest to which a lost request or reply can do most: many
// writers race, or one write must be made exactly once.
var rulesOfCuts = []string{
	"CommitThenLoad", "SameCommitTwice", "OneWinner", "Linearizable", "Pending", "PendingRaces", "BesideIsAtomic", "HistoryWhileWriting",
	"Lease", "LeaseAgain", "FencedWritesNothing", "LateWriter", "LeaseRace", "DropRace", "Expire", "PruneWhileWriting", "ConcurrentUse", "Model",
}

// SkipMostRules skips the sub-test of a rule of checkpointtest with -short, unless a cut connection
// can do much to it. The function that opens a store calls it.
func SkipMostRules(t testing.TB) {
	t.Helper()
	if testing.Short() && !slices.Contains(rulesOfCuts, path.Base(t.Name())) {
		t.Skip("with -short, connections are cut in other rules alone")
	}
}

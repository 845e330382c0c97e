package memorytest

import (
	"slices"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/internal/testreport"
)

// Long is the environment variable that makes the rules about paging take ten times as many items.
const Long = "WEFT_LONG"

// Clock is a store under test whose time the test can move. A store that reads the clock of this
// process is opened with a clock of the test. One that reads the clock of a server moves the times
// that it has stored.
type Clock interface {
	// Advance lets d pass, by the store's clock.
	Advance(d time.Duration)
}

// Run tests a store. Each sub-test calls open for an empty store of its own.
func Run(t *testing.T, open func(t testing.TB) memory.Store) { run(t, open, false) }

// RunFull is Run for a store that must be a Clock.
func RunFull(t *testing.T, open func(t testing.TB) memory.Store) { run(t, open, true) }

func run(t *testing.T, open func(t testing.TB) memory.Store, full bool) {
	for _, r := range allRules() {
		t.Run(r.name, func(t *testing.T) { r.judge(t, open, full) })
	}
}

// rule is a sub-test, which demands something of a store.
type rule struct {
	name  string
	check func(p *probe)
}

func allRules() []rule {
	return slices.Concat(itemRules, casRules, batchRules, nameRules, filterRules, textRules, searchRules, listingRules, timeRules, mannerRules)
}

// judge runs one rule on a fresh store. full demands a Clock where the rule is about time.
func (r rule) judge(t testing.TB, open func(t testing.TB) memory.Store, full bool) {
	s := open(t)
	timed := slices.ContainsFunc(timeRules, func(o rule) bool { return o.name == r.name })
	if _, ok := s.(Clock); timed && !ok {
		if full {
			t.Error("rule: a full store is a Clock\n got: one that is none")
		}
		t.Log("not offered: memorytest.Clock")
		return
	}
	r.check(&probe{Probe: testreport.Probe{TB: t}, store: s})
}

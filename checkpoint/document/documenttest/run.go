package documenttest

import (
	"slices"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/testreport"
)

// Run judges a store. Each sub-test calls open for an empty store of its own.
func Run(t *testing.T, open func(t testing.TB) document.Store) {
	for _, r := range allRules() {
		t.Run(r.name, func(t *testing.T) { r.check(&probe{Probe: testreport.Probe{TB: t}, store: open(t)}) })
	}
}

// rule is a group of demands on a store.
type rule struct {
	name  string
	check func(p *probe)
}

func allRules() []rule { return slices.Concat(documentRules, queryRules, orderRules, raceRules) }

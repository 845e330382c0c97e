package threadtest

import (
	"slices"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/complaints"
)

// Run runs every row on a store of its own, for which it calls open.
func Run(t *testing.T, open func(t testing.TB) document.Store) {
	for _, r := range allRows() {
		t.Run(r.name, func(t *testing.T) { Row(t, r.name, open(t)) })
	}
}

// Row runs the row of a name, like SM08, on an empty store.
func Row(t testing.TB, name string, docs document.Store) {
	t.Helper()
	i := slices.IndexFunc(allRows(), func(r row) bool { return r.name == name })
	if i < 0 {
		t.Fatalf("there is no row %s", name)
	}
	allRows()[i].check(&probe{Probe: complaints.Probe{TB: t}, docs: &spy{Store: docs}})
}

// Names returns the names of all rows.
func Names() (names []string) {
	for _, r := range allRows() {
		names = append(names, r.name)
	}
	return names
}

// row is one thing that is demanded.
type row struct {
	name  string
	check func(p *probe)
}

func allRows() []row {
	return slices.Concat(loadRows, configRows, stateRows, saveRows, toolRows, agentRows)
}

package studio

import (
	"maps"
	"testing"

	"github.com/weftrun/weft/graph"
)

func TestLeftAt_EndsRunsThatAnotherBranchLeft(t *testing.T) {
	commit := func(n uint64, run string, step int, parent uint64) graph.CommitInfo {
		return graph.CommitInfo{Checkpoint: n, Run: run, Step: step, Parent: parent}
	}
	for name, c := range map[string]struct {
		turn []graph.CommitInfo
		want map[string]int
	}{
		"no branch":            {[]graph.CommitInfo{commit(3, "b", 2, 0), commit(2, "a", 1, 0), commit(1, "a", 0, 0)}, map[string]int{}},
		"a branch of 2":        {[]graph.CommitInfo{commit(6, "b", 3, 0), commit(5, "b", 2, 2), commit(2, "a", 1, 0), commit(1, "a", 0, 0)}, map[string]int{"a": 1}},
		"a branch of a branch": {[]graph.CommitInfo{commit(7, "c", 3, 5), commit(5, "b", 2, 2), commit(2, "a", 1, 0)}, map[string]int{"a": 1, "b": 2}},
		"begun in a part of the turn that is not read": {[]graph.CommitInfo{commit(6, "b", 3, 0), commit(5, "b", 2, 2)}, map[string]int{}},
		"no commits": {nil, map[string]int{}},
	} {
		if got := leftAt(c.turn); !maps.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

package graph

import "testing"

// A search that looks at every node again after each change takes hours on this chain, whose nodes
// are numbered towards End. The linear one takes a fraction of a second.
func TestCheckEnds_VisitsEachEdgeOnce(t *testing.T) {
	const nodes = 1_000_000
	ahead := make([][]int, nodes)
	for i := range ahead {
		ahead[i] = []int{i + 1}
	}
	ahead[nodes-1] = []int{end}
	c := &compiler{draft: &draft{}}
	c.checkEnds(ahead)
	if len(c.mistakes) > 0 {
		t.Errorf("a chain that leads to End has %d mistakes, such as %q", len(c.mistakes), c.mistakes[0].What)
	}
}

func TestCheckEnds_NamesEachDeadEnd(t *testing.T) {
	// 0 → 1 → End, 2 → 3 → 2, 4 leads nowhere.
	c := &compiler{draft: &draft{}, places: make([]string, 5)}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		c.p.nodes = append(c.p.nodes, node{name: name})
	}
	c.checkEnds([][]int{{1}, {end}, {3}, {2}, nil})
	want := []string{
		`node "c" is a dead end: no path from it leads to End`,
		`node "d" is a dead end: no path from it leads to End`,
		`node "e" is a dead end: nothing follows it; add an edge to End`,
	}
	if len(c.mistakes) != len(want) {
		t.Fatalf("mistakes are %v, want %q", c.mistakes, want)
	}
	for i, m := range c.mistakes {
		if m.What != want[i] {
			t.Errorf("mistake %d is %q, want %q", i, m.What, want[i])
		}
	}
}

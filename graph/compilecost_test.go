package graph

import (
	"context"
	"runtime"
	"strconv"
	"testing"

	"github.com/weftrun/weft/state"
)

// A chain of twice the nodes takes about twice the allocations and bytes to compile.
func TestCompile_AllocationsGrowWithTheNodes(t *testing.T) {
	type counted struct{ N state.Sum[int] }
	pass := Func(func(context.Context, *counted) error { return nil })
	allocated := func(nodes int) (allocations, bytes uint64) {
		b := New[counted]("chain")
		from := Start
		for i := range nodes {
			name := "n" + strconv.Itoa(i)
			b.Node(name, pass)
			b.Edge(from, name)
			from = name
		}
		b.Edge(from, End)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := b.Compile(Config{})
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		return after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc
	}
	few, fewBytes := allocated(10_000)
	many, manyBytes := allocated(20_000)
	if 2*many > 5*few {
		t.Errorf("20,000 nodes take %d allocations, 10,000 nodes %d: want 2.5 times as many at most", many, few)
	}
	if 2*manyBytes > 5*fewBytes {
		t.Errorf("20,000 nodes take %d bytes, 10,000 nodes %d: want 2.5 times as many at most", manyBytes, fewBytes)
	}
}

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
	c := &compiler{draft: &draft{}, places: make([]place, 5)}
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

package picture_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/picture"
)

// turnedRound returns the share of the pairs of boxes in both layouts that have changed places: one
// was above the other and is now below it. Or one was left of the other by half a box and is now
// right of it by as much.
func turnedRound(before, after *picture.Layout) float64 {
	const half = 46
	type place struct{ row, x int }
	places := map[string]place{}
	for _, b := range after.Boxes {
		places[b.ID] = place{b.Y + b.H/2, b.X + b.W/2}
	}
	pairs, turned := 0, 0
	for i, a := range before.Boxes {
		for _, b := range before.Boxes[i+1:] {
			na, ok1 := places[a.ID]
			nb, ok2 := places[b.ID]
			if !ok1 || !ok2 {
				continue
			}
			pairs++
			above, nowAbove := (a.Y+a.H/2)-(b.Y+b.H/2), na.row-nb.row
			left, nowLeft := (a.X+a.W/2)-(b.X+b.W/2), na.x-nb.x
			if above*nowAbove < 0 || min(left, -nowLeft) > half || min(-left, nowLeft) > half {
				turned++
			}
		}
	}
	return float64(turned) / float64(max(pairs, 1))
}

// plausible returns a random graph as programs have them: a tree with some edges more, and some
// loops.
func plausible(r *rand.Rand, n int) graph.Drawing {
	edges := []string{"start>n00"}
	name := func(i int) string { return fmt.Sprintf("n%02d", i) }
	for i := 1; i < n; i++ {
		edges = append(edges, name(max(0, i-1-r.IntN(4)))+">"+name(i))
	}
	for range n / 3 {
		a := r.IntN(n - 1)
		b := min(n-1, a+1+r.IntN(5))
		edges = append(edges, name(a)+"?"+name(b))
		if r.IntN(2) == 0 {
			edges = append(edges, name(b)+"?"+name(a))
		}
	}
	return draw("plausible", append(edges, name(n-1)+">end")...)
}

func TestLayout_StableWhenANodeIsAdded(t *testing.T) {
	const graphs, most, mean = 300, 0.4, 0.02
	r := rand.New(rand.NewPCG(1, 2))
	sum, worst := 0.0, 0.0
	for range graphs {
		d := plausible(r, 8+r.IntN(30))
		before := picture.New(d)
		more := d
		e := d.Edges[1+r.IntN(len(d.Edges)-1)]
		more.Nodes = append(d.Nodes[:len(d.Nodes)-1:len(d.Nodes)-1], graph.DrawnNode{ID: "new", Name: "new", Kind: "node"}, d.Nodes[len(d.Nodes)-1])
		more.Edges = append(d.Edges[:len(d.Edges):len(d.Edges)], graph.DrawnEdge{From: e.From, To: "new", Kind: "edge"})
		if r.IntN(2) == 0 {
			more.Edges = append(more.Edges, graph.DrawnEdge{From: "new", To: "end", Kind: "edge"})
		}
		share := turnedRound(before, picture.New(more))
		sum, worst = sum+share, max(worst, share)
	}
	if sum/graphs > mean || worst > most {
		t.Errorf("a new node turns round %.2f %% of the pairs on average and %.1f %% at most, want at most %.0f %% and %.0f %%",
			100*sum/graphs, 100*worst, 100*mean, 100*most)
	}
}

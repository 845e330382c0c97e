package picture

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weftrun/weft/graph"
)

// sketch is one graph before its rows are known.
type sketch struct {
	nodes []*graph.DrawnNode
	sizes []size
	links []link   // edges between two nodes
	self  [][]link // of each node, edges to itself
	items []item
	of    []int // the item of each node
	arcs  []arc
}

// link is an edge. It leads downwards: reversed is true if the edge itself leads upwards.
type link struct {
	edge     *graph.DrawnEdge
	n        int // in the drawing
	from, to int
	reversed bool
}

// item is what has a place in a row: a node, or a grid of nodes.
type item struct {
	nodes []int
	rank  int
	grid  *grid
}

// arc is an edge between two items, or the edges of a grid to or from one node.
type arc struct {
	links    []int
	from, to int // items
	slot     int // in the grid at one of its ends
}

func newSketch(d *graph.Drawing) *sketch {
	s := &sketch{}
	index := map[string]int{}
	for i := range d.Nodes {
		if _, twice := index[d.Nodes[i].ID]; !twice {
			index[d.Nodes[i].ID] = len(s.nodes)
			s.nodes = append(s.nodes, &d.Nodes[i])
		}
	}
	s.sizes = make([]size, len(s.nodes))
	s.self = make([][]link, len(s.nodes))
	for i := range d.Edges {
		e := &d.Edges[i]
		from, ok1 := index[e.From]
		to, ok2 := index[e.To]
		switch {
		case !ok1 || !ok2:
		case from == to:
			s.self[from] = append(s.self[from], link{edge: e, n: i, from: from, to: to})
		default:
			s.links = append(s.links, link{edge: e, n: i, from: from, to: to})
		}
	}
	return s
}

// acyclic reverses the edges that lead back, as a depth-first search from the start finds them.
func (s *sketch) acyclic() {
	out := make([][]int, len(s.nodes))
	for i, l := range s.links {
		out[l.from] = append(out[l.from], i)
	}
	const active, done = 1, 2
	state := make([]int, len(s.nodes))
	var visit func(int)
	visit = func(n int) {
		state[n] = active
		for _, i := range out[n] {
			l := &s.links[i]
			switch state[l.to] {
			case active:
				l.reversed = true
			case 0:
				visit(l.to)
			}
		}
		state[n] = done
	}
	for _, kind := range []string{"start", ""} {
		for n := range s.nodes {
			if state[n] == 0 && (kind == "" || s.nodes[n].Kind == kind) {
				visit(n)
			}
		}
	}
	for i := range s.links {
		if l := &s.links[i]; l.reversed {
			l.from, l.to = l.to, l.from
		}
	}
}

// minGrid is how many nodes with the same neighbours are placed as a grid.
const minGrid = 10

// maxGridEdges is how many edges each node of a grid has at most, on one side.
const maxGridEdges = 3

// group makes the items and the arcs between them.
func (s *sketch) group() {
	ins, outs := make([][]int, len(s.nodes)), make([][]int, len(s.nodes))
	for i, l := range s.links {
		ins[l.to] = append(ins[l.to], i)
		outs[l.from] = append(outs[l.from], i)
	}
	alike := map[string][]int{}
	keys := make([]string, len(s.nodes))
	for n := range s.nodes {
		keys[n] = s.neighbours(n, ins[n], outs[n])
		alike[keys[n]] = append(alike[keys[n]], n)
	}
	s.of = make([]int, len(s.nodes))
	for n := range s.nodes {
		members := alike[keys[n]]
		switch {
		case keys[n] == "" || len(members) < minGrid:
			members = []int{n}
		case members[0] != n:
			continue
		}
		for _, m := range members {
			s.of[m] = len(s.items)
		}
		s.items = append(s.items, item{nodes: members})
	}
	arcs := map[string]int{}
	for i, l := range s.links {
		a := arc{links: []int{i}, from: s.of[l.from], to: s.of[l.to]}
		in, out := len(s.items[a.to].nodes) > 1, len(s.items[a.from].nodes) > 1
		if in || out {
			key := fmt.Sprint(a.from, a.to, in, l.edge.Kind, l.reversed)
			if known, ok := arcs[key]; ok {
				s.arcs[known].links = append(s.arcs[known].links, i)
				continue
			}
			arcs[key] = len(s.arcs)
		}
		s.arcs = append(s.arcs, a)
	}
	for i := range s.items {
		if it := &s.items[i]; len(it.nodes) > 1 {
			it.grid = s.newGrid(i)
		}
	}
}

// neighbours returns the same text for nodes that may form a grid, or "".
func (s *sketch) neighbours(n int, ins, outs []int) string {
	node := s.nodes[n]
	if node.Kind == "start" || node.Kind == "end" || node.Inside != nil || len(s.self[n]) > 0 ||
		len(ins) == 0 || len(ins) > maxGridEdges || len(outs) > maxGridEdges {
		return ""
	}
	for _, side := range [][]int{ins, outs} {
		if len(side) > 1 && slices.ContainsFunc(side, func(i int) bool { return labelOf(s.links[i].edge) > 0 }) {
			return "" // labels need more room than a grid has
		}
	}
	var parts []string
	for _, i := range ins {
		l := s.links[i]
		parts = append(parts, fmt.Sprint("<", l.from, l.edge.Kind, l.reversed))
	}
	for _, i := range outs {
		l := s.links[i]
		parts = append(parts, fmt.Sprint(">", l.to, l.edge.Kind, l.reversed))
	}
	slices.Sort(parts)
	if len(slices.Compact(slices.Clone(parts))) < len(parts) {
		return ""
	}
	return strings.Join(parts, "|")
}

// rank gives each item its rank: the longest path from the start, and then as far down as its
// targets allow if it has more of them than sources.
func (s *sketch) rank() {
	ins, outs := make([][]int, len(s.items)), make([][]int, len(s.items))
	for i, a := range s.arcs {
		ins[a.to] = append(ins[a.to], i)
		outs[a.from] = append(outs[a.from], i)
	}
	left := make([]int, len(s.items))
	var sorted []int
	for i := range s.items {
		if left[i] = len(ins[i]); left[i] == 0 {
			sorted = append(sorted, i)
		}
	}
	for at := 0; at < len(sorted); at++ {
		i := sorted[at]
		for _, a := range outs[i] {
			to := s.arcs[a].to
			s.items[to].rank = max(s.items[to].rank, s.items[i].rank+1)
			if left[to]--; left[to] == 0 {
				sorted = append(sorted, to)
			}
		}
	}
	deepest := 0
	for i := range s.items {
		deepest = max(deepest, s.items[i].rank)
	}
	for _, i := range slices.Backward(sorted) {
		it := &s.items[i]
		kind := s.nodes[it.nodes[0]].Kind
		switch {
		case kind == "end" && len(ins[i]) > 0:
			it.rank = deepest
		case kind != "start" && len(outs[i]) > len(ins[i]):
			nearest := s.arcs[slices.MinFunc(outs[i], func(a, b int) int {
				return cmp.Compare(s.items[s.arcs[a].to].rank, s.items[s.arcs[b].to].rank)
			})].to
			it.rank = s.items[nearest].rank - 1
		}
	}
}

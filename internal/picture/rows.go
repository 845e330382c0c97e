package picture

import "github.com/weftrun/weft/graph"

// rows is a sketch whose items are in rows, with a bend in each row that an edge passes.
type rows struct {
	*sketch
	verts []vertex
	segs  []seg
	rows  [][]int // vertices, from left to right
	ways  [][]int // the vertices of each arc, downwards
	tops  []int   // of the rows
	hs    []int   // heights of the rows
}

// vertex is something with a place in a row: an item, or a bend of an arc.
type vertex struct {
	item        int // -1 for a bend
	row, pos    int
	left, right int // how far it reaches from x
	above       int // room over the box for a bar
	h           int
	x           int
	up, down    []int // segments
}

// seg is the part of an arc between two rows.
type seg struct {
	from, to int
	long     bool // its edge is reversed or over several ranks
	crooked  bool // it crosses a long edge, so it is not used to align columns
	minor    bool // other segments at its item are used to align columns
}

// countRoom is the widest number at a label.
const countRoom = " ×888"

// labelOf returns how much room the label of an edge needs; 0 means that it never has one.
func labelOf(e *graph.DrawnEdge) int {
	switch e.Kind {
	case "edge", "join":
		return 0
	case "choice":
		if e.Label == "" {
			return labelWidth
		}
		return max(labelWidth, textWidth(cut(clean(e.Label), subSize, maxLabel), subSize)+textWidth(countRoom, subSize)+6)
	}
	return textWidth("error ×88", subSize) + 6 // the way of an error handler
}

// stack puts the items in rows.
func (s *sketch) stack() *rows {
	r := &rows{sketch: s}
	deepest := 0
	for i := range s.items {
		deepest = max(deepest, s.items[i].rank)
	}
	// A rank is followed by a row of labels if edges that leave it have some.
	labels := make([]int, len(s.arcs)) // the rank before the label, or -1
	labelled := make([]bool, deepest+1)
	for i, a := range s.arcs {
		labels[i] = -1
		if s.items[a.from].grid != nil || s.items[a.to].grid != nil {
			continue
		}
		if l := s.links[a.links[0]]; labelOf(l.edge) > 0 {
			if labels[i] = s.items[a.from].rank; l.reversed {
				labels[i] = s.items[a.to].rank - 1
			}
			labelled[labels[i]] = true
		}
	}
	rowOf, count := make([]int, deepest+1), 0
	for rank := range rowOf {
		rowOf[rank] = count
		if count++; labelled[rank] {
			count++
		}
	}
	r.rows = make([][]int, count)
	for i := range s.items {
		v := s.vertexOf(i)
		v.row = rowOf[s.items[i].rank]
		r.verts = append(r.verts, v)
	}
	r.ways = make([][]int, len(s.arcs))
	for _, reversed := range []bool{false, true} { // back edges come last, so that they are at the side
		for i, a := range s.arcs {
			if s.links[a.links[0]].reversed == reversed {
				r.ways[i] = r.thread(a, rowOf, labels[i])
			}
		}
	}
	return r
}

// thread makes the bends and the segments of an arc.
func (r *rows) thread(a arc, rowOf []int, label int) (way []int) {
	way = append(way, a.from)
	for row := r.verts[a.from].row + 1; row < r.verts[a.to].row; row++ {
		bend := vertex{item: -1, row: row, left: 1, right: 1}
		if label >= 0 && row == rowOf[label]+1 {
			w := labelOf(r.links[a.links[0]].edge)
			bend.left, bend.right, bend.h = w/2, w-w/2, labelHeight
		}
		way = append(way, len(r.verts))
		r.verts = append(r.verts, bend)
	}
	way = append(way, a.to)
	long := r.links[a.links[0]].reversed || r.items[a.to].rank-r.items[a.from].rank > 1
	for i := range len(way) - 1 {
		n := len(r.segs)
		r.segs = append(r.segs, seg{from: way[i], to: way[i+1], long: long})
		r.verts[way[i]].down = append(r.verts[way[i]].down, n)
		r.verts[way[i+1]].up = append(r.verts[way[i+1]].up, n)
	}
	return way
}

// vertexOf returns the vertex of an item, without its row.
func (s *sketch) vertexOf(i int) vertex {
	it := &s.items[i]
	v := vertex{item: i}
	if it.grid != nil {
		v.left, v.right, v.h = it.grid.size.w/2, it.grid.size.w-it.grid.size.w/2, it.grid.size.h
		return v
	}
	n := it.nodes[0]
	ins, outs, below := 0, 0, 0
	for _, a := range s.arcs {
		l := s.links[a.links[0]]
		switch {
		case a.to == i:
			ins++
		case a.from == i:
			outs++
		}
		if l.edge.Kind == "join" && a.to == i && !l.reversed {
			v.above = barRoom
		}
		if l.edge.Kind == "join" && a.from == i && l.reversed {
			below = barRoom
		}
	}
	box := &s.sizes[n]
	box.w = max(box.w, min(2*portInset+(max(ins, outs)-1)*portGap, 320)+1) / 2 * 2
	box.h = max(box.h, 20*len(s.self[n]))
	v.left, v.right, v.h = box.w/2, box.w/2, v.above+box.h+below
	if len(s.self[n]) > 0 {
		label := 0
		for _, l := range s.self[n] {
			label = max(label, labelOf(l.edge))
		}
		v.right += loopWidth + label
	}
	return v
}

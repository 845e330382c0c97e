package picture

import (
	"cmp"
	"slices"
)

// portInset is how far from the corners of a box the outer edges begin and end.
const portInset = 14

// Gaps between rows.
const (
	rowSpace    = 40
	labelSpace  = 14 // above and below a row of labels
	maxExtra    = 70 // for edges that go far to a side
	extraFactor = 9  // one pixel for so many that an edge goes to a side
)

// heights gives each row its height and its place.
func (r *rows) heights() {
	r.tops, r.hs = make([]int, len(r.rows)), make([]int, len(r.rows))
	y := 0
	for row, vs := range r.rows {
		label, wide := true, 0
		for _, v := range vs {
			at := &r.verts[v]
			r.hs[row] = max(r.hs[row], at.h)
			label = label && at.item < 0
			for _, s := range at.down {
				wide = max(wide, abs(r.verts[r.segs[s].to].x-at.x))
			}
		}
		r.tops[row] = y
		y += r.hs[row]
		if row == len(r.rows)-1 {
			continue
		}
		gap := rowSpace
		if label || r.bends(row+1) {
			gap = labelSpace
		}
		y += gap + min(wide/extraFactor, maxExtra)
	}
}

// bends reports whether a row has no items.
func (r *rows) bends(row int) bool {
	for _, v := range r.rows[row] {
		if r.verts[v].item >= 0 {
			return false
		}
	}
	return true
}

func abs(n int) int { return max(n, -n) }

// port is where an arc meets the top or the bottom of the box of an item.
type port struct {
	arc   int
	far   int // x of the next vertex of the arc
	group int // ports are ordered by it first
	join  bool
	fixed bool // the other end cannot move
}

// ports returns, for each arc, how far its ends are from the middle of the boxes.
func (r *rows) ports() (tops, bottoms []int) {
	tops, bottoms = make([]int, len(r.arcs)), make([]int, len(r.arcs))
	above, below := make([][]port, len(r.items)), make([][]port, len(r.items))
	for i, a := range r.arcs {
		way := r.ways[i]
		l := r.links[a.links[0]]
		join := l.edge.Kind == "join"
		p := r.port(way[len(way)-2], a, false)
		p.arc, p.join = i, join && !l.reversed
		above[a.to] = append(above[a.to], p)
		p = r.port(way[1], a, true)
		p.arc, p.join = i, join && l.reversed
		below[a.from] = append(below[a.from], p)
	}
	for i := range r.items {
		r.spread(i, above[i], tops, true)
		r.spread(i, below[i], bottoms, false)
	}
	return tops, bottoms
}

// port returns a port from which an arc leads to v.
func (r *rows) port(v int, a arc, top bool) port {
	p := port{far: r.verts[v].x, fixed: r.verts[v].item < 0}
	if !p.fixed && r.items[r.verts[v].item].grid != nil {
		p.far, p.fixed = p.far+r.items[r.verts[v].item].grid.port(a.slot, top), true
	}
	return p
}

// spread places the ports at one side of an item, in the order in which the arcs come. An arc that
// comes straight from above or below meets the middle.
func (r *rows) spread(item int, ports []port, to []int, top bool) {
	if g := r.items[item].grid; g != nil {
		for _, p := range ports {
			to[p.arc] = g.port(r.arcs[p.arc].slot, top)
		}
		return
	}
	joins, sum := 0, 0
	for _, p := range ports {
		if p.join {
			joins, sum = joins+1, sum+p.far
		}
	}
	for i := range ports {
		if ports[i].group = ports[i].far; ports[i].join {
			ports[i].group = sum / joins
		}
	}
	slices.SortFunc(ports, func(a, b port) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.far, b.far), cmp.Compare(a.arc, b.arc))
	})
	middle := len(ports) - 1 // twice the index of the port in the middle
	x := r.verts[item].x
	first, last := -1, -1
	for i, p := range ports {
		if abs(p.far-x) <= 1 {
			if last = i; first < 0 {
				first = i
			}
		}
	}
	if first >= 0 {
		middle = first + last
	}
	if len(ports) == 1 && ports[0].fixed && abs(ports[0].far-x) < portGap {
		to[ports[0].arc] = ports[0].far - x
		return
	}
	half := r.sizes[r.items[item].nodes[0]].w/2 - portInset
	for i, p := range ports {
		steps := 2*i - middle
		most := max(middle, 2*(len(ports)-1)-middle, 1)
		if to[p.arc] = steps * portGap / 2; most*portGap/2 > half {
			to[p.arc] = steps * half / most
		}
	}
}

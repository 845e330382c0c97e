package picture

import (
	"cmp"
	"slices"
)

// drafter turns rows into boxes and lines.
type drafter struct {
	*rows
	path          []string
	shift         int // from the columns of the rows to those of the level
	boxes         []Box
	tops, bottoms []int // ports of the arcs
	lines         []Line
	bars          []Bar
}

// draw returns the level; its box i is that of node i.
func (r *rows) draw(path []string) *level {
	if len(r.verts) == 0 {
		return &level{}
	}
	xs := make([]int, len(r.verts))
	for v := range r.verts {
		xs[v] = r.verts[v].x
	}
	lo, hi := r.extent(xs)
	d := &drafter{rows: r, path: path, shift: -lo, boxes: make([]Box, len(r.nodes))}
	d.tops, d.bottoms = r.ports()
	for i := range r.items {
		d.item(i)
	}
	for i := range r.arcs {
		d.arc(i)
	}
	for i := range r.items {
		if r.items[i].grid == nil {
			d.bar(i, true)
			d.bar(i, false)
			d.loops(r.items[i].nodes[0])
		}
	}
	slices.SortStableFunc(d.lines, func(a, b Line) int { return cmp.Compare(a.n, b.n) })
	last := len(r.rows) - 1
	return &level{w: hi - lo, h: r.tops[last] + r.hs[last], boxes: d.boxes, lines: d.lines, bars: d.bars}
}

// top returns the middle of the upper edge of a vertex.
func (d *drafter) top(v int) Point {
	at := &d.verts[v]
	return Point{at.x + d.shift, d.rows.tops[at.row] + (d.hs[at.row]-at.h)/2}
}

// item places the boxes of an item.
func (d *drafter) item(i int) {
	it, top := &d.items[i], d.top(i)
	for k, n := range it.nodes {
		of := d.sizes[n]
		area := Rect{top.X - of.w/2, top.Y + d.verts[i].above, of.w, of.h}
		if it.grid != nil {
			area = it.grid.rect(k, top, of)
		}
		node := d.nodes[n]
		d.boxes[n] = Box{
			Rect: area, ID: node.ID, Path: append(slices.Clone(d.path), node.Name), Depth: len(d.path),
			Open: node.Inside != nil, node: node,
		}
	}
}

// ending returns where an arc meets an item, at its top or its bottom: at the box, or at the bar
// before it.
func (d *drafter) ending(a int, top bool) Point {
	item, port := d.arcs[a].from, d.bottoms[a]
	if top {
		item, port = d.arcs[a].to, d.tops[a]
	}
	at := d.top(item)
	at.X += port
	if d.items[item].grid != nil {
		if !top {
			at.Y += d.items[item].grid.size.h
		}
		return at
	}
	box := d.boxes[d.items[item].nodes[0]]
	l := d.links[d.arcs[a].links[0]]
	join := l.edge.Kind == "join" && l.reversed != top
	switch {
	case top && join:
		at.Y = box.Y - barRoom + barHeight
	case top:
		at.Y = box.Y
	case join:
		at.Y = box.Y + box.H + barRoom - barHeight
	default:
		at.Y = box.Y + box.H
	}
	return at
}

// arc draws the lines of an arc.
func (d *drafter) arc(a int) {
	p := newPen(d.ending(a, false))
	way := d.ways[a]
	var label Rect
	for i, v := range way[1:] {
		from, to := d.verts[way[i]].row, d.verts[v].row
		p.to(Point{p.at.X, d.rows.tops[from] + d.hs[from]})
		x, end := d.verts[v].x+d.shift, Point{}
		if i == len(way)-2 {
			end = d.ending(a, true)
			x = end.X
		}
		p.bend(Point{x, d.rows.tops[to]})
		if end != (Point{}) {
			p.to(end)
		}
		if at := &d.verts[v]; at.item < 0 && at.h > 0 {
			label = Rect{x - at.left, d.rows.tops[to] + (d.hs[to]-at.h)/2, at.left + at.right, at.h}
		}
	}
	for _, n := range d.arcs[a].links {
		d.link(a, &d.links[n], p, label)
	}
}

// link draws one edge of an arc, whose way between the items is known.
func (d *drafter) link(a int, l *link, between *pen, label Rect) {
	p := between
	from, to := d.arcs[a].from, d.arcs[a].to
	if g := d.items[from].grid; g != nil {
		var way []Point
		way, label = g.branch(d.arcs[a].slot, false, d.top(from), d.boxes[l.from].Rect, l.edge)
		p = newPen(way[0])
		p.corners(way[1:])
		p.follow(between)
	}
	if g := d.items[to].grid; g != nil {
		var way []Point
		way, label = g.branch(d.arcs[a].slot, true, d.top(to), d.boxes[l.to].Rect, l.edge)
		p = newPen(p.start)
		p.follow(between)
		p.corners(way[1:])
	}
	line := Line{Start: p.start, Curves: slices.Clone(p.curves), Label: label}
	if l.reversed {
		line.reverse()
		d.add(line, l, l.to, l.from)
		return
	}
	d.add(line, l, l.from, l.to)
}

func (d *drafter) add(line Line, l *link, from, to int) {
	line.From, line.To, line.Kind = l.edge.From, l.edge.To, l.edge.Kind
	line.edge, line.n, line.ends = l.edge, l.n, [2][]string{d.boxes[from].Path, d.boxes[to].Path}
	d.lines = append(d.lines, line)
}

const barHeight = 4

// bar draws the bar above or below the box of an item, if joins lead to it from there.
func (d *drafter) bar(i int, top bool) {
	lo, hi, any := 0, 0, false
	for a := range d.arcs {
		l := d.links[d.arcs[a].links[0]]
		port, item := d.tops[a], d.arcs[a].to
		if !top {
			port, item = d.bottoms[a], d.arcs[a].from
		}
		if item != i || l.edge.Kind != "join" || l.reversed == top {
			continue
		}
		if !any {
			lo, hi, any = port, port, true
		}
		lo, hi = min(lo, port), max(hi, port)
	}
	if !any {
		return
	}
	box := d.boxes[d.items[i].nodes[0]]
	middle := box.X + box.W/2
	area := Rect{middle + lo - 10, box.Y - barRoom, hi - lo + 20, barHeight}
	p := newPen(Point{middle + (lo+hi)/2, box.Y - barRoom + barHeight})
	p.to(Point{p.at.X, box.Y})
	if !top {
		area.Y = box.Y + box.H + barRoom - barHeight
		p = newPen(Point{p.at.X, area.Y})
		p.to(Point{p.at.X, box.Y + box.H})
	}
	d.bars = append(d.bars, Bar{Rect: area, Node: box.ID, Stem: Line{Start: p.start, Curves: p.curves, To: box.ID, Kind: "join"}})
}

// loops draws the edges from a node to itself, at the right of its box.
func (d *drafter) loops(n int) {
	box := d.boxes[n]
	for i := range d.self[n] {
		l := &d.self[n][i]
		each := box.H / len(d.self[n])
		y, x := box.Y+each*i+each/2, box.X+box.W
		reach, half := loopWidth, min(each/2-2, 10)
		if d.nodes[n].Kind == "router" {
			x -= hexagonTip * (abs(y-box.Y-box.H/2) + half) / box.H
		}
		line := Line{Start: Point{x, y - half}, Curves: []Curve{{
			C1: Point{x + reach, y - half - 4}, C2: Point{x + reach, y + half + 4}, To: Point{x, y + half},
		}}}
		if w := labelOf(l.edge); w > 0 {
			line.Label = Rect{x + reach - 4, y - labelHeight/2, w, labelHeight}
		}
		d.add(line, l, n, n)
	}
}

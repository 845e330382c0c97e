package picture

import "github.com/weftrun/weft/graph"

// grid places many nodes with the same neighbours in rows and columns. Each arc to or from the
// grid is one line, the trunk, in a channel between the middle columns; from it a line leads to
// each node above or below its row.
type grid struct {
	cols, lines       int
	cell              size
	size              size
	ins, outs         []int // arcs
	inRoom, outRoom   int   // above and below each row of nodes
	inLabel, outLabel int   // the room for labels in them
	channel           int   // width
}

const (
	trunkGap  = 10
	busGap    = 8
	stub      = 16
	gridGap   = 20 // between columns
	rowGap    = 6  // between rows
	corner    = 6  // radius
	gridShape = 2  // how many times as wide as high a grid is, about
)

func (s *sketch) newGrid(i int) *grid {
	g := &grid{}
	for a := range s.arcs {
		switch i {
		case s.arcs[a].to:
			s.arcs[a].slot = len(g.ins)
			g.ins = append(g.ins, a)
		case s.arcs[a].from:
			s.arcs[a].slot = len(g.outs)
			g.outs = append(g.outs, a)
		}
	}
	for _, n := range s.items[i].nodes {
		g.cell.w, g.cell.h = max(g.cell.w, s.sizes[n].w), max(g.cell.h, s.sizes[n].h)
	}
	g.inLabel, g.outLabel = s.labelRoom(g.ins), s.labelRoom(g.outs)
	g.inRoom = len(g.ins)*busGap + g.inLabel + stub
	if len(g.outs) > 0 {
		g.outRoom = stub + g.outLabel + len(g.outs)*busGap
	}
	count, pitch := len(s.items[i].nodes), g.inRoom+g.cell.h+g.outRoom+rowGap
	for g.cols = 4; g.cols*(g.cell.w+gridGap) < gridShape*pitch*((count+g.cols-1)/g.cols); {
		g.cols += 2
	}
	g.lines = (count + g.cols - 1) / g.cols
	g.channel = (len(g.ins)+len(g.outs)-1)*trunkGap + 2*gridGap
	g.size = size{g.cols*g.cell.w + (g.cols-2)*gridGap + g.channel, g.lines*pitch - rowGap}
	return g
}

// labelRoom returns how high the labels of arcs at a grid are.
func (s *sketch) labelRoom(arcs []int) int {
	for _, a := range arcs {
		if labelOf(s.links[s.arcs[a].links[0]].edge) > 0 {
			return labelHeight + 4
		}
	}
	return 0
}

// port returns where the trunk of an arc is, from the middle of the grid.
func (g *grid) port(slot int, in bool) int {
	if !in {
		slot += len(g.ins)
	}
	return slot*trunkGap - (len(g.ins)+len(g.outs)-1)*trunkGap/2
}

// rect returns the area of the nth node of the grid, whose top middle is at top.
func (g *grid) rect(n int, top Point, of size) Rect {
	row, col := n/g.cols, n%g.cols
	x := top.X - g.size.w/2 + col*(g.cell.w+gridGap)
	if col >= g.cols/2 {
		x += g.channel - gridGap
	}
	y := top.Y + row*(g.inRoom+g.cell.h+g.outRoom+rowGap) + g.inRoom
	return Rect{x + (g.cell.w-of.w)/2, y, of.w, of.h}
}

// branch returns the way from the trunk of an arc to a node, or back, and the area of its label.
func (g *grid) branch(slot int, in bool, top Point, box Rect, e *graph.DrawnEdge) (way []Point, label Rect) {
	trunk := top.X + g.port(slot, in)
	width := min(labelOf(e), g.cell.w)
	if in {
		x := box.X + box.W/2 + (2*slot-len(g.ins)+1)*portGap/2
		bus := box.Y - g.inRoom + slot*busGap + busGap/2
		if width > 0 {
			label = Rect{x - width/2, box.Y - stub - labelHeight, width, labelHeight}
		}
		return []Point{{trunk, top.Y}, {trunk, bus}, {x, bus}, {x, box.Y}}, label
	}
	x := box.X + box.W/2 + (2*slot-len(g.outs)+1)*portGap/2
	bus := box.Y + g.cell.h + stub + g.outLabel + slot*busGap
	if width > 0 {
		label = Rect{x - width/2, box.Y + g.cell.h + 4, width, labelHeight}
	}
	return []Point{{x, box.Y + box.H}, {x, bus}, {trunk, bus}, {trunk, top.Y + g.size.h}}, label
}

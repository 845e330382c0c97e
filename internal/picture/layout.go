package picture

import (
	"slices"

	"github.com/weftrun/weft/graph"
)

// Layout is where the elements of a drawing are, in pixels from the top left corner.
type Layout struct {
	Graph         string
	Width, Height int
	Boxes         []Box // a box comes before those inside it
	Lines         []Line
	Bars          []Bar
	text          string // the drawing as text
}

// Point is a place in the picture.
type Point struct{ X, Y int }

// Rect is an area of the picture.
type Rect struct{ X, Y, W, H int }

func (r Rect) moved(dx, dy int) Rect { return Rect{r.X + dx, r.Y + dy, r.W, r.H} }

// Box is the area of a node.
type Box struct {
	Rect
	ID    string   // of the node in the drawing
	Path  []string // the names of the nodes around it, and its own
	Depth int      // how many boxes are around it
	Open  bool     // it frames the nodes of its subgraph
	node  *graph.DrawnNode
}

// Line is the way of an edge, from the node that it leads from.
type Line struct {
	From, To string // ids of nodes in the drawing
	Kind     string // as of graph.DrawnEdge
	Start    Point
	Curves   []Curve
	// Label is the area for a label in the middle of the line; nothing else is there. It is empty
	// for edges that never have one.
	Label Rect
	edge  *graph.DrawnEdge
	ends  [2][]string // the paths of the nodes
	n     int         // in the drawing of the graph
}

// Curve is a cubic Bézier curve that goes on from the one before. If Straight is true, it is a
// straight line and has no control points.
type Curve struct {
	C1, C2, To Point
	Straight   bool
}

// Bar is before a node, where the edges of a join meet.
type Bar struct {
	Rect
	Node string // id of the node in the drawing
	Stem Line   // from the bar to the node
}

// Distances in pixels.
const (
	margin      = 16
	boxHeight   = 40
	pillHeight  = 26
	minBoxWidth = 92
	maxText     = 230
	textPad     = 18
	framePad    = 16
	frameHead   = 30
	nodeGap     = 28 // between neighbours in a row
	bendGap     = 14 // between an edge and its neighbours in a row
	barRoom     = 16
	portGap     = 16
	labelHeight = 16
	labelWidth  = 30
	maxLabel    = 150 // of the text of a label, without its number
	loopWidth   = 26
)

// New lays out a drawing with the subgraphs that are open in it. What a run has done makes no
// difference. Edges from or to nodes that are not there are left out.
func New(d graph.Drawing) *Layout {
	l := lay(&d, nil)
	out := &Layout{
		Graph: d.Graph, Width: l.w + 2*margin, Height: l.h + 2*margin,
		Boxes: l.boxes, Lines: l.lines, Bars: l.bars, text: d.Text(),
	}
	l.move(margin, margin)
	return out
}

// level is the layout of one graph, without the boxes around it.
type level struct {
	w, h  int
	boxes []Box
	lines []Line
	bars  []Bar
}

// move moves everything of the level.
func (l *level) move(dx, dy int) {
	for i := range l.boxes {
		l.boxes[i].Rect = l.boxes[i].moved(dx, dy)
	}
	for i := range l.lines {
		l.lines[i].move(dx, dy)
	}
	for i := range l.bars {
		l.bars[i].Rect = l.bars[i].moved(dx, dy)
		l.bars[i].Stem.move(dx, dy)
	}
}

func (l *Line) move(dx, dy int) {
	move := func(p *Point) { p.X, p.Y = p.X+dx, p.Y+dy }
	move(&l.Start)
	for i := range l.Curves {
		c := &l.Curves[i]
		move(&c.To)
		if !c.Straight {
			move(&c.C1)
			move(&c.C2)
		}
	}
	if l.Label.W > 0 {
		l.Label = l.Label.moved(dx, dy)
	}
}

// lay lays out one graph. Its nodes are inside those that path names.
func lay(d *graph.Drawing, path []string) *level {
	s := newSketch(d)
	inside := make([]*level, len(s.nodes))
	for i, n := range s.nodes {
		s.sizes[i] = sizeOf(n)
		if n.Inside != nil {
			inside[i] = lay(n.Inside, append(slices.Clone(path), n.Name))
			s.sizes[i] = size{max(inside[i].w+2*framePad, s.sizes[i].w), inside[i].h + frameHead + framePad}
		}
	}
	s.acyclic()
	s.group()
	s.rank()
	rows := s.stack()
	rows.order()
	rows.place()
	l := rows.draw(path)
	for i := range s.nodes {
		if inside[i] == nil {
			continue
		}
		box := l.boxes[i]
		inside[i].move(box.X+(box.W-inside[i].w)/2, box.Y+frameHead)
		l.boxes = append(l.boxes, inside[i].boxes...)
		l.lines = append(l.lines, inside[i].lines...)
		l.bars = append(l.bars, inside[i].bars...)
	}
	return l
}

type size struct{ w, h int }

// sizeOf returns the size of the box of a node that is not open.
func sizeOf(n *graph.DrawnNode) size {
	text := textWidth(shownName(n), nameSize)
	if n.Kind == "start" || n.Kind == "end" {
		return size{max(text+24, 52), pillHeight}
	}
	w := text + 2*textPad
	switch n.Kind {
	case "router", "graph":
		w += 12
	case "worker":
		w += 6
	}
	return size{(max(w, minBoxWidth) + 1) / 2 * 2, boxHeight}
}

// shownName is the text in the box of a node.
func shownName(n *graph.DrawnNode) string {
	if n.Kind == "start" || n.Kind == "end" {
		return n.Kind
	}
	return cut(clean(n.Name), nameSize, maxText)
}

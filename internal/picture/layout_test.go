package picture_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/picture"
)

// drawings makes random drawings with all kinds of nodes and edges, and subgraphs down to a depth.
func drawings(depth int) *rapid.Generator[graph.Drawing] {
	return rapid.Custom(func(t *rapid.T) graph.Drawing { return drawing(t, depth, "") })
}

func drawing(t *rapid.T, depth int, prefix string) graph.Drawing {
	count := rapid.IntRange(0, []int{8, 16, 60}[depth]).Draw(t, "nodes")
	d := graph.Drawing{Graph: "g", Nodes: []graph.DrawnNode{{ID: prefix + "start", Name: "__start__", Kind: "start"}}}
	kinds := rapid.SampledFrom([]string{"node", "router", "worker", "graph"})
	for i := range count {
		n := graph.DrawnNode{ID: fmt.Sprintf("%sn%d", prefix, i), Kind: kinds.Draw(t, "kind"), Name: fmt.Sprint("n", i)}
		if rapid.IntRange(0, 3).Draw(t, "named") == 0 {
			n.Name = rapid.StringN(0, 40, -1).Draw(t, "name")
		}
		n.Deferred = rapid.IntRange(0, 9).Draw(t, "deferred") == 0
		n.Pauses = rapid.SampledFrom([]string{"", "", "", "before", "after", "both"}).Draw(t, "pauses")
		if depth > 0 && n.Kind == "graph" && rapid.Bool().Draw(t, "open") {
			child := drawing(t, depth-1, n.ID+"_")
			n.Inside = &child
		}
		d.Nodes = append(d.Nodes, n)
	}
	d.Nodes = append(d.Nodes, graph.DrawnNode{ID: prefix + "end", Name: "__end__", Kind: "end"})
	ways := rapid.SampledFrom([]string{"edge", "edge", "choice", "join", onError})
	last := len(d.Nodes) - 1
	for range rapid.IntRange(0, 2*count+2).Draw(t, "edges") {
		from, to := rapid.IntRange(0, last-1).Draw(t, "from"), rapid.IntRange(1, last).Draw(t, "to")
		d.Edges = append(d.Edges, graph.DrawnEdge{From: d.Nodes[from].ID, To: d.Nodes[to].ID, Kind: ways.Draw(t, "way")})
	}
	if count > 10 && rapid.IntRange(0, 3).Draw(t, "fan") == 0 {
		d.Edges = nil
		for i := range count - 2 {
			d.Edges = append(d.Edges, graph.DrawnEdge{From: d.Nodes[1].ID, To: d.Nodes[i+3].ID, Kind: "choice"},
				graph.DrawnEdge{From: d.Nodes[i+3].ID, To: d.Nodes[rapid.IntRange(1, 2).Draw(t, "back")].ID, Kind: ways.Draw(t, "way")})
		}
	}
	return d
}

func TestLayout_RandomDrawings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawings(2).Draw(t, "drawing")
		for _, broken := range problems(picture.New(d)) {
			t.Error(broken)
		}
	})
}

func TestLayout_Samples(t *testing.T) {
	for name, d := range samples {
		for _, broken := range problems(picture.New(d)) {
			t.Errorf("%s: %s", name, broken)
		}
	}
}

// problems lists what is wrong with a layout.
func problems(l *picture.Layout) (broken []string) {
	report := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	whole := picture.Rect{W: l.Width, H: l.Height}
	byID := map[string]int{}
	for i, a := range l.Boxes {
		byID[a.ID] = i
		if !contains(whole, a.Rect) {
			report("box %s %v is not in the picture %v", a.ID, a.Rect, whole)
		}
		for _, b := range l.Boxes[i+1:] {
			switch around := isAround(a.ID, b.ID); {
			case around && !contains(a.Rect, b.Rect):
				report("box %s %v is not inside %s %v", b.ID, b.Rect, a.ID, a.Rect)
			case !around && overlaps(a.Rect, b.Rect):
				report("boxes %s %v and %s %v overlap", a.ID, a.Rect, b.ID, b.Rect)
			}
		}
	}
	for i := range l.Lines {
		checkLine(l, &l.Lines[i], byID, report)
	}
	for i, a := range l.Lines {
		for _, b := range l.Lines[i+1:] {
			if a.Label.W > 0 && b.Label.W > 0 && overlaps(a.Label, b.Label) {
				report("the labels of %s→%s %v and %s→%s %v overlap", a.From, a.To, a.Label, b.From, b.To, b.Label)
			}
		}
	}
	return broken
}

// checkLine checks the way of one edge.
func checkLine(l *picture.Layout, line *picture.Line, byID map[string]int, report func(string, ...any)) {
	name := line.From + "→" + line.To
	from, to := l.Boxes[byID[line.From]], l.Boxes[byID[line.To]]
	whole := picture.Rect{W: l.Width, H: l.Height}
	way := flatten(line)
	if !touches(from.Rect, way[0]) {
		report("edge %s begins at %v, not at the box %v", name, way[0], from.Rect)
	}
	if !touches(to.Rect, way[len(way)-1]) && !atBar(l, line.To, way[len(way)-1]) {
		report("edge %s ends at %v, not at the box %v", name, way[len(way)-1], to.Rect)
	}
	for _, p := range way {
		if !has(whole, p) {
			report("edge %s leaves the picture at %v", name, p)
			break
		}
	}
	for _, b := range l.Boxes {
		if isAround(b.ID, line.From) {
			continue
		}
		area := b.Rect
		if b.ID == line.From && line.From == line.To {
			area.X, area.W = area.X+12, area.W-24 // a loop begins at the slanted side of a router
		}
		if passes(way, area) {
			report("edge %s leads through box %s %v", name, b.ID, b.Rect)
		}
		if line.Label.W > 0 && overlaps(line.Label, b.Rect) {
			report("the label of edge %s %v is over box %s %v", name, line.Label, b.ID, b.Rect)
		}
	}
	for i := range l.Lines {
		other := &l.Lines[i]
		if other == line || other.Label.W == 0 {
			continue
		}
		if passes(way, other.Label) {
			report("edge %s leads through the label of %s→%s", name, other.From, other.To)
		}
	}
}

// isAround reports whether the box a is a frame around the box b.
func isAround(a, b string) bool { return strings.HasPrefix(b, a+"_") }

func has(r picture.Rect, p picture.Point) bool {
	return p.X >= r.X && p.X <= r.X+r.W && p.Y >= r.Y && p.Y <= r.Y+r.H
}

func contains(a, b picture.Rect) bool {
	return has(a, picture.Point{X: b.X, Y: b.Y}) && has(a, picture.Point{X: b.X + b.W, Y: b.Y + b.H})
}

func overlaps(a, b picture.Rect) bool {
	return a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H
}

// passes reports whether a way leads through the inside of an area.
func passes(way []picture.Point, r picture.Rect) bool {
	inside := picture.Rect{X: r.X + 1, Y: r.Y + 1, W: r.W - 2, H: r.H - 2}
	return slices.ContainsFunc(way, func(p picture.Point) bool { return has(inside, p) })
}

// touches reports whether a point is on the border of an area, or, as at the slanted sides of a
// router, up to 12 pixels from it.
func touches(r picture.Rect, p picture.Point) bool {
	return has(r, p) && (p.Y == r.Y || p.Y == r.Y+r.H || p.X >= r.X+r.W-12)
}

// atBar reports whether a point is at the bar before a node.
func atBar(l *picture.Layout, node string, p picture.Point) bool {
	return slices.ContainsFunc(l.Bars, func(b picture.Bar) bool { return b.Node == node && has(b.Rect, p) })
}

// flatten returns points on a line that are at most a few pixels apart.
func flatten(l *picture.Line) []picture.Point {
	way := []picture.Point{l.Start}
	for _, c := range l.Curves {
		at := way[len(way)-1]
		c1, c2 := c.C1, c.C2
		if c.Straight {
			c1, c2 = at, c.To
		}
		steps := (max(at.X-c.To.X, c.To.X-at.X)+max(at.Y-c.To.Y, c.To.Y-at.Y))/4 + 8
		for i := 1; i <= steps; i++ {
			t := float64(i) / float64(steps)
			mix := func(a, b, c, d int) int {
				u := 1 - t
				return int(u*u*u*float64(a) + 3*u*u*t*float64(b) + 3*u*t*t*float64(c) + t*t*t*float64(d))
			}
			way = append(way, picture.Point{X: mix(at.X, c1.X, c2.X, c.To.X), Y: mix(at.Y, c1.Y, c2.Y, c.To.Y)})
		}
		way[len(way)-1] = c.To
	}
	return way
}

package picture

import (
	"fmt"
	"strings"
)

// hexagonTip is how far the tips of a router's box reach.
const hexagonTip = 12

// workerBack is how far the second sheet of a worker's box is from the first.
const workerBack = 4

// shape writes the outline of a node, which shows its kind.
func (w *svgWriter) shape(b *Box) {
	x, y, width, height := b.X, b.Y, b.W, b.H
	switch {
	case b.Open:
		w.printf(`<rect class="shape" x="%d" y="%d" width="%d" height="%d" rx="12"/>`, x, y, width, height)
	case b.node.Kind == "start", b.node.Kind == "end":
		w.printf(`<rect class="shape" x="%d" y="%d" width="%d" height="%d" rx="%d"/>`, x, y, width, height, height/2)
		if b.node.Kind == "end" {
			w.printf(`<rect class="inner" x="%d" y="%d" width="%d" height="%d" rx="%d"/>`, x+3, y+3, width-6, height-6, height/2-3)
		}
	case b.node.Kind == "router":
		w.printf(`<path class="shape" d="M%d %dH%dL%d %dL%d %dH%dL%d %dZ"/>`, x+hexagonTip, y, x+width-hexagonTip, x+width, y+height/2, x+width-hexagonTip, y+height, x+hexagonTip, x, y+height/2)
	case b.node.Kind == "worker":
		w.printf(`<rect class="behind" x="%d" y="%d" width="%d" height="%d" rx="6"/>`, x+workerBack, y, width-workerBack, height-workerBack)
		w.printf(`<rect class="shape" x="%d" y="%d" width="%d" height="%d" rx="6"/>`, x, y+workerBack, width-workerBack, height-workerBack)
	case b.node.Kind == "graph":
		w.printf(`<rect class="shape" x="%d" y="%d" width="%d" height="%d" rx="4"/>`, x, y, width, height)
		w.printf(`<path class="inner" d="M%d %dV%dM%d %dV%d"/>`, x+7, y, y+height, x+width-7, y, y+height)
	default:
		w.printf(`<rect class="shape" x="%d" y="%d" width="%d" height="%d" rx="8"/>`, x, y, width, height)
	}
	pause := func(y int) {
		w.printf(`<path class="pause" d="M%d %dv8m5 -8v8"/>`, x+width-14, y-4)
	}
	if p := b.node.Pauses; p == "before" || p == "both" {
		pause(y)
	}
	if p := b.node.Pauses; p == "after" || p == "both" {
		pause(y + height)
	}
}

// handler is the class of the way of an error handler.
const handler = "handler"

// classOf returns the class of a kind of edge.
func classOf(kind string) string {
	if kind == "edge" || kind == "choice" || kind == "join" {
		return kind
	}
	return handler
}

// line writes an edge.
func (w *svgWriter) line(l *Line) {
	count, taken := w.Run.taken(l.edge)
	class := "edge " + classOf(l.Kind)
	if taken {
		class += " taken"
	}
	to := l.ends[1][len(l.ends[1])-1]
	w.printf(`<g%s class="%s">`, w.id(EdgeID(l.ends[0], to, classOf(l.Kind))), class)
	if about := w.about(l); about != "" {
		w.printf("<title>%s</title>", escape(about))
	}
	w.stroke(l, l.Kind != "join")
	if l.Label.W > 0 {
		text, class := l.label(count), "back"
		if len(l.ends[0]) > 1 {
			class += " inside"
		}
		if width := textWidth(text, subSize) + 4; text != "" { // its own line does not cross it
			w.printf(`<rect class="%s" x="%d" y="%d" width="%d" height="%d"/>`, class, l.Label.X+(l.Label.W-width)/2, l.Label.Y+l.Label.H/2-6, width, subSize+4)
		}
		w.printf(`<text class="label" x="%d" y="%d">%s</text>`, l.Label.X+l.Label.W/2, l.Label.Y+l.Label.H/2+4, escape(text))
	}
	w.printf("</g>\n")
}

// label is the text at an edge that was taken so often.
func (l *Line) label(count int) string {
	label, number := "", ""
	if classOf(l.Kind) == handler {
		label = "error"
	}
	if count > 0 {
		number = fmt.Sprintf(" ×%d", count)
	}
	if l.Kind == "choice" && l.edge.Label != "" {
		label = cut(clean(l.edge.Label), subSize, min(maxLabel, l.Label.W-6-textWidth(countRoom, subSize)))
	}
	return strings.TrimSpace(label + number)
}

// about is when an edge is taken, and why the run took it last.
func (w *svgWriter) about(l *Line) string {
	text, why := "", ""
	if l.edge.Label != "" {
		text = "if " + l.edge.Label
	}
	if w.Run != nil {
		why = w.Run.Whys[Edge{l.From, l.To, l.Kind}]
	}
	switch {
	case why == "" || why == l.edge.Label:
		return text
	case text == "":
		return why
	}
	return text + "; taken last: " + why
}

// headLength is how long an arrowhead is.
const headLength = 8

// stroke writes the path of a line and its arrowhead.
func (w *svgWriter) stroke(l *Line, head bool) {
	w.printf(`<path class="line" d="M%d %d`, l.Start.X, l.Start.Y)
	at, before := l.Start, l.Start
	for i, c := range l.Curves {
		end := c.To
		if before = at; !c.Straight {
			before = c.C2
		}
		if i == len(l.Curves)-1 && head && c.Straight {
			end = toward(c.To, at, headLength-2) // the line ends inside the arrowhead
		}
		switch {
		case !c.Straight:
			w.printf("C%d %d %d %d %d %d", c.C1.X, c.C1.Y, c.C2.X, c.C2.Y, end.X, end.Y)
		case end.X == at.X:
			w.printf("V%d", end.Y)
		default:
			w.printf("H%d", end.X)
		}
		at = c.To
	}
	w.printf(`"/>`)
	if !head {
		return
	}
	switch dx, dy := at.X-before.X, at.Y-before.Y; {
	case abs(dx) <= abs(dy) && dy >= 0:
		w.printf(`<path class="head" d="M%d %dl-4 -%dh8z"/>`, at.X, at.Y, headLength)
	case abs(dx) <= abs(dy):
		w.printf(`<path class="head" d="M%d %dl-4 %dh8z"/>`, at.X, at.Y, headLength)
	case dx < 0:
		w.printf(`<path class="head" d="M%d %dl%d -4v8z"/>`, at.X, at.Y, headLength)
	default:
		w.printf(`<path class="head" d="M%d %dl-%d -4v8z"/>`, at.X, at.Y, headLength)
	}
}

// glyphs are the signs of the states, in a circle around the origin.
var glyphs = map[State]string{
	Queued:   "M0 -4V0L3 2",
	Waiting:  "M-3 -4H3L-3 4H3Z",
	Running:  "M-2 -4L4 0L-2 4Z",
	Done:     "M-4 0L-1 3L4 -3",
	Asking:   "M-2.5 -2A2.5 2.5 0 1 1 1 0.3Q0 0.8 0 2M0 4.6V4.7",
	Retrying: "M3.5 1.6A4 4 0 1 1 3.2 -2.4M3.6 -5V-2H0.8",
	Failed:   "M-3 -3L3 3M3 -3L-3 3",
	Cached:   "M-4 -2H4M-4 2H4",
	Skipped:  "M-4 0H4",
}

// icons writes the signs of the states, which nodes use.
func (w *svgWriter) icons() {
	w.printf("<defs>\n")
	for _, s := range states[1:] {
		w.printf(`<g id="weft-icon-%s"><circle r="8"/><path class="weft-glyph" d="%s"/></g>`+"\n", s, glyphs[s])
	}
	w.printf("</defs>\n")
}

// icon returns the sign of a state as a picture of its own. It uses what icons has written.
func icon(s State) string {
	return fmt.Sprintf(`<svg class="weft-picture" width="18" height="18" viewBox="-9 -9 18 18" aria-hidden="true"><g class="state-%s"><use class="icon" href="#weft-icon-%[1]s"/></g></svg>`, s)
}

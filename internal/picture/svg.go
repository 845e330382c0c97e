package picture

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftrun/weft/graph"
)

// Options are how a picture is written. The zero Options write a file that needs nothing else.
type Options struct {
	Run *Run // what a run has done; nil for the graph alone
	// NoStyle leaves the style sheet out, for a page that has CSS.
	NoStyle bool
	// Focus makes the nodes reachable by the keyboard. Without it the picture is one image for a
	// screen reader.
	Focus bool
	// Link returns where a node leads, by its path; "" is nowhere. nil links no node.
	Link func(path []string) string
	// Selected is the id of the node that is marked, see [NodeID].
	Selected string
}

// SVG returns the picture.
func (l *Layout) SVG(o Options) string {
	w := &svgWriter{Options: o, ids: map[string]bool{}}
	role := "img"
	if o.Focus {
		role = "group"
	}
	w.printf(`<svg xmlns="http://www.w3.org/2000/svg" class="weft-picture" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="%[3]s" aria-labelledby="weft-title weft-desc">`+"\n", l.Width, l.Height, role)
	w.printf("<title id=\"weft-title\">%s</title>\n<desc id=\"weft-desc\">%s</desc>\n", escape(l.title(o.Run)), escape(l.describe(o.Run)))
	if !o.NoStyle {
		w.printf("<style>\n%s</style>\n", CSS())
	}
	w.icons()
	w.printf("<rect class=\"ground\" width=\"%d\" height=\"%d\"/>\n", l.Width, l.Height)
	for i := range l.Boxes {
		if l.Boxes[i].Open {
			w.box(&l.Boxes[i])
		}
	}
	for i := range l.Lines {
		w.line(&l.Lines[i])
	}
	for _, b := range l.Bars {
		class := "join"
		if m := o.Run.mark(b.Node); m.State != Idle && m.State != Skipped {
			class += " taken"
		}
		w.printf("<g class=%q><rect class=\"bar\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"2\"/>", class, b.X, b.Y, b.W, b.H)
		w.stroke(&b.Stem, true)
		w.printf("</g>\n")
	}
	for i := range l.Boxes {
		if !l.Boxes[i].Open {
			w.box(&l.Boxes[i])
		}
	}
	w.printf("</svg>\n")
	return w.String()
}

// title names the picture.
func (l *Layout) title(r *Run) string {
	switch {
	case r == nil:
		return "Graph " + l.Graph
	case r.Over:
		return "A finished run of " + l.Graph
	}
	return "A run of " + l.Graph
}

// longText is how many nodes a picture has whose description is only their number.
const longText = 80

// describe returns the graph as text.
func (l *Layout) describe(r *Run) string {
	text := fmt.Sprintf("%d nodes, %d edges.", len(l.Boxes), len(l.Lines))
	if len(l.Boxes) <= longText {
		tree := l.text
		if r != nil && r.text != "" {
			tree = r.text
		}
		text += " " + strings.Join(strings.Fields(tree), " ")
	}
	return text
}

// NodeID returns the id of the group of a node in the picture, by the names of the nodes around
// it, from outside in, and its own.
func NodeID(path ...string) string {
	id := "node"
	for _, name := range path {
		id += ":" + idPart(name)
	}
	return id
}

// EdgeID returns the id of the group of an edge in the picture. The edge leads from the node with
// this path to the node with this name in the same graph. Its class is "edge", "choice", "join" or
// "handler".
func EdgeID(from []string, to, class string) string {
	return "edge" + strings.TrimPrefix(NodeID(from...), "node") + ":" + idPart(to) + ":" + idPart(class)
}

// idPart returns a name as a part of an id. Letters, digits, - and _ stay; each other byte becomes
// a dot and its two hexadecimal digits.
func idPart(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, ".%02x", c)
		}
	}
	return b.String()
}

type svgWriter struct {
	strings.Builder
	Options
	ids map[string]bool // that are taken
}

func (w *svgWriter) printf(format string, args ...any) { fmt.Fprintf(w, format, args...) }

// id returns the attribute id. A second element of the same name has none.
func (w *svgWriter) id(id string) string {
	if w.ids[id] {
		return ""
	}
	w.ids[id] = true
	return ` id="` + id + `"`
}

// ring is how far the mark of the selected node is from its box.
const ring = 5

// box writes a node.
func (w *svgWriter) box(b *Box) {
	n, m := b.node, w.Run.mark(b.ID)
	sub := w.sub(b, m)
	class := "node kind-" + idPart(n.Kind) + " state-" + string(m.State)
	for _, c := range []struct {
		name string
		is   bool
	}{{"open", b.Open}, {"two", sub != ""}, {"deferred", n.Deferred}, {"pauses", n.Pauses != ""}} {
		if c.is {
			class += " " + c.name
		}
	}
	label, id, to, tag := spoken(n, m), NodeID(b.Path...), "", "g"
	selected := id == w.Selected
	if selected {
		class += " here"
	}
	if w.Link != nil && n.Kind != "start" && n.Kind != "end" {
		to = w.Link(b.Path)
	}
	if to != "" {
		tag = "a"
	}
	w.printf(`<%s%s class="%s" data-node="%s"`, tag, w.id(id), class, escape(n.Name))
	switch {
	case to != "":
		w.printf(` href="%s"`, escape(to)) // its title is its name
	case w.Focus:
		w.printf(` tabindex="0" role="img" aria-label="%s"`, escape(label))
	}
	if selected {
		w.printf(` aria-current="true"`)
	}
	w.printf("><title>%s</title>", escape(label))
	if selected {
		w.printf(`<rect class="ring" x="%d" y="%d" width="%d" height="%d" rx="10"/>`, b.X-ring, b.Y-ring, b.W+2*ring, b.H+2*ring)
	}
	w.shape(b)
	w.texts(b, sub)
	if m.State != Idle && n.Kind != "start" {
		w.printf(`<use class="icon" href="#weft-icon-%s" x="%d" y="%d"/>`, m.State, b.X+2, b.Y+2)
	}
	w.printf("</%s>\n", tag)
}

func (w *svgWriter) texts(b *Box, sub string) {
	x, y, at := b.X+b.W/2, b.Y+b.H/2+5, b.Y+b.H/2+12
	name := shownName(b.node)
	if b.node.Kind == "worker" {
		x, y, at = x-workerBack/2, y+workerBack/2, at+workerBack/2
	}
	if b.Open {
		x, y = b.X+framePad, b.Y+20
		at = y
		w.printf(`<text class="name" x="%d" y="%d">%s</text>`, x, y, escape(name))
		if sub != "" {
			w.printf(`<text class="sub" x="%d" y="%d">%s</text>`, x+textWidth(name, nameSize)+10, at, escape(sub))
		}
		return
	}
	w.printf(`<text class="name" x="%d" y="%d">%s</text>`, x, y, escape(name))
	if b.node.Kind != "start" && b.node.Kind != "end" {
		w.printf(`<text class="sub" x="%d" y="%d">%s</text>`, x, at, escape(sub))
	}
}

// sub is the second text of a node: what a run did, or else what the node is.
func (w *svgWriter) sub(b *Box, m Mark) string {
	n := b.node
	if n.Kind == "start" || n.Kind == "end" {
		return ""
	}
	facts := m.facts()
	if len(facts) == 0 {
		if n.Kind != "node" {
			facts = append(facts, clean(n.Kind))
		}
		if n.Deferred {
			facts = append(facts, "deferred")
		}
	}
	room := b.W - 16
	if b.Open {
		room = b.W - 2*framePad - 10 - textWidth(shownName(n), nameSize)
	}
	text := ""
	for _, f := range facts {
		longer := f
		if text != "" {
			longer = text + " · " + f
		}
		if textWidth(longer, subSize) <= room {
			text = longer
		}
	}
	return text
}

// spoken names a node and what a run did with it, for tooltips and screen readers.
func spoken(n *graph.DrawnNode, m Mark) string {
	parts := []string{n.Name}
	if n.Kind == "start" || n.Kind == "end" {
		return n.Kind
	}
	if n.Kind != "node" {
		parts = append(parts, n.Kind)
	}
	if n.Deferred {
		parts = append(parts, "deferred")
	}
	if n.Pauses != "" {
		parts = append(parts, "pauses "+strings.Replace(n.Pauses, "both", "before and after", 1))
	}
	switch {
	case m.Ran == 1:
		parts = append(parts, "ran once")
	case m.Ran > 1:
		parts = append(parts, fmt.Sprintf("ran %d times", m.Ran))
	}
	if m.Tasks > 1 {
		parts = append(parts, fmt.Sprintf("%d of %d tasks finished", m.Finished, m.Tasks))
	}
	if m.Took > 0 {
		parts = append(parts, Duration(m.Took))
	}
	if m.State != Idle {
		parts = append(parts, words[m.State])
	}
	if m.Attempt > 1 {
		parts = append(parts, fmt.Sprintf("attempt %d", m.Attempt))
	}
	text := strings.Join(parts, ", ")
	if m.Note != "" {
		text += ": " + strings.Join(slices.Collect(strings.FieldsSeq(m.Note)), " ")
	}
	return text
}

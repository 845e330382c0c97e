package graph

import (
	"fmt"
	"strings"
)

// Drawing is a graph as data, to be drawn: as Mermaid, as DOT, as text for a terminal,
// or as its own JSON by something else. The same graph gives the same drawing.
type Drawing struct {
	Graph string      `json:"graph"`
	Nodes []DrawnNode `json:"nodes"` // Start, the nodes by name, End
	Edges []DrawnEdge `json:"edges"` // in the order of the nodes they lead from
}

// DrawnNode is one node of a Drawing.
type DrawnNode struct {
	ID   string `json:"id"`   // names the node in the whole drawing
	Name string `json:"name"` // of the node in its graph
	// Kind is "start", "end", "node", "router", "worker" or "graph".
	Kind     string `json:"kind"`
	Deferred bool   `json:"deferred,omitempty"`
	// Pauses is "before", "after" or "both", where a static interrupt stops the run.
	Pauses string `json:"pauses,omitempty"`
	// Inside is the child of a "graph" node, or the one that a "worker" [Calls], as far down as
	// was asked for.
	Inside *Drawing `json:"inside,omitempty"`
	// Ran is how often the node ran, and Due is true if it is due: in the drawing of a
	// run. Of a worker each task counts.
	Ran int  `json:"ran,omitempty"`
	Due bool `json:"due,omitempty"`
}

// DrawnEdge is one way between two nodes.
type DrawnEdge struct {
	From string `json:"from"` // ids of nodes
	To   string `json:"to"`
	// Kind is "edge"; "choice", which a Command or a branch may take; "join", one of
	// several that must all have come; or "rescue", which an error handler may take.
	Kind string `json:"kind"`
	// Label describes when a choice is taken; see [Builder.Label].
	Label string `json:"label,omitempty"`
	// Taken is how often the choice was taken: in the drawing of a run.
	Taken int `json:"taken,omitempty"`
}

// Mermaid returns the drawing as a Mermaid flowchart: solid arrows for edges, dotted
// ones for choices, thick ones into a join. In the drawing of a run, what ran is green
// and what is due is yellow.
func (d Drawing) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	d.mermaid(&b, "  ")
	if d.lived() {
		b.WriteString("  classDef ran fill:#d3f2d3,stroke:#2d7d2d\n  classDef due fill:#fff3bf,stroke:#b08900\n")
	}
	return b.String()
}

func (d *Drawing) mermaid(b *strings.Builder, indent string) {
	for _, n := range d.Nodes {
		open, shut := n.brackets()
		switch {
		case n.Kind == "start" || n.Kind == "end":
			fmt.Fprintf(b, "%s%s([%s])\n", indent, n.ID, n.Kind)
		case n.Inside != nil:
			fmt.Fprintf(b, "%ssubgraph %s [%s]\n", indent, n.ID, mermaidText(n.text()))
			n.Inside.mermaid(b, indent+"  ")
			fmt.Fprintf(b, "%send\n", indent)
		default:
			fmt.Fprintf(b, "%s%s%s%s%s%s\n", indent, n.ID, open, mermaidText(n.text()), shut, n.class())
		}
	}
	arrows := map[string]string{"edge": "-->", "choice": "-.->", "join": "==>", edgeHandler: "-.->|error|"}
	for _, e := range d.Edges {
		arrow := arrows[e.Kind]
		if text := e.text(); text != "" && e.Kind == "choice" {
			arrow += "|" + mermaidText(text) + "|"
			if e.Label == "" {
				arrow = arrows[e.Kind] + "|" + text + "|"
			}
		}
		fmt.Fprintf(b, "%s%s %s %s\n", indent, e.From, arrow, e.To)
	}
}

// text is what is written at the edge.
func (e *DrawnEdge) text() string {
	text := e.Label
	if e.Taken > 0 {
		text = strings.TrimSpace(fmt.Sprintf("%s ×%d", text, e.Taken))
	}
	return text
}

func (n *DrawnNode) brackets() (open, shut string) {
	switch n.Kind {
	case "worker":
		return "[[", "]]"
	case "router":
		return "{{", "}}"
	case "graph":
		return "[/", "/]"
	}
	return "[", "]"
}

func (n *DrawnNode) class() string {
	switch {
	case n.Due:
		return ":::due"
	case n.Ran > 0:
		return ":::ran"
	}
	return ""
}

// text is what is written in the node.
func (n *DrawnNode) text() string {
	text := n.Name
	if n.Deferred {
		text += " (deferred)"
	}
	if n.Ran > 1 {
		text += fmt.Sprintf(" ×%d", n.Ran)
	}
	return text
}

// lived reports whether d is the drawing of a run.
func (d *Drawing) lived() bool {
	for _, n := range d.Nodes {
		if n.Ran > 0 || n.Due {
			return true
		}
	}
	return false
}

// mermaidText quotes a node's name.
func mermaidText(s string) string {
	return `"` + strings.NewReplacer(`"`, "#quot;", "<", "#lt;", ">", "#gt;", "&", "#amp;", "#", "#35;").Replace(s) + `"`
}

// DOT returns the drawing in the language of Graphviz, with the same arrows and colours
// as Mermaid.
func (d Drawing) DOT() string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n  rankdir=TB\n  compound=true\n  node [shape=box, style=rounded, fontname=\"sans-serif\"]\n", dotText(d.Graph))
	d.dot(&b, "  ")
	b.WriteString("}\n")
	return b.String()
}

func (d *Drawing) dot(b *strings.Builder, indent string) {
	for _, n := range d.Nodes {
		if n.Inside != nil {
			fmt.Fprintf(b, "%ssubgraph cluster_%s {\n%s  label=%s\n%s  %s [shape=point, style=invis]\n",
				indent, n.ID, indent, dotText(n.text()), indent, n.ID)
			n.Inside.dot(b, indent+"  ")
			fmt.Fprintf(b, "%s}\n", indent)
			continue
		}
		fmt.Fprintf(b, "%s%s [label=%s%s]\n", indent, n.ID, dotText(n.label()), n.dotStyle())
	}
	styles := map[string]string{"edge": "", "choice": "style=dashed", "join": "penwidth=3", edgeHandler: "style=dashed, color=red"}
	for _, e := range d.Edges {
		style := styles[e.Kind]
		if text := e.text(); text != "" {
			style += ", label=" + dotText(text)
		}
		for _, end := range [2][2]string{{"ltail", e.From}, {"lhead", e.To}} {
			if n := d.byID(end[1]); n != nil && n.Inside != nil {
				style += fmt.Sprintf(", %s=cluster_%s", end[0], end[1])
			}
		}
		if style = strings.TrimPrefix(style, ", "); style != "" {
			style = " [" + style + "]"
		}
		fmt.Fprintf(b, "%s%s -> %s%s\n", indent, e.From, e.To, style)
	}
}

func (d *Drawing) byID(id string) *DrawnNode {
	for i := range d.Nodes {
		if d.Nodes[i].ID == id {
			return &d.Nodes[i]
		}
	}
	return nil
}

// label is text for every kind of node.
func (n *DrawnNode) label() string {
	if n.Kind == "start" || n.Kind == "end" {
		return n.Kind
	}
	return n.text()
}

func (n *DrawnNode) dotStyle() string {
	style := map[string]string{
		"start": ", shape=oval", "end": ", shape=oval", "worker": ", shape=box3d", "router": ", shape=hexagon", "graph": ", shape=component",
	}[n.Kind]
	switch {
	case n.Due:
		style += `, style=filled, fillcolor="#fff3bf"`
	case n.Ran > 0:
		style += `, style=filled, fillcolor="#d3f2d3"`
	}
	return style
}

func dotText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// Text returns the drawing as a tree for a terminal: under each node, where it leads.
// What was drawn above is only named, with ↑ behind it. A line is marked ? where it is
// a choice, & where it is one way into a join, and ! where an error handler goes; in the
// drawing of a run ✓ follows what ran, with how often, and … what is due. The label of a
// choice is behind a colon.
func (d Drawing) Text() string {
	var b strings.Builder
	b.WriteString(d.Graph + "\n")
	if len(d.Nodes) > 0 {
		d.text(&b, "", d.Nodes[0].ID, map[string]bool{})
	}
	return b.String()
}

// text writes what follows from a node.
func (d *Drawing) text(b *strings.Builder, indent, from string, drawn map[string]bool) {
	var ways []DrawnEdge
	for _, e := range d.Edges {
		if e.From == from {
			ways = append(ways, e)
		}
	}
	marks := map[string]string{"edge": "─ ", "choice": "? ", "join": "& ", edgeHandler: "! "}
	for i, e := range ways {
		branch, below := "├─", "│  "
		if i == len(ways)-1 {
			branch, below = "└─", "   "
		}
		n := d.byID(e.To)
		line := indent + branch + marks[e.Kind] + n.label() + n.mark()
		again := drawn[e.To] && n.Kind != "end"
		if again {
			line += " ↑"
		}
		if e.Label != "" {
			line += ": " + e.Label
		}
		b.WriteString(line + "\n")
		if again || n.Kind == "end" {
			continue
		}
		drawn[e.To] = true
		if n.Inside != nil {
			n.Inside.text(b, indent+below+"┆ ", n.Inside.Nodes[0].ID, map[string]bool{})
		}
		d.text(b, indent+below, e.To, drawn)
	}
}

func (n *DrawnNode) mark() string {
	mark := ""
	if n.Kind == "worker" {
		mark = " [worker]"
	}
	if n.Pauses != "" {
		mark += " (pauses " + n.Pauses + ")"
	}
	if n.Ran > 0 {
		mark += " ✓"
	}
	if n.Due {
		mark += " …"
	}
	return mark
}

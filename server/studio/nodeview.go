package studio

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/weftrun/weft/graph"
	h "github.com/weftrun/weft/internal/markup"
	"github.com/weftrun/weft/internal/picture"
)

// nodeLinks returns where the nodes of a graph's picture lead: those of a workflow, whose file is
// not "", to their lines in the editor, and others to their details.
func (r *request) nodeLinks(id, file string) func(path []string) string {
	return func(path []string) string {
		if file != "" && len(path) == 1 {
			return r.nodeLine(file, path[0])
		}
		return r.with(escapedPath("graphs", id), "node", picture.NodeID(path...)) + "#details"
	}
}

// nodeLine returns the address of a node in the editor.
func (r *request) nodeLine(file, node string) string {
	return r.editorPath(file) + "#node=" + url.PathEscape(node)
}

// workflowOf returns the path of a graph's file in the editor; "" if the caller cannot open it.
func (r *request) workflowOf(id string) string {
	if r.edits == nil || !r.edits.Keeps() || r.source.MayEdit(r.Context()) != nil {
		return ""
	}
	_, path := r.edits.FileOf(id)
	return path
}

// nodeDetails shows the node ?node= of a graph, which is its id in the picture. file is that of its
// workflow, or "".
func (r *request) nodeDetails(file string, d *graph.Drawing) h.Part {
	want := r.URL.Query().Get("node")
	if want == "" {
		return nil
	}
	around, n, path := findNode(d, want, nil)
	if n == nil {
		return h.Section(h.ID("details"), muted("The graph has no such node, or it is in a subgraph that is closed."))
	}
	name := map[string]string{}
	for _, other := range around.Nodes {
		name[other.ID] = other.Name
	}
	way := func(e graph.DrawnEdge, other string) h.Part {
		text := ""
		if e.Kind != "edge" {
			text = ", " + e.Kind
		}
		if e.Label != "" {
			text += ": " + e.Label
		}
		return h.Li(h.B(h.Text(name[other])), h.Text(text))
	}
	var in, out h.Parts
	for _, e := range around.Edges {
		if e.To == n.ID {
			in = append(in, way(e, e.From))
		}
		if e.From == n.ID {
			out = append(out, way(e, e.To))
		}
	}
	ways := func(title string, list h.Parts) h.Part {
		return h.If(len(list) > 0, fact(title, h.Ul(h.Class("ways"), list)))
	}
	kind := n.Kind
	if n.Inside != nil {
		kind += fmt.Sprintf(" %s of %s", n.Inside.Graph, plural(len(n.Inside.Nodes)-2, "node", "nodes"))
	}
	facts := h.Parts{fact("kind", h.Text(kind)),
		h.If(n.Deferred, fact("deferred", h.Text("it runs once no other node is due"))),
		h.If(n.Pauses != "", fact("pauses", h.Text(strings.Replace(n.Pauses, "both", "before and after", 1)))),
		ways("comes from", in), ways("leads to", out)}
	return h.Section(h.ID("details"), h.Aria("labelledby", "of-node"), h.H2(h.ID("of-node"), h.Text("Node "+strings.Join(path, " › "))), factsTable(facts),
		h.If(file != "", h.P(link(r.nodeLine(file, path[0]), "open it in the editor"))))
}

// findNode returns a node by its id in the picture, the graph that it is in, and its path.
func findNode(d *graph.Drawing, id string, above []string) (around *graph.Drawing, n *graph.DrawnNode, path []string) {
	for i := range d.Nodes {
		n := &d.Nodes[i]
		path := append(slices.Clone(above), n.Name)
		if picture.NodeID(path...) == id {
			return d, n, path
		}
		if n.Inside == nil {
			continue
		}
		if around, n, path := findNode(n.Inside, id, path); n != nil {
			return around, n, path
		}
	}
	return nil, nil, nil
}

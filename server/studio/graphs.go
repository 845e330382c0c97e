package studio

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/weftrun/weft/graph"
	h "github.com/weftrun/weft/internal/markup"
	"github.com/weftrun/weft/internal/picture"
)

// listGraphs is the page with all graphs.
func listGraphs(r *request) (view, error) {
	graphs, err := r.source.Graphs(r.Context())
	if err != nil {
		return view{}, err
	}
	counts, err := r.source.Count(r.Context())
	if err != nil {
		return view{}, err
	}
	if len(graphs) == 0 {
		return view{"/graphs", "Graphs", h.P(h.Text("There are no graphs."))}, nil
	}
	cards := h.Each(graphs, func(g Graph) h.Part { return r.graphCard(g, counts[g.ID]) })
	return view{"/graphs", "Graphs", r.lists(h.Ul(h.Class("cards"), cards))}, nil
}

// graphCard is a graph in the list, with the numbers of its threads by status.
func (r *request) graphCard(g Graph, counts map[string]int) h.Part {
	about := plural(len(g.Graph.Draw(0).Nodes)-2, "node", "nodes")
	if name := g.Graph.Name(); name != g.ID {
		about = name + ", " + about
	}
	var threads h.Parts
	all := 0
	for _, status := range Statuses {
		if n := counts[status]; n > 0 {
			all += n
			threads = append(threads, h.A(h.Class("count"), h.Href(r.threadsPath(g.ID, status)), statusMark(status), h.Text(fmt.Sprint(" ", n))), h.Text("\n"))
		}
	}
	list := muted("no threads yet")
	if all > 0 {
		list = h.P(link(r.threadsPath(g.ID, ""), plural(all, "thread", "threads")), h.Text(":\n"), threads)
	}
	return h.Li(h.H2(link(r.graphPath(g.ID), g.ID)), h.P(h.Text(about)), list)
}

// showGraph is the page of one graph.
func showGraph(r *request) (view, error) {
	depth, err := r.number("depth", maxDepth)
	if err != nil {
		return view{}, err
	}
	g, err := r.graph(r.PathValue("id"))
	if err != nil {
		return view{}, err
	}
	id, d := g.ID, g.Graph.Draw(int(depth))
	file := r.workflowOf(id)
	return view{"/graphs", "Graph " + id, h.Parts{
		h.If(r.write, h.P(h.A(h.Class("button", "main"), h.Href(r.graphPath(id)+"/run"), h.Text("Run")),
			h.If(g.Messages != "", h.Text(" "), h.A(h.Class("button"), h.Href(r.graphPath(id)+"/chat"), h.Text("Chat"))))),
		h.P(
			h.If(d.Graph != id, h.Text(d.Graph+" · ")),
			link(r.threadsPath(id, ""), "threads"),
			h.If(depth < maxDepth && hasClosed(&d), h.Text(" · "), link(r.with(escapedPath("graphs", id), "depth", fmt.Sprint(depth+1)), "open the subgraphs")),
			h.If(depth > 0, h.Text(" · "), link(r.graphPath(id), "close the subgraphs")),
		),
		pictureBox("Picture of the graph", r.draw(d, picture.Options{Link: r.nodeLinks(id, file), Selected: r.URL.Query().Get("node")})),
		r.nodeDetails(file, &d),
		folded("As text", d.Text()), folded("As Mermaid", d.Mermaid()), folded("As DOT", d.DOT()),
	}}, nil
}

// graph returns a graph by its id.
func (r *request) graph(id string) (Graph, error) {
	graphs, err := r.source.Graphs(r.Context())
	if err != nil {
		return Graph{}, err
	}
	i := slices.IndexFunc(graphs, func(g Graph) bool { return g.ID == id })
	if i < 0 {
		return Graph{}, &requestError{http.StatusNotFound, fmt.Sprintf("there is no graph %.100q", id)}
	}
	return graphs[i], nil
}

// pictureBox is a picture that scrolls and can be zoomed.
func pictureBox(label string, svg h.Part) h.Part {
	zoom := func(by, sign, text string) h.Part {
		return h.Button(h.Type("button"), h.Data("zoom", by), h.Aria("label", text), h.Text(sign))
	}
	return h.Custom("weft-picture",
		h.Div(h.Class("zoom"), zoom("-1", "−", "Smaller"), zoom("0", "1:1", "1:1, the size of the picture"), zoom("1", "+", "Larger")),
		scroll(label, svg),
	)
}

// draw returns the picture of a drawing.
func (r *request) draw(d graph.Drawing, o picture.Options) h.Part {
	o.NoStyle, o.Focus = true, true
	return h.SVG(r.cache.Layout(d).SVG(o))
}

// hasClosed reports whether a drawing has a subgraph that is not open.
func hasClosed(d *graph.Drawing) bool {
	return slices.ContainsFunc(d.Nodes, func(n graph.DrawnNode) bool {
		return n.Inside == nil && n.Kind == "graph" || n.Inside != nil && hasClosed(n.Inside)
	})
}

package wire

import (
	"slices"

	"github.com/weftrun/weft/graph"
)

// GraphJSON is a graph as the endpoint of assistants shows it.
type GraphJSON struct {
	Nodes []GraphNode `json:"nodes"`
	Edges []GraphEdge `json:"edges"`
}

// GraphNode is a node of a GraphJSON.
type GraphNode struct {
	ID       string `json:"id"`
	Type     string `json:"type"` // "schema" for the start and the end, else "runnable"
	Data     any    `json:"data"`
	Metadata any    `json:"metadata,omitempty"`
}

// GraphEdge is an edge of a GraphJSON.
type GraphEdge struct {
	Source      string `json:"source"`
	Target      string `json:"target"`
	Conditional bool   `json:"conditional"`
}

type runnableData struct {
	ID   []string `json:"id"`
	Name string   `json:"name"`
}

type schemaData struct {
	Schema string `json:"$schema"`
}

type nodeMetadata struct {
	Deferred bool   `json:"deferred,omitempty"`
	Pauses   string `json:"pauses,omitempty"`
}

// GraphOf returns a drawing with its subgraphs opened down to xray levels. An inner node is
// PARENT:CHILD, and the start and the end of a subgraph are left out: edges lead to and from their
// neighbours. The drawing must be one level deeper than xray, so that a closed subgraph has a name.
func GraphOf(d graph.Drawing, xray int) GraphJSON {
	f := flattener{ids: map[string]ends{}}
	f.add(&d, "", xray)
	out := GraphJSON{Nodes: f.nodes, Edges: []GraphEdge{}}
	for _, e := range f.edges {
		for _, from := range f.ids[e.From].last {
			for _, to := range f.ids[e.To].first {
				edge := GraphEdge{from.id, to.id, isConditional(e) || from.conditional || to.conditional}
				if !slices.Contains(out.Edges, edge) {
					out.Edges = append(out.Edges, edge)
				}
			}
		}
	}
	return out
}

// ends are the nodes at which the edges to and from an element of a drawing begin and end.
type ends struct{ first, last []end }

type end struct {
	id          string
	conditional bool
}

type flattener struct {
	nodes []GraphNode
	edges []graph.DrawnEdge
	ids   map[string]ends // by the id of the element in the drawing
}

// add adds the nodes of a drawing, whose names begin with prefix.
func (f *flattener) add(d *graph.Drawing, prefix string, xray int) {
	inner := prefix != ""
	for i := range d.Nodes {
		n := &d.Nodes[i]
		id := prefix + n.Name
		if n.Kind == "start" || n.Kind == "end" {
			if inner {
				continue
			}
			f.nodes = append(f.nodes, GraphNode{ID: id, Type: "schema", Data: schemaData{"https://json-schema.org/draft/2020-12/schema"}})
			f.ids[n.ID] = ends{[]end{{id, false}}, []end{{id, false}}}
			continue
		}
		if n.Inside != nil && xray > 0 {
			f.add(n.Inside, id+":", xray-1)
			f.ids[n.ID] = f.openEnds(n.Inside)
			continue
		}
		name := n.Name
		if n.Inside != nil {
			name = n.Inside.Graph
		}
		f.nodes = append(f.nodes, GraphNode{ID: id, Type: "runnable", Data: runnableData{[]string{"weft", n.Kind}, name},
			Metadata: nodeMetadata{n.Deferred, n.Pauses}})
		f.ids[n.ID] = ends{[]end{{id, false}}, []end{{id, false}}}
	}
	for _, e := range d.Edges {
		if inner && (kindIn(d, e.From) == "start" || kindIn(d, e.To) == "end") {
			continue
		}
		f.edges = append(f.edges, e)
	}
}

// openEnds returns the ends of an opened subgraph: where its start leads, and what leads to its
// end.
func (f *flattener) openEnds(d *graph.Drawing) (e ends) {
	for _, edge := range d.Edges {
		conditional := isConditional(edge)
		fromStart, toEnd := kindIn(d, edge.From) == "start", kindIn(d, edge.To) == "end"
		if fromStart && !toEnd {
			for _, n := range f.ids[edge.To].first {
				e.first = append(e.first, end{n.id, n.conditional || conditional})
			}
		}
		if toEnd && !fromStart {
			for _, n := range f.ids[edge.From].last {
				e.last = append(e.last, end{n.id, n.conditional || conditional})
			}
		}
	}
	return e
}

// isConditional reports whether an edge may be taken or not: a choice, or the way of an error
// handler.
func isConditional(e graph.DrawnEdge) bool { return e.Kind != "edge" && e.Kind != "join" }

// kindIn returns the kind of a node of a drawing.
func kindIn(d *graph.Drawing, id string) string {
	for i := range d.Nodes {
		if d.Nodes[i].ID == id {
			return d.Nodes[i].Kind
		}
	}
	return ""
}

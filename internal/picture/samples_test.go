package picture_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftrun/weft/graph"
)

// onError is the Kind of the edges of error handlers.
const onError = "rescue"

// draw returns a drawing from its edges: "a>b" is an edge, "a?b" a choice, "a&b" a way into a join,
// "a!b" the way of an error handler. A node is of the kind that its name begins with, as in
// "router:plan".
func draw(name string, edges ...string) graph.Drawing {
	d := graph.Drawing{Graph: name, Nodes: []graph.DrawnNode{{ID: "start", Name: "__start__", Kind: "start"}}}
	kinds := map[string]string{">": "edge", "?": "choice", "&": "join", "!": onError}
	var names []string
	for _, e := range edges {
		at := strings.IndexAny(e, ">?&!")
		d.Edges = append(d.Edges, graph.DrawnEdge{From: e[:at], To: e[at+1:], Kind: kinds[e[at:at+1]]})
		names = append(names, e[:at], e[at+1:])
	}
	slices.Sort(names)
	for _, n := range slices.Compact(names) {
		if n == "start" || n == "end" {
			continue
		}
		node := graph.DrawnNode{ID: n, Name: n, Kind: "node"}
		if kind, rest, ok := strings.Cut(n, ":"); ok {
			node.Kind, node.Name = kind, rest
		}
		d.Nodes = append(d.Nodes, node)
	}
	d.Nodes = append(d.Nodes, graph.DrawnNode{ID: "end", Name: "__end__", Kind: "end"})
	return d
}

// inside puts a drawing into a node of another. Its ids become unlike those around it.
func inside(d graph.Drawing, id string, child graph.Drawing) graph.Drawing {
	child = prefixed(child, id+"_")
	d.Nodes = slices.Clone(d.Nodes)
	for i := range d.Nodes {
		if d.Nodes[i].ID == id {
			d.Nodes[i].Kind, d.Nodes[i].Inside = "graph", &child
		}
	}
	return d
}

func prefixed(d graph.Drawing, prefix string) graph.Drawing {
	d.Nodes, d.Edges = slices.Clone(d.Nodes), slices.Clone(d.Edges)
	for i := range d.Nodes {
		n := &d.Nodes[i]
		n.ID = prefix + n.ID
		if n.Inside != nil {
			deeper := prefixed(*n.Inside, prefix)
			n.Inside = &deeper
		}
	}
	for i := range d.Edges {
		d.Edges[i].From, d.Edges[i].To = prefix+d.Edges[i].From, prefix+d.Edges[i].To
	}
	return d
}

// labelled gives the choices of a drawing a label.
func labelled(d graph.Drawing, label string) graph.Drawing {
	d.Edges = slices.Clone(d.Edges)
	for i := range d.Edges {
		if d.Edges[i].Kind == "choice" {
			d.Edges[i].Label = label
		}
	}
	return d
}

// fan returns a graph with n nodes side by side.
func fan(n int) graph.Drawing {
	edges := []string{"start>router:split", "join>end"}
	for i := range n {
		edges = append(edges, fmt.Sprintf("router:split?part%02d", i), fmt.Sprintf("part%02d>join", i))
	}
	return draw("fan", edges...)
}

// layered returns a graph of n nodes in layers of the same width, each with edges into the next.
func layered(n, width int) graph.Drawing {
	edges := []string{"start>n000"}
	name := func(i int) string { return fmt.Sprintf("n%03d", i) }
	for i := 1; i < n; i++ {
		edges = append(edges, fmt.Sprintf("%s>%s", name(max(0, i-width)), name(i)))
		if i%3 == 0 {
			edges = append(edges, fmt.Sprintf("%s?%s", name(max(0, i-width-1)), name(i)))
		}
		if i%11 == 0 {
			edges = append(edges, fmt.Sprintf("%s?%s", name(i), name(i/2)))
		}
		if i+width >= n {
			edges = append(edges, name(i)+">end")
		}
	}
	return draw("layered", edges...)
}

var loop = draw("loop", "start>search", "search>router:review", "router:review?search", "router:review?ask", "ask>end", "ask!router:review")

// samples are drawings with each element.
var samples = map[string]graph.Drawing{
	"loop": loop,
	"self": draw("self", "start>router:again", "router:again?router:again", "router:again?end", "router:again>router:again"),
	"joins": draw("joins", "start>a", "start>b", "start>c", "a&both", "b&both", "c>both", "c>d", "d>end", "both>end",
		"d?a", "both!handler", "handler>end"),
	"agent": draw("agent", "start>prepare", "prepare>router:route", "router:route?model", "router:route?approve", "router:route?finish",
		"model>router:tools", "router:tools?worker:call", "router:tools?router:route", "worker:call>collect", "collect>router:route",
		"approve?worker:call", "approve?router:route", "worker:call!repair", "repair>router:route", "finish>end"),
	"nested": inside(draw("nested", "start>plan", "plan>research", "research>write", "write?research", "write>end", "plan?write"), "research",
		inside(draw("research", "start>find", "find>read", "find>rank", "read&merge", "rank&merge", "merge>end", "merge?find"), "read", loop)),
	"fan12": fan(12), "fan100": fan(100), "fan5": fan(5),
	"layered60": layered(60, 6), "layered500": layered(500, 12),
	"names": draw("names & more", "start>a<b>\"c\"", "a<b>\"c\">検索する検索する検索する検索する検索する検索する", "a<b>\"c\">graph:a_very_long_name_that_goes_on_and_on_and_on_until_it_has_to_be_cut",
		"検索する検索する検索する検索する検索する検索する>end", "graph:a_very_long_name_that_goes_on_and_on_and_on_until_it_has_to_be_cut>e👩‍👩‍👧‍👦x", "e👩‍👩‍👧‍👦x>end"),
	"apart":  draw("apart", "start>a", "a>end", "b>c", "d>d"),
	"wide":   draw("wide", "start>r", "r?a", "r?b", "r?c", "r?d", "r?e", "r?end", "a>end", "b>end", "c>r", "d>f", "e>f", "f>end"),
	"labels": labelled(loop, "x > 3 and the list of the facts is long enough for a report"), "labels5": labelled(fan(5), "part of it"),
	"labels100": labelled(fan(100), "a part of the whole work that is long"), "labels60": labelled(layered(60, 6), "n is even"),
	"diamond": draw("diamond", "start>a", "a>b", "a>c", "b>d", "c>d", "d>end", "a>d"),
}

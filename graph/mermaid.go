package graph

import (
	"fmt"
	"strings"
)

// Mermaid returns the graph as a Mermaid flowchart: solid arrows for edges, dotted
// ones for what a Command may choose, thick ones into a join. Nodes come in the order of their
// names, so the same graph gives the same text.
func (g *Graph[S]) Mermaid() string {
	p := g.p
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	b.WriteString("  start([start])\n")
	for i, n := range p.nodes {
		open, shut := "[", "]"
		switch {
		case n.payload != nil:
			open, shut = "[[", "]]"
		case len(n.branches) > 0 || len(n.targets) > 0:
			open, shut = "{{", "}}"
		}
		fmt.Fprintf(&b, "  n%d%s%s%s\n", i, open, mermaidText(n.name), shut)
	}
	b.WriteString("  stop([end])\n")
	for _, n := range p.shape.Start {
		fmt.Fprintf(&b, "  start --> n%d\n", n)
	}
	for i, n := range p.nodes {
		for _, to := range p.shape.Nodes[i].Next {
			fmt.Fprintf(&b, "  n%d --> n%d\n", i, to)
		}
		if n.ends {
			fmt.Fprintf(&b, "  n%d --> stop\n", i)
		}
		for _, to := range p.choices(i) {
			fmt.Fprintf(&b, "  n%d -.-> %s\n", i, to)
		}
	}
	for _, j := range p.shape.Joins {
		for _, s := range j.Sources {
			fmt.Fprintf(&b, "  n%d ==> n%d\n", s, j.Target)
		}
	}
	return b.String()
}

// choices lists where the Commands of node i may go, as Mermaid ids, once each.
func (p *program) choices(i int) []string {
	var ids []string
	seen := map[int]bool{}
	add := func(ts targets) {
		for _, t := range ts {
			switch {
			case seen[t.node]:
			case t.node == end:
				ids = append(ids, "stop")
			default:
				ids = append(ids, fmt.Sprintf("n%d", t.node))
			}
			seen[t.node] = true
		}
	}
	add(p.nodes[i].targets)
	for _, b := range p.nodes[i].branches {
		add(b.targets)
	}
	return ids
}

// mermaidText quotes a node's name.
func mermaidText(s string) string {
	return `"` + strings.NewReplacer(`"`, "#quot;", "<", "#lt;", ">", "#gt;", "&", "#amp;").Replace(s) + `"`
}

package graph

import (
	"fmt"
	"slices"
	"strings"
)

// digest returns a hash of what the program is: nodes, ways between them and the
// fields of the state. It does not depend on the order of the declarations of nodes,
// edges, joins, branches and targets.
func (p *program) digest() string {
	var parts []string
	for i, n := range p.nodes {
		s := p.shape.Nodes[i]
		part := fmt.Sprintf("node %q %v %v %v", n.name, s.Next, s.Deferred, n.targets.sorted())
		if n.ends {
			part += " ends"
		}
		if n.leaves {
			part += " leaves"
		}
		for _, b := range n.sortedBranches() {
			part += " branch " + b
		}
		if n.rescue != nil {
			part += " rescue " + n.rescue.targets.sorted()
		}
		parts = append(parts, part)
	}
	joins := make([]string, len(p.shape.Joins))
	for i, j := range p.shape.Joins {
		joins[i] = fmt.Sprintf("join %v %d", j.Sources, j.Target)
	}
	slices.Sort(joins)
	for _, f := range p.schema.Fields() {
		joins = append(joins, fmt.Sprintf("field %q %s %v %s", f.Name, f.Type, f.Turn, f.Default))
	}
	return hash(p.name, strings.Join(parts, "\n"), strings.Join(joins, "\n"), fmt.Sprint(p.shape.Start))
}

// sorted returns the names of the targets in one order.
func (ts targets) sorted() string {
	names := make([]string, len(ts))
	for i, t := range ts {
		names[i] = t.name
	}
	slices.Sort(names)
	return fmt.Sprintf("%q", names)
}

func (n *node) sortedBranches() []string {
	all := make([]string, len(n.branches))
	for i, b := range n.branches {
		all[i] = b.targets.sorted()
	}
	slices.Sort(all)
	return all
}

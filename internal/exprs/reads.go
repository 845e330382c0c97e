package exprs

import "slices"

// Reads maps each variable that expressions read to the sorted names of the members that they read.
// The list is nil if they may read the whole variable.
type Reads map[string][]string

// Add merges others into r.
func (r Reads) Add(others Reads) {
	for name, members := range others {
		mine, known := r[name]
		switch {
		case members == nil, known && mine == nil:
			r[name] = nil
		default:
			all := slices.Concat(mine, members)
			slices.Sort(all)
			r[name] = slices.Compact(all)
		}
	}
}

// Reads returns the variables and members that the value reads. Evaluation with only these gives
// the same result as with all variables.
func (v *Value) Reads() Reads {
	all := Reads{}
	for _, p := range v.parts {
		if p.program != nil {
			all.Add(p.program.reads)
		}
	}
	return all
}

// Reads returns the variables and members that the condition reads.
func (c *Condition) Reads() Reads { return c.value.Reads() }

// readsOf returns the reads of a checked expression.
func readsOf(tree *node) Reads {
	reads, members := Reads{}, map[*node]bool{}
	tree.walk(func(n *node) {
		switch n.kind {
		case memberNode:
			of := n.args[0]
			if name, ok := n.args[1].isText(); ok && of.kind == variableNode {
				members[of] = true
				reads.Add(Reads{of.name: {name}})
			}
		case variableNode:
			if !members[n] {
				reads.Add(Reads{n.name: nil})
			}
		}
	})
	return reads
}

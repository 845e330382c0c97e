package exprs

import (
	"slices"

	"github.com/expr-lang/expr/ast"
)

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

// readsOf returns the reads of an expression before the rewriter changes it.
func readsOf(tree ast.Node) Reads {
	f := readFinder{members: map[ast.Node]bool{}, reads: Reads{}}
	ast.Walk(&tree, &f)
	for _, n := range f.names {
		if !f.members[n] {
			f.reads[n.Value] = nil
		}
	}
	return f.reads
}

// readFinder collects names. The visitor sees the operand of a dot before the dot.
type readFinder struct {
	names   []*ast.IdentifierNode
	members map[ast.Node]bool // names of which one member is read
	reads   Reads
}

// Visit implements ast.Visitor.
func (f *readFinder) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		f.names = append(f.names, n)
	case *ast.MemberNode:
		of, isName := n.Node.(*ast.IdentifierNode)
		member, isText := n.Property.(*ast.StringNode)
		if isName && isText {
			f.members[of] = true
			f.reads.Add(Reads{of.Value: {member.Value}})
		}
	}
}

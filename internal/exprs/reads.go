package exprs

import (
	"slices"

	"github.com/expr-lang/expr/ast"
)

// Reads says which variables expressions read: the members of each that they name, sorted, or nil
// where they may read all of it.
type Reads map[string][]string

// Add adds what others read.
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

// Reads returns what the value reads. To evaluate it with only that is to evaluate it with
// everything.
func (v *Value) Reads() Reads {
	all := Reads{}
	for _, p := range v.parts {
		if p.program != nil {
			all.Add(p.program.reads)
		}
	}
	return all
}

// Reads returns what the condition reads.
func (c *Condition) Reads() Reads { return c.value.Reads() }

// readsOf looks through an expression as it was written.
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

// readFinder gathers names; what stands before a dot is visited before the dot is.
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

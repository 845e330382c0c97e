package exprs

import (
	"reflect"
	"slices"

	"github.com/expr-lang/expr/ast"
)

// meterName is the variable of the meter. The parser does not accept it, so users cannot write it.
const meterName = "\x00meter"

// hidden is the name of a function that only the rewriter may call.
func hidden(name string) string { return "\x00" + name }

// rewriter adds a call of the meter to each operation whose cost depends on the data. It replaces
// operations that the engine does in random order, by bytes, or without bounds. It preserves
// locations and types.
type rewriter struct {
	done  map[ast.Node]ast.Node // the parser shares nodes: each is rewritten once
	names map[string]ast.Node   // of the meter and the functions; no error reports their locations
}

func newRewriter() *rewriter {
	return &rewriter{done: map[ast.Node]ast.Node{}, names: map[string]ast.Node{}}
}

// Visit implements ast.Visitor. ast.Walk visits the children first.
func (r *rewriter) Visit(node *ast.Node) {
	if done, ok := r.done[*node]; ok {
		*node = done
		return
	}
	old := *node
	switch n := old.(type) {
	case *ast.BuiltinNode:
		*node = r.builtin(n)
	case *ast.CallNode:
		*node = r.call(n.Callee.(*ast.IdentifierNode).Value, n, n.Arguments...)
	case *ast.BinaryNode:
		*node = r.binary(n)
	case *ast.SliceNode:
		*node = r.slice(n)
	case *ast.MemberNode:
		n.Property = r.pay("charge", n.Property)
	case *ast.PairNode:
		n.Key = r.pay("charge", n.Key)
	default:
		return
	}
	r.done[old] = *node
	r.done[*node] = *node
}

// call returns a call with the meter as the first argument. It has the location and type of old.
func (r *rewriter) call(name string, old ast.Node, args ...ast.Node) ast.Node {
	all := make([]ast.Node, 0, len(args)+1)
	n := &ast.CallNode{Callee: r.name(name), Arguments: append(append(all, r.name(meterName)), args...)}
	n.SetLocation(old.Location())
	n.SetNature(*old.Nature())
	r.done[n] = n
	return n
}

func (r *rewriter) name(name string) ast.Node {
	if r.names[name] == nil {
		r.names[name] = &ast.IdentifierNode{Value: name}
	}
	return r.names[name]
}

// pay wraps an argument of unknown size in a call of the meter.
func (r *rewriter) pay(name string, arg ast.Node) ast.Node {
	switch arg.(type) {
	case *ast.NilNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.StringNode, *ast.ConstantNode:
		return arg
	}
	switch kindOf(*arg.Nature()) {
	case BoolKind, IntKind, NumberKind:
		return arg
	}
	return r.call(hidden(name), arg, arg)
}

func (r *rewriter) builtin(n *ast.BuiltinNode) ast.Node {
	switch {
	case n.Name == "sortBy":
		return r.sortBy(n)
	case metered[n.Name] != nil:
		return r.call(hidden(n.Name), n, n.Arguments...)
	case slices.Contains(free, n.Name):
		return n
	case n.Name == "get":
		n.Arguments[1] = r.pay("charge", n.Arguments[1])
		return n
	}
	price, last := "charge", len(n.Arguments)-1
	if slices.Contains(deep, n.Name) {
		price = "weigh"
	}
	for i, arg := range n.Arguments {
		closure, ok := arg.(*ast.PredicateNode)
		if !ok && (last < 1 || !isClosure(n.Arguments[1])) {
			n.Arguments[i] = r.pay(price, arg)
		}
		if ok && n.Name == "groupBy" {
			closure.Node = r.call(hidden("key"), closure.Node, closure.Node)
		}
		if ok {
			closure.Node = r.call(hidden("tick"), closure.Node, closure.Node)
		}
	}
	return n
}

func isClosure(n ast.Node) bool {
	_, ok := n.(*ast.PredicateNode)
	return ok
}

// sortBy rewrites sortBy(list, key, order) to a stable sort of map(list, [#, key]).
func (r *rewriter) sortBy(n *ast.BuiltinNode) ast.Node {
	closure := n.Arguments[1].(*ast.PredicateNode)
	item := &ast.PointerNode{}
	item.SetLocation(closure.Location())
	pair := &ast.ArrayNode{Nodes: []ast.Node{item, closure.Node}}
	pair.SetLocation(closure.Location())
	closure.Node = r.call(hidden("tick"), pair, pair)
	pairs := &ast.BuiltinNode{Name: "map", Arguments: n.Arguments[:2:2]}
	pairs.SetLocation(n.Location())
	return r.call(hidden("sortBy"), n, append([]ast.Node{pairs}, n.Arguments[2:]...)...)
}

func (r *rewriter) binary(n *ast.BinaryNode) ast.Node {
	switch n.Operator {
	case "==":
		return r.call(hidden("equal"), n, n.Left, n.Right)
	case "!=":
		not := &ast.UnaryNode{Operator: "not", Node: r.call(hidden("equal"), n, n.Left, n.Right)}
		not.SetLocation(n.Location())
		return not
	case "in":
		return r.call(hidden("in"), n, n.Left, n.Right)
	case "matches":
		return r.call(hidden("matches"), n, n.Left, compilePattern(n.Right))
	case "+", "-", "*":
		if kindOf(*n.Nature()) != NumberKind {
			return r.call(hidden(n.Operator), n, n.Left, n.Right)
		}
	case "<", "<=", ">", ">=":
		n.Left = r.pay("charge", n.Left)
	case "contains", "startsWith", "endsWith":
		n.Left, n.Right = r.pay("charge", n.Left), r.pay("charge", n.Right)
	}
	return n
}

// slice rewrites a slice to count characters, as len does; the engine would count bytes.
func (r *rewriter) slice(n *ast.SliceNode) ast.Node {
	if k := kindOf(*n.Node.Nature()); k != StringKind && k != AnyKind {
		return n
	}
	from, to := n.From, n.To
	if from == nil {
		from = &ast.NilNode{}
	}
	if to == nil {
		to = &ast.NilNode{}
	}
	return r.call(hidden("slice"), n, n.Node, from, to)
}

// compilePattern compiles a constant pattern once.
func compilePattern(n ast.Node) ast.Node {
	s, ok := n.(*ast.StringNode)
	if !ok {
		return n
	}
	p, err := newPattern(s.Value)
	if err != nil {
		return n // evaluation reports the error with its place
	}
	c := &ast.ConstantNode{Value: p}
	c.SetLocation(n.Location())
	c.SetType(reflect.TypeOf(p))
	return c
}

package exprs

// node is a part of an expression.
type node struct {
	kind     nodeKind
	pos, end int     // the bytes of the expression that an error refers to
	name     string  // of a variable, a function or an operator
	value    any     // of a constant
	args     []*node // operands, in the order of the text
	ops      []token // of a comparison
	optional bool    // of a member: ?. instead of .
	slot     int     // of a local variable, of a loop, and of what reads the item of a loop
	typ      Type    // set by the checker
}

type nodeKind uint8

const (
	constantNode    nodeKind = iota // value
	variableNode                    // name
	localNode                       // name, slot: a variable of let
	itemNode                        // name "", "index" or "acc": # #index #acc
	unaryNode                       // name args[0]
	binaryNode                      // args[0] name args[1]
	comparisonNode                  // args[0] ops[0] args[1] ops[1] args[2] …
	memberNode                      // args[0] . args[1], or args[0][args[1]]
	sliceNode                       // args[0][args[1]:args[2]]; a missing bound is nil
	optionalNode                    // args[0], or nil where a ?. in it found nil
	callNode                        // name(args…)
	loopNode                        // name(args[0], closure args[1], args[2])
	notCallableNode                 // args[0](…)
	letNode                         // let name = args[0]; args[1]
	sequenceNode                    // args[0]; args[1]; …
	conditionNode                   // args[0] ? args[1] : args[2]
	listNode                        // [args…]
	mapNode                         // {args[0]: args[1], args[2]: args[3], …}
	bytesNode                       // b"…", which is a mistake
)

// isText reports whether n is a constant text, and returns it.
func (n *node) isText() (string, bool) {
	s, ok := n.value.(string)
	return s, ok && n.kind == constantNode
}

// walk calls visit for n and all nodes in it, n first.
func (n *node) walk(visit func(*node)) {
	if n == nil {
		return
	}
	visit(n)
	for _, arg := range n.args {
		arg.walk(visit)
	}
}

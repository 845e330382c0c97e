package exprs

import "fmt"

// parser builds the tree of an expression from its tokens. The first mistake ends it: fail panics
// with a mistake, which compile recovers.
type parser struct {
	tokens []token
	at     int
	nodes  int // that the tree has
	loops  int // around the place
}

// mistake is what the parser and the checker panic with.
type mistake struct {
	pos, end int // bytes of the expression
	msg      string
	class    Class
	suggest  string
	known    []string
	hint     string
}

// parse returns the tree of an expression and the number of its nodes.
func parse(text string) (tree *node, nodes int) {
	p := &parser{tokens: lex(text)}
	tree = p.sequence()
	if p.peek().kind != endToken {
		p.unexpected()
	}
	return tree, p.nodes
}

func (p *parser) peek() token { return p.tokens[p.at] }

// next returns the current token and moves on. The last token stays the current one.
func (p *parser) next() token {
	t := p.tokens[p.at]
	if p.at < len(p.tokens)-1 {
		p.at++
	}
	return t
}

// accept moves on if the current token is one of these operators or brackets.
func (p *parser) accept(texts ...string) bool {
	if !p.peek().is(texts...) {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(text string) token {
	if !p.peek().is(text) {
		p.unexpected()
	}
	return p.next()
}

func (p *parser) expectName() token {
	if p.peek().kind != nameToken {
		p.unexpected()
	}
	return p.next()
}

func (p *parser) fail(at token, msg string) {
	panic(&mistake{pos: at.pos, end: at.end, msg: msg})
}

// unexpected reports the current token.
func (p *parser) unexpected() {
	switch t := p.peek(); t.kind {
	case badToken:
		p.fail(t, t.text)
	case endToken:
		p.fail(t, "unexpected end of the expression")
	default:
		p.fail(t, fmt.Sprintf("unexpected token (%q)", t.text))
	}
}

// node counts a part of the expression.
func (p *parser) node(at token, n node) *node {
	if p.nodes++; p.nodes > MaxNodes {
		panic(&mistake{pos: at.pos, end: at.end, class: Size, msg: fmt.Sprintf("expression is too long (more than %d parts)", MaxNodes)})
	}
	n.pos, n.end = at.pos, at.end
	return &n
}

func (p *parser) constant(at token, value any) *node {
	return p.node(at, node{kind: constantNode, value: value})
}

// sequence parses expressions with ; between them. The value is that of the last one.
func (p *parser) sequence() *node {
	start := p.peek()
	nodes := []*node{p.expression(0)}
	for p.accept(";") {
		if p.peek().kind == endToken {
			break
		}
		nodes = append(nodes, p.expression(0))
	}
	if len(nodes) == 1 {
		return nodes[0]
	}
	return p.node(start, node{kind: sequenceNode, args: nodes})
}

// precedence has the binary operators; those of a higher precedence bind first.
var precedence = map[string]int{
	"|": 1, "or": 10, "||": 10, "and": 15, "&&": 15,
	"==": 20, "!=": 20, "<": 20, ">": 20, "<=": 20, ">=": 20,
	"in": 20, "matches": 20, "contains": 20, "startsWith": 20, "endsWith": 20,
	"..": 25, "+": 30, "-": 30, "*": 60, "/": 60, "%": 60, "**": 100, "^": 100, "??": 500,
}

var unaryPrecedence = map[string]int{"not": 50, "!": 50, "-": 90, "+": 90}

// expression parses operators of at least a precedence. With 0 it also parses let, if and ?:.
func (p *parser) expression(least int) *node {
	if least == 0 {
		switch start := p.peek(); {
		case p.accept("let"):
			return p.let()
		case p.accept("if"):
			return p.ifElse(start)
		}
	}
	left := p.primary()
	for previous := ""; ; {
		op := p.peek()
		not := op.is("not")
		if not {
			op = p.tokens[min(p.at+1, len(p.tokens)-1)]
			if !op.is("in", "matches", "contains", "startsWith", "endsWith") {
				p.next()
				p.unexpected()
			}
		}
		power := precedence[op.text]
		if op.kind != operatorToken || power == 0 || power < least {
			break
		}
		if not {
			p.next()
		}
		p.next()
		if previous == "??" && op.text != "??" && op.text != "|" {
			p.fail(op, fmt.Sprintf("put parentheses around ?? or around %s: the two do not mix", op.text))
		}
		left = p.binary(left, op, power)
		if not {
			left = p.node(op, node{kind: unaryNode, name: "not", args: []*node{left}})
		}
		previous = op.text
	}
	if least == 0 {
		left = p.ternary(left)
	}
	return left
}

// binary parses what follows the operator op.
func (p *parser) binary(left *node, op token, power int) *node {
	switch op.text {
	case "|":
		return p.call(p.expectName(), left)
	case "<", ">", "<=", ">=":
		return p.comparison(left, op, power)
	case "**", "^":
		power-- // they bind from the right
	}
	right := p.expression(power + 1)
	return p.node(op, node{kind: binaryNode, name: operatorName(op.text), args: []*node{left, right}})
}

// operatorName returns the name of an operator that may be written in two ways.
func operatorName(text string) string {
	switch text {
	case "||":
		return "or"
	case "&&":
		return "and"
	case "^":
		return "**"
	case "!":
		return "not"
	}
	return text
}

// comparison parses a < b, and a < b < c, which is true if both comparisons are.
func (p *parser) comparison(left *node, op token, power int) *node {
	n := p.node(op, node{kind: comparisonNode, args: []*node{left}})
	for {
		n.ops = append(n.ops, op)
		n.args = append(n.args, p.expression(power+1))
		op = p.peek()
		if !p.accept("<", ">", "<=", ">=") {
			return n
		}
	}
}

// let parses a variable and the expression that may read it.
func (p *parser) let() *node {
	name := p.expectName()
	p.expect("=")
	value := p.expression(0)
	p.expect(";")
	return p.node(name, node{kind: letNode, name: name.text, args: []*node{value, p.sequence()}})
}

func (p *parser) ifElse(start token) *node {
	condition := p.expression(0)
	yes := p.block()
	p.expect("else")
	var no *node
	if start := p.peek(); p.accept("if") {
		no = p.ifElse(start)
	} else {
		no = p.block()
	}
	return p.node(start, node{kind: conditionNode, args: []*node{condition, yes, no}})
}

func (p *parser) block() *node {
	p.expect("{")
	n := p.sequence()
	p.expect("}")
	return n
}

// ternary parses condition ? yes : no, and value ?: other.
func (p *parser) ternary(n *node) *node {
	for {
		op := p.peek()
		if !p.accept("?") {
			return n
		}
		yes := n
		if !p.peek().is(":") {
			yes = p.expression(0)
		}
		p.expect(":")
		n = p.node(op, node{kind: conditionNode, args: []*node{n, yes, p.expression(0)}})
	}
}
